/** A clock that a test moves. Both readings move together unless it says otherwise. */
import type { Instant } from '../../domain/lease.ts';
import type { Clock } from '../ports.ts';

export class ManualClock implements Clock {
  #monotonicMs = 1_000;
  #wallMs = Date.UTC(2026, 0, 1);
  #sleepers: { at: number; wake: () => void }[] = [];
  readonly #listeners = new Set<() => void>();

  now(): Instant {
    return { monotonicMs: this.#monotonicMs, wallMs: this.#wallMs };
  }

  /** Both clocks go on; whoever sleeps until then wakes, in order. */
  advance(ms: number): void {
    this.#monotonicMs += ms;
    this.#wallMs += ms;
    const due = this.#sleepers.filter(({ at }) => at <= this.#monotonicMs).sort((a, b) => a.at - b.at);
    this.#sleepers = this.#sleepers.filter(({ at }) => at > this.#monotonicMs);
    for (const { wake } of due) wake();
    for (const listener of [...this.#listeners]) listener();
  }

  /** The machine was asleep: only the wall clock went on. */
  suspend(ms: number): void {
    this.#wallMs += ms;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => this.#sleepers.push({ at: this.#monotonicMs + ms, wake }));
  }

  /** Is told after every advance: what ends by age ends then. */
  onAdvance(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
