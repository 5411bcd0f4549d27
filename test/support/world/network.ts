/** The network of a world: every leg of every call waits here until it is let through, in an order of the seed's choice. */
import type { Leg, Pace } from '../../../src/services/memory/wire.ts';
import type { Random } from '../../../src/torture/random.ts';

interface Waiting {
  readonly owner: number;
  readonly verb: string;
  readonly leg: Leg;
  pass(): void;
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

export class Network {
  readonly #random: Random;
  #waiting: Waiting[] = [];
  /** What was let through, for a person who looks at a failure. */
  readonly log: string[] = [];
  passed = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  get size(): number {
    return this.#waiting.length;
  }

  paceOf(owner: number): Pace {
    return (verb, leg) =>
      new Promise((pass) => {
        this.#waiting.push({ owner, verb, leg, pass });
      });
  }

  /** Lets one leg through and everything settle that follows from it at once. */
  async step(): Promise<boolean> {
    if (this.#waiting.length === 0) {
      await turn();
      await turn();
      if (this.#waiting.length === 0) return false;
    }
    const [one] = this.#waiting.splice(this.#random.below(this.#waiting.length), 1);
    if (one === undefined) return false;
    this.passed++;
    this.log.push(`${one.owner} ${one.verb} ${one.leg}`);
    if (this.log.length > 4_000) this.log.splice(0, 2_000);
    one.pass();
    await turn();
    return true;
  }

  /** Lets everything through, until nobody waits. */
  async quiesce(limit = 100_000): Promise<void> {
    for (let i = 0; i < limit; i++) if (!(await this.step())) return;
    throw new Error(`the network does not come to rest: ${this.log.slice(-40).join(' | ')}`);
  }

  /** Whoever asked is dead: what is on its way arrives or does not; nothing comes back. */
  async kill(owner: number): Promise<void> {
    const orphans = this.#waiting.filter((each) => each.owner === owner);
    this.#waiting = this.#waiting.filter((each) => each.owner !== owner);
    for (const { leg, pass } of orphans) if (leg === 'there' && this.#random.chance(0.5)) pass();
    await turn();
    this.#waiting = this.#waiting.filter((each) => each.owner !== owner);
  }
}
