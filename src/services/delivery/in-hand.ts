/**
 * Requests that were taken on and are not answered yet. While the broker is silent a request may wait for long, and who asks
 * may ask again: nobody may have more than so many of them here. What comes on top is not taken on, which its sender sees
 * as silence and may repeat; it is counted.
 */
import type { RailRequest } from '../ports.ts';
import type { Tally } from '../tally.ts';

/** Of one principal on one rail: above what a client with very many channels asks at once. */
export const IN_HAND_MAX = 1_024;

export class InHand {
  readonly #tally: Tally;
  readonly #counts = new Map<string, number>();

  constructor({ tally }: { tally: Tally }) {
    this.#tally = tally;
  }

  /** Does the work for this request, or nothing when its sender has too many in hand. */
  async take({ rail, principal }: Pick<RailRequest, 'rail' | 'principal'>, work: () => Promise<void>): Promise<void> {
    const key = `${rail} ${principal}`;
    const count = this.#counts.get(key) ?? 0;
    if (count >= IN_HAND_MAX) {
      this.#tally.add('requests.not-taken', rail);
      return;
    }
    this.#counts.set(key, count + 1);
    try {
      await work();
    } finally {
      const left = (this.#counts.get(key) ?? 1) - 1;
      if (left === 0) this.#counts.delete(key);
      else this.#counts.set(key, left);
    }
  }
}
