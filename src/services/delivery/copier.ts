/**
 * Stores copies, for rounds and for catch-ups, and offers what was stored to the lanes that are up to date: they then need not
 * read it back.
 */
import type { Clock, Entries, EntryToStore, Journal } from '../ports.ts';
import type { Tally } from '../tally.ts';
import type { LaneWork } from './lane-work.ts';
import type { OwedCounts } from './owed.ts';
import { OwnWrites } from './own-writes.ts';
import { Storing } from './storing.ts';

export interface CopierPorts {
  readonly entries: Entries;
  readonly lanes: Pick<LaneWork, 'offer' | 'forgetUpcoming' | 'forgetAllUpcoming'>;
  readonly owed: OwedCounts;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly tally: Tally;
  readonly batchSize: number;
}

export class Copier {
  readonly #ports: CopierPorts;
  readonly #storing = new Storing();
  readonly #own = new OwnWrites();

  constructor(ports: CopierPorts) {
    this.#ports = ports;
  }

  /** In atomic batches, and one by one where one of them exists already. */
  async store(entries: readonly EntryToStore[]) {
    const whole = await this.storeAll(entries);
    return whole.kind === 'duplicate' ? this.storeEach(entries) : whole;
  }

  /** In atomic batches; a duplicate id, or anything else that one of them has, refuses its whole batch. */
  async storeAll(entries: readonly EntryToStore[]) {
    for (let at = 0; at < entries.length; at += this.#ports.batchSize) {
      const part = entries.slice(at, at + this.#ports.batchSize);
      this.#storing.begin(part);
      const outcome = await this.#ports.entries.storeAll({ entries: part });
      const alone = this.#storing.end(part);
      if (outcome.kind !== 'stored') {
        this.#forgetUpcoming(part);
        return outcome;
      }
      this.#offer(part, outcome.lastSeq - part.length + 1, alone);
    }
    this.#count(entries);
    return { kind: 'stored' } as const;
  }

  /** One by one: what exists is settled, what the broker will not take is named and dropped. */
  async storeEach(entries: readonly EntryToStore[]) {
    this.#storing.begin(entries);
    const outcome = await this.#ports.entries.storeEach({ entries });
    this.#storing.end(entries);
    this.#forgetUpcoming(entries);
    if (outcome.kind !== 'stored') return outcome;
    for (const { index, code } of outcome.refused) {
      const entry = entries[index];
      this.#ports.tally.add('copies.refused', code);
      this.#ports.journal.tell('copy.refused', { code, member: entry?.key });
    }
    const others = new Set([...outcome.known, ...outcome.refused.map(({ index }) => index)]);
    this.#count(entries.filter((_, index) => !others.has(index)));
    return { kind: 'stored' } as const;
  }

  /** Where they lie is not known: whoever is owed one of them has to ask the store. */
  #forgetUpcoming(entries: readonly EntryToStore[]): void {
    for (const { key } of entries) this.#ports.lanes.forgetUpcoming(key);
  }

  /**
   * A lane goes on from the highest entry that it was given, and what it has settled below is removed without another look.
   * So it is only given what has nothing unknown of its member's below it: where a round and a catch-up store for one member
   * at a time, and after anything that this period did not write, lanes ask the store.
   */
  #offer(entries: readonly EntryToStore[], firstSeq: number, alone: ReadonlySet<string>): void {
    const storedAt = this.#ports.clock.now().wallMs;
    if (!this.#own.follow({ first: firstSeq, count: entries.length })) this.#ports.lanes.forgetAllUpcoming(firstSeq);
    for (const [i, { key, entry, post }] of entries.entries()) {
      if (alone.has(key)) this.#ports.lanes.offer(key, { seq: firstSeq + i, storedAt, entry, post });
      else this.#ports.lanes.forgetUpcoming(key);
    }
  }

  #count(entries: readonly EntryToStore[]): void {
    for (const entry of entries) this.#ports.owed.add(entry.key, 1);
    this.#ports.tally.add('copies.stored', '', entries.length);
  }
}
