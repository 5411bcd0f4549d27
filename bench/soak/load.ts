/** Posts to the members and knows how many of them have surfaced: as fast as they surface, or at a rate. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Agent } from '../../src/client/client.ts';
import type { Readers } from './readers.ts';

/** Posts that have not surfaced to everybody, at most, while it is measured how many a second do. */
const IN_FLIGHT = 40;
/** Posts that the sender has under way at a time. */
const POSTING = 8;
const LOOK_MS = 50;
const TICK_MS = 20;
const BYTES = 200;

export class Load {
  posted = 0;
  /** Of all members together. */
  surfaced = 0;
  #tookMs: number[] = [];
  readonly #of: { sender: Agent; readers: readonly Readers[]; members: number; channel: string };

  constructor(of: { sender: Agent; readers: readonly Readers[]; members: number; channel: string }) {
    this.#of = of;
  }

  /** What surfaced since this was last asked, from post to surfaced. */
  took(): number[] {
    return this.#tookMs.splice(0);
  }

  /** As fast as posts surface to everybody, for so long; copies a second. */
  async measure(forMs: number, at: (passedMs: number) => void): Promise<number> {
    const [began, before] = [performance.now(), this.surfaced];
    const passed = () => performance.now() - began;
    const posting = Array.from({ length: POSTING }, async () => {
      while (passed() < forMs) {
        if (this.posted - this.surfaced / this.#of.members < IN_FLIGHT) await this.#post();
        else await pause(LOOK_MS);
      }
    });
    while (passed() < forMs) {
      await pause(LOOK_MS);
      await this.look();
      at(passed());
    }
    const perSecond = (this.surfaced - before) / (passed() / 1_000);
    await Promise.all(posting);
    return perSecond;
  }

  /** So many posts a second, each at its time, however long the ones before it take; until it is aborted. */
  async keep(postsPerSecond: number, signal: AbortSignal): Promise<void> {
    const began = performance.now();
    const under = new Set<Promise<void>>();
    for (let due = 0; !signal.aborted; await pause(TICK_MS)) {
      for (; due < ((performance.now() - began) / 1_000) * postsPerSecond; due++) {
        const posting = this.#post().finally(() => under.delete(posting));
        under.add(posting);
      }
      if (under.size > 1_000) throw new Error('the broker stores no posts any more: 1000 are under way');
    }
    await Promise.all(under);
  }

  /** Waits until everything that was posted has surfaced. */
  async drain(patienceMs: number): Promise<number> {
    const began = performance.now();
    while (performance.now() - began < patienceMs) {
      await this.look();
      if (this.surfaced >= this.posted * this.#of.members) return 0;
      await pause(LOOK_MS);
    }
    return this.posted * this.#of.members - this.surfaced;
  }

  async look(): Promise<void> {
    const words = await Promise.all(this.#of.readers.map((each) => each.ask()));
    this.surfaced = words.reduce((sum, { surfaced }) => sum + surfaced, 0);
    for (const { tookMs } of words) for (const ms of tookMs) this.#tookMs.push(ms);
  }

  async #post(): Promise<void> {
    const { sender, channel } = this.#of;
    this.posted++;
    await sender.post({ channel, text: `${performance.timeOrigin + performance.now()} ${'x'.repeat(BYTES)}` });
  }
}
