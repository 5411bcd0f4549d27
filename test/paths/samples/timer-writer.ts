import type { ContextFrom } from 'xstate';
import { timerWriterMachine } from '../../../src/machines/timer-writer.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type WriterStep = Step<ContextFrom<typeof timerWriterMachine>>;

const told = ({ effects }: WriterStep, action: string) =>
  effects.find((effect) => effect.kind === 'act' && effect.action === action);
const isLost = (step: WriterStep) =>
  step.before.is('Working') && (step.heard('writer.lost', 'effect.failed') || step.elapsed === 'dialLimit');

export const samples = samplesOf(timerWriterMachine, {
  inputs: { only: undefined },
  events: [{ type: 'writer.running' }, { type: 'writer.lost', why: 'the connection was closed' }],
  answers: {},
  clamp: ({ failures }) => ({ failed: failures > 0 }),
  happy: ['Working.Dialing', 'Working.Running.Fresh', 'Working.Running.Steady'],
  bounded: { 'Working.Running.Steady': 'nobody: it is where it is good to be' },
  promises: [
    {
      clause: 'T1',
      says: 'it begins by dialling',
      when: ({ before }) => !before.begun,
      holds: (step) =>
        (step.after.is('Working.Dialing') && step.started('writeTimers') !== undefined && step.armed('dialLimit')) ||
        'it begins elsewhere',
    },
    {
      clause: 'T4',
      says: 'requests are pulled from when the work says so',
      when: (step) => step.before.is('Working.Dialing') && step.heard('writer.running'),
      holds: (step) =>
        (step.after.is('Working.Running.Fresh') && step.armed('steady') && !step.stopped('writeTimers')) ||
        'it is not running',
    },
    {
      clause: 'T4',
      says: 'an end, whatever it was, is told with its reason and followed by a pause without any work',
      when: isLost,
      holds: (step) => {
        const down = told(step, 'tellDown');
        if (down === undefined) return 'it is not told';
        if (!JSON.stringify(down).includes('"why":"')) return 'it is told without a reason';
        return (
          (step.after.is('BackingOff') && step.armed('dialAgain') && !step.after.running('writeTimers')) || 'it goes on'
        );
      },
    },
    {
      clause: 'T4',
      says: 'the pause ends with another dial',
      when: (step) => step.elapsed === 'dialAgain',
      holds: (step) =>
        (step.after.is('Working.Dialing') && step.started('writeTimers') !== undefined) || 'nobody dials',
    },
    {
      clause: 'T4',
      says: 'every end is counted, so that pauses grow; only a work that went on for a while forgets them',
      when: ({ before, after }) => before.begun && !after.is('Working.Running.Steady'),
      holds: (step) =>
        step.after.context.failures === step.before.context.failures + (isLost(step) ? 1 : 0) || 'the count is wrong',
    },
    {
      clause: 'T4',
      says: 'a work that went on for a while is steady, and forgets the ends before it',
      when: (step) => step.elapsed === 'steady',
      holds: ({ after }) => (after.is('Working.Running.Steady') && after.context.failures === 0) || 'it does not',
    },
    {
      clause: 'T4',
      says: 'that it runs again is told when it had ended before, and only then',
      when: (step) => step.heard('writer.running'),
      holds: (step) =>
        (told(step, 'tellAgain') !== undefined) ===
          (step.before.is('Working.Dialing') && step.before.context.failures > 0) || 'it is told wrongly',
    },
  ],
});
