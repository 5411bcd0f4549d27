/** Random numbers from a seed: the same seed, the same numbers. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** 0 ≤ x < 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** 0 … below - 1. */
  below(below: number): number {
    return Math.floor(this.next() * below);
  }
  chance(of: number): boolean {
    return this.next() < of;
  }
  pick<T>(from: readonly T[]): T {
    const one = from[this.below(from.length)];
    if (one === undefined) throw new Error('nothing to pick from');
    return one;
  }
  /** One of the values, by weight. */
  weighted<T>(from: readonly (readonly [weight: number, value: T])[]): T {
    let at = this.next() * from.reduce((sum, [weight]) => sum + weight, 0);
    for (const [weight, value] of from) {
      at -= weight;
      if (at < 0) return value;
    }
    return this.pick(from)[1];
  }
}
