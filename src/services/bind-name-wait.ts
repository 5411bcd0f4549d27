/** Work that dials a broker by its name, as a promise that waits while the name does not resolve. */
import { createActor } from 'xstate';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import type { Numbers } from '../domain/numbers.ts';
import { backOff } from '../domain/pacing.ts';
import { nameWaitMachine, type WorkFact } from '../machines/name-wait.machine.ts';
import { ask } from './bind-effects.ts';
import type { Clock } from './ports.ts';

export interface NamePatience {
  readonly clock: Clock;
  readonly numbers: Pick<Numbers, 'nameWaitMs' | 'nameRetryMs' | 'nameRetryLimitMs'>;
  /** The name that an error is about, where it had no address. */
  unresolved(error: unknown): { host: string; reason: string } | undefined;
  tell(facts: { host: string; reason: string; seconds: number }): void;
  /** Aborted: the wait is over, and rejects with the signal's reason. */
  readonly signal?: AbortSignal;
}

/** @throws Plane3Error `start.nameless` when the time is up; whatever else the work throws, at once. */
export function onceResolved<T>(work: () => Promise<T>, of: NamePatience): Promise<T> {
  const { clock, numbers, signal } = of;
  const pauseMs = (nameless: number) => backOff(nameless, numbers.nameRetryMs, numbers.nameRetryLimitMs);
  let done: { value: T } | undefined;
  let failure: unknown;
  const machine = nameWaitMachine.provide({
    actors: {
      work: ask<WorkFact, undefined>(async () => {
        try {
          done = { value: await work() };
          return { type: 'work.done' };
        } catch (error) {
          const name = of.unresolved(error);
          failure = name === undefined ? error : new Plane3Error('start.nameless', name, { cause: error });
          if (name === undefined) return { type: 'work.failed' };
          return { type: 'name.unresolved', ...name, message: String(error), at: clock.now().monotonicMs };
        }
      }),
    },
    actions: {
      tellNameless: ({ context }, { host, reason }) =>
        of.tell({ host, reason, seconds: pauseMs(context.nameless) / 1000 }),
    },
    delays: { dialAgain: ({ context }) => pauseMs(context.nameless) },
  });
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const actor = createActor(machine, { input: { nameWaitMs: numbers.nameWaitMs } });
    const cancel = () => {
      reject(signal?.reason);
      actor.stop();
    };
    signal?.addEventListener('abort', cancel, { once: true });
    actor.subscribe({
      error: reject,
      complete: () => {
        signal?.removeEventListener('abort', cancel);
        if (done === undefined) reject(failure);
        else resolve(done.value);
      },
    });
    actor.start();
  });
}
