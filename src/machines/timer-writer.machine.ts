/**
 * timer-writer: the pump that turns requests for checkpoint timers into schedules of the broker.
 *
 *   T1  it has a connection of its own, dialled with the freshest credential
 *   T4  its end is told with the time of the next try, and is nobody else's: it is dialled again, further and further apart
 *
 * T2 and T3 (what is refused, arming by compare-and-set) are `domain/timers.ts` and the work behind `writeTimers`.
 */
import { assign, raise, setup } from 'xstate';
import { backOff } from '../domain/pacing.ts';
import { deafToLateFailures, type EffectFailed, heard, surpriseOf } from './effects.ts';

export type TimerWriterFact =
  /** Requests are pulled from here on. */
  { type: 'writer.running' } | { type: 'writer.lost'; why: string };
export type TimerWriterEvent = TimerWriterFact | EffectFailed;

const timerWriter = setup({
  types: { context: {} as { failures: number }, events: {} as TimerWriterEvent },
  actors: { writeTimers: heard<TimerWriterFact, undefined>('writeTimers') },
  actions: {
    faulted: raise(surpriseOf),
    countFailure: assign(({ context }) => ({ failures: context.failures + 1 })),
    forgetFailures: assign({ failures: 0 }),
    tellDown: (_, _facts: { why: string; failures: number }) => {},
    tellAgain: () => {},
  },
  guards: { hasFailed: ({ context }) => context.failures > 0 },
  delays: {
    dialLimit: 15_000,
    steady: 5_000,
    dialAgain: ({ context }) => backOff(context.failures, 5_000, 300_000),
  },
});

const down = <E>(why: (event: E) => string) =>
  ({
    target: '#timer-writer.BackingOff',
    actions: [
      'countFailure',
      {
        type: 'tellDown',
        params: ({ context, event }: { context: { failures: number }; event: E }) => ({
          why: why(event),
          failures: context.failures,
        }),
      },
    ],
  }) as const;

export const timerWriterMachine = timerWriter.createMachine({
  id: 'timer-writer',
  context: { failures: 0 },
  initial: 'Working',
  on: { ...deafToLateFailures },
  states: {
    Working: {
      invoke: { id: 'writeTimers', src: 'writeTimers', onError: { actions: 'faulted' } },
      initial: 'Dialing',
      states: {
        Dialing: {
          after: { dialLimit: down<unknown>(() => 'no answer in time') },
          on: { 'writer.running': [{ guard: 'hasFailed', target: 'Running', actions: 'tellAgain' }, 'Running'] },
        },
        Running: {
          tags: 'serving',
          initial: 'Fresh',
          states: {
            /** One that is lost again right away is no success: the gaps go on growing. */
            Fresh: { after: { steady: { target: 'Steady', actions: 'forgetFailures' } } },
            Steady: {},
          },
        },
      },
      on: {
        'writer.lost': down<{ why: string }>(({ why }) => why),
        'effect.failed': down<EffectFailed>(({ message }) => message),
      },
    },
    BackingOff: { after: { dialAgain: 'Working' } },
  },
});
