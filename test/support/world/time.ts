/** Time of a world: the clock that everybody reads and the timers of the actors, which fire only when it goes on. */
import { ManualClock } from '../../../src/services/memory/clock.ts';

interface Timer {
  readonly at: number;
  readonly fire: () => void;
}

export class WorldTime {
  readonly clock = new ManualClock();
  readonly #timers = new Map<number, Timer>();
  #next = 0;

  /** For `createActor`. */
  readonly forActors = {
    setTimeout: (fire: () => void, ms: number): number => {
      this.#timers.set(++this.#next, { at: this.#now() + ms, fire });
      return this.#next;
    },
    clearTimeout: (id: number): void => void this.#timers.delete(id),
  };

  /** How long until the next timer. */
  untilNext(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { at } of this.#timers.values()) first = Math.min(first, at);
    return Math.max(0, first - this.#now());
  }

  /** Goes on, timer by timer. */
  advance(ms: number): void {
    const until = this.#now() + ms;
    for (;;) {
      let due: [number, Timer] | undefined;
      for (const each of this.#timers)
        if (each[1].at <= until && (due === undefined || each[1].at < due[1].at)) due = each;
      if (due === undefined) break;
      this.#timers.delete(due[0]);
      this.clock.advance(Math.max(0, due[1].at - this.#now()));
      due[1].fire();
    }
    this.clock.advance(until - this.#now());
  }

  /** A stall: nothing fires until it is over. */
  stall(ms: number): void {
    this.clock.advance(ms);
    this.advance(0);
  }

  #now(): number {
    return this.clock.now().monotonicMs;
  }
}
