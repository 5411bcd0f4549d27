import type { ContextFrom } from 'xstate';
import type { reaperMachine } from '../../../src/machines/reaper.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type Context = ContextFrom<typeof reaperMachine>;

const dueAt = ({ after }: Step<Context>) => after.context.dueAt ?? Number.NaN;
const least = ({ before, fact }: Step<Context>) => Number(fact.at) + before.context.leastMs;
/** The earliest of what was known before and what is known now, and never sooner than the least wait. */
const wanted = (step: Step<Context>, news: number) =>
  Math.max(Math.min(step.before.context.dueAt ?? Number.POSITIVE_INFINITY, news), least(step));

export const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'A1',
    says: 'a deadline that became known arms the alarm, for the earliest there is',
    when: (step) => step.heard('deadline.known'),
    holds: (step) =>
      (dueAt(step) === wanted(step, Number(step.fact.due)) && (step.after.is('Armed') || step.before.is('Sweeping'))) ||
      `armed for ${dueAt(step)}`,
  },
  {
    clause: 'A1',
    says: 'a sweep that failed is tried again after its wait, or sooner where something is due',
    when: (step) => step.heard('sweep.failed') && step.before.is('Sweeping'),
    holds: (step) =>
      (step.after.is('Armed') && dueAt(step) === wanted(step, Number(step.fact.at) + step.before.context.againMs)) ||
      `armed for ${dueAt(step)}`,
  },
  {
    clause: 'A1',
    says: 'an armed alarm has a time',
    when: ({ after }) => after.is('Armed'),
    holds: ({ after }) => after.context.dueAt !== null || 'it is armed for never',
  },
  {
    clause: 'A2',
    says: 'it is never armed for now or for the past',
    when: (step) => step.after.context.dueAt !== step.before.context.dueAt && step.after.context.dueAt !== null,
    holds: (step) => dueAt(step) >= least(step) || 'it can spin',
  },
  {
    clause: 'A3',
    says: 'with nothing to watch there is no alarm',
    when: (step) => step.heard('sweep.ended') && step.fact.next === null && step.before.context.dueAt === null,
    holds: ({ after, before }) =>
      !before.is('Sweeping') || (after.is('Resting') && after.context.dueAt === null) || 'it ticks on',
  },
  {
    clause: 'A3',
    says: 'a sweep that saw a deadline arms for the earliest there is',
    when: (step) => step.heard('sweep.ended') && step.before.is('Sweeping') && step.fact.next !== null,
    holds: (step) =>
      (step.after.is('Armed') && dueAt(step) === wanted(step, Number(step.fact.next))) || `armed for ${dueAt(step)}`,
  },
  {
    clause: 'A3',
    says: 'whoever rests has no alarm',
    when: ({ after }) => after.is('Resting'),
    holds: ({ after }) => after.context.dueAt === null || 'an alarm is left',
  },
  {
    clause: 'A3',
    says: 'an alarm that fired is swept for, and is not set any more',
    when: (step) => step.heard('alarm.fired') && !step.before.is('Sweeping'),
    holds: ({ after }) => (after.is('Sweeping') && after.context.dueAt === null) || 'nobody sweeps',
  },
  {
    clause: 'A4',
    says: 'a deadline that came up during a sweep is armed for after it',
    when: (step) => step.heard('sweep.ended') && step.before.is('Sweeping') && step.before.context.dueAt !== null,
    holds: (step) => step.after.is('Armed') || 'it is lost',
  },
  {
    clause: 'A4',
    says: 'only the alarm begins a sweep, and only its end ends it',
    when: ({ before, after }) => before.is('Sweeping') !== after.is('Sweeping'),
    holds: (step) =>
      step.heard(...(step.before.is('Sweeping') ? ['sweep.ended', 'sweep.failed'] : ['alarm.fired'])) ||
      `by ${step.fact.type}`,
  },
];
