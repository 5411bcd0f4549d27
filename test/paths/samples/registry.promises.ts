import type { ContextFrom } from 'xstate';
import type { registryMachine } from '../../../src/machines/registry.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type RegistryStep = Step<ContextFrom<typeof registryMachine>>;
const childOf = (key: string) => `membership.${key}`;
/** Requests that were handed to an actor in this step, in order. */
const asksOf = ({ effects }: RegistryStep, key: string) =>
  effects.flatMap((effect) => (effect.kind === 'send' && effect.to === childOf(key) ? [effect.event.ask] : []));
const isAsked = (step: RegistryStep) => step.heard('membership.asked') || step.heard('rows.pending');

export const promises: readonly PathPromise<ContextFrom<typeof registryMachine>>[] = [
  {
    clause: 'M4',
    says: 'at the start the rows that were left pending are asked for',
    when: ({ after }) => after.status === 'active',
    holds: ({ after }) => after.is('Resuming') === after.running('listPending') || 'nobody asks',
  },
  {
    clause: 'M4',
    says: 'each of them is completed by its own actor',
    when: (step) => step.before.is('Resuming') && step.heard('rows.pending'),
    holds: (step) =>
      (step.after.is('Registering') &&
        (step.fact.keys as string[]).every(
          (key) => step.after.running(childOf(key)) && JSON.stringify(asksOf(step, key)) === '[{"kind":"resume"}]',
        )) ||
      'one is forgotten',
  },
  {
    clause: 'M4',
    says: 'where they cannot be listed, they are asked for again after a pause that grows',
    when: (step) =>
      step.before.is('Resuming') && step.heard('broker.silent', 'effect.failed') && step.from === 'listPending',
    holds: ({ before, after, armed }) =>
      (after.is('BackingOff') && armed('backOff') && after.context.failures === before.context.failures + 1) ||
      'they are never completed',
  },
  {
    clause: 'M4',
    says: 'the pause ends with the question',
    when: (step) => step.elapsed === 'backOff' && !step.ignored,
    holds: (step) => step.started('listPending') !== undefined || 'nobody asks',
  },
  {
    clause: 'M6',
    says: 'a request goes to the one actor of its row, in every state, and to nobody else',
    when: (step) => step.heard('membership.asked'),
    holds: (step) => {
      const { key, ask } = step.fact;
      const sent = step.effects.filter(({ kind }) => kind === 'send').length;
      const same = JSON.stringify(asksOf(step, key)) === JSON.stringify([ask]);
      return (same && sent === 1 && step.after.running(childOf(key))) || 'it is lost or doubled';
    },
  },
  {
    clause: 'M6',
    says: 'an actor is started exactly for a row without one',
    when: isAsked,
    holds: (step) => {
      const keys: string[] = step.heard('membership.asked') ? [step.fact.key] : step.fact.keys;
      return (
        keys.every(
          (key) => (step.started(childOf(key)) !== undefined) === (step.before.context.rows[key] === undefined),
        ) || 'there are two, or none'
      );
    },
  },
  {
    clause: 'M6',
    says: 'what it was sent is counted',
    when: isAsked,
    holds: (step) => {
      const keys: string[] = step.heard('membership.asked') ? [step.fact.key] : step.fact.keys;
      return (
        keys.every((key) => step.after.context.rows[key] === (step.before.context.rows[key] ?? 0) + 1) || 'it is not'
      );
    },
  },
  {
    clause: 'M6',
    says: 'an actor is let go exactly when it has met everything that it was sent',
    when: (step) => step.heard('membership.quiet'),
    holds: (step) => {
      const { key, asks } = step.fact;
      const met = step.before.context.rows[key] === asks;
      return (
        (step.stopped(childOf(key)) === met &&
          (step.after.context.rows[key] === undefined) === (met || step.before.context.rows[key] === undefined)) ||
        'a request is lost'
      );
    },
  },
  {
    clause: 'M6',
    says: 'every answer is handed to whoever holds the ticket, in every state',
    when: (step) => step.heard('request.answered'),
    holds: ({ effects, fact }) =>
      effects.some(
        (effect) =>
          effect.kind === 'act' &&
          effect.action === 'answer' &&
          (effect.params as { ticket: string }).ticket === fact.ticket,
      ) || 'it is dropped',
  },
  {
    clause: 'M6',
    says: 'an actor that fails is told of and dropped, so that a next request starts another one, and nobody else is touched',
    when: (step) => step.from?.startsWith('membership.') === true && step.before.running(step.from),
    holds: ({ before, after, from = '', effects }) => {
      const key = from.slice('membership.'.length);
      const others = Object.keys(before.context.rows).filter((each) => each !== key);
      const told = effects.some((effect) => effect.kind === 'act' && effect.action === 'tellFailed');
      return (
        (told &&
          after.context.rows[key] === undefined &&
          others.every((each) => after.context.rows[each] !== undefined)) ||
        'it is not dropped alone'
      );
    },
  },
];
