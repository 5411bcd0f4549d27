/** The timer writer's machine over its work. */
import type { Numbers } from '../domain/numbers.ts';
import { backOff } from '../domain/pacing.ts';
import { type TimerWriterFact, timerWriterMachine } from '../machines/timer-writer.machine.ts';
import { listen } from './bind-effects.ts';
import type { Clock, Journal, Stoppable } from './ports.ts';

export interface TimerServices {
  readonly journal: Journal;
  readonly numbers: Numbers;
  readonly clock: Clock;
  /** Pulls and arms until it is stopped, on a connection of its own. */
  write(tell: (fact: TimerWriterFact) => void): Stoppable;
}

export function bindTimerWriter({ journal, numbers, clock, write }: TimerServices) {
  const gap = (failures: number) => backOff(failures, numbers.timerRetryMs, numbers.timerRetryLimitMs);
  return timerWriterMachine.provide({
    actors: { writeTimers: listen<TimerWriterFact, undefined>(write) },
    actions: {
      tellDown: (_, { why, failures }) => {
        const nextTry = new Date(clock.now().wallMs + gap(failures)).toISOString();
        journal.tell('timers.down', { why, nextTry });
      },
      tellAgain: () => journal.tell('timers.running-again'),
    },
    delays: {
      dialLimit: numbers.dialTimeoutMs + 2 * numbers.effectTimeoutMs,
      steady: numbers.timerRetryMs,
      dialAgain: ({ context }) => gap(context.failures),
    },
  });
}
