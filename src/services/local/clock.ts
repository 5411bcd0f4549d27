/** Both clocks of this process, and how late its own timers were. */
import { unionWithin } from '../../domain/outage.ts';
import type { Clock } from '../ports.ts';

export const systemClock: Clock = {
  now: () => ({ monotonicMs: performance.now(), wallMs: Date.now() }),
};

const TICK_MS = 100;
/** A timer that is no later than this is not late. */
const TOLERANCE_MS = 50;
/** Stalls older than this are forgotten; no outage that is still open is longer than its backstop. */
const KEPT = 4_096;

/** Remembers when this process did not get to run: a timer of its own that fired late shows it. */
export class StallRecorder {
  readonly #clock: Clock;
  #spans: { from: number; to: number }[] = [];
  #expected: number;
  readonly #timer: NodeJS.Timeout;
  #totalMs = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#expected = clock.now().monotonicMs + TICK_MS;
    this.#timer = setInterval(() => this.#look(), TICK_MS);
    this.#timer.unref();
  }

  /** How much of the time since `since` (monotonic) this process was late. */
  stalledSince(since: number): number {
    this.#look();
    return unionWithin(this.#spans, since, this.#clock.now().monotonicMs);
  }

  /** How long this process was late, since it began. */
  get totalMs(): number {
    this.#look();
    return this.#totalMs;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = this.#clock.now().monotonicMs;
    if (now - this.#expected > TOLERANCE_MS) {
      this.#totalMs += now - this.#expected;
      this.#spans = [...this.#spans.slice(-KEPT), { from: this.#expected, to: now }];
    }
    if (now >= this.#expected) this.#expected = now + TICK_MS;
  }
}
