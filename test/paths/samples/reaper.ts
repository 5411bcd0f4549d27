import { reaperMachine } from '../../../src/machines/reaper.machine.ts';
import { named, samplesOf } from '../../support/paths/samples.ts';
import { promises } from './reaper.promises.ts';

export const samples = samplesOf(reaperMachine, {
  inputs: { woken: { leastMs: 250, againMs: 5_000 } },
  events: [
    named('deadline.known soon', { type: 'deadline.known', at: 10_000, due: 12_000 }),
    named('deadline.known later', { type: 'deadline.known', at: 10_000, due: 40_000 }),
    named('deadline.known in the past', { type: 'deadline.known', at: 10_000, due: 9_000 }),
    named('deadline.known now', { type: 'deadline.known', at: 10_000, due: 10_000 }),
    { type: 'alarm.fired', at: 10_000 },
    named('sweep.ended with a deadline', { type: 'sweep.ended', at: 10_000, next: 30_000 }),
    named('sweep.ended with a deadline in the past', { type: 'sweep.ended', at: 10_000, next: 1_000 }),
    named('sweep.ended with nothing to watch', { type: 'sweep.ended', at: 10_000, next: null }),
    { type: 'sweep.failed', at: 10_000 },
  ],
  answers: {},
  clamp: ({ dueAt }) => ({ dueAt }),
  happy: ['Resting', 'Armed', 'Sweeping', 'Armed'],
  goals: ['Resting', 'Armed'],
  bounded: {
    Resting: 'nobody: there is nothing to watch',
    Armed: 'the alarm of the platform, at dueAt',
    Sweeping: 'the deadline of the database, for every step of the sweep',
  },
  promises,
});
