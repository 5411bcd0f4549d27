/**
 * Entries of one member above those its lane has looked at, as far as this daemon knows of them: because it stored them itself,
 * or because an inventory read them. The broker finds the next entry of one member by looking at everybody's in between, so
 * that a backlog of many members would be searched through once for each of them.
 */
import type { HeldEntry } from '../ports.ts';

/** Windows of a lane whose entries are known in advance, at most. */
const WINDOWS = 16;

export class Upcoming {
  /** Ascending; each with its post, or by its sequence only: then it is read when it is its turn. */
  #entries: (HeldEntry | number)[];
  #knownTo: number;
  /** What lies up to here was looked at. */
  #lookedTo = 0;

  /** @param knownTo up to here there are none of the member's but these, above what was looked at; `Infinity`: nor above. */
  constructor(entries: readonly (HeldEntry | number)[] = [], knownTo = 0) {
    this.#entries = [...entries];
    this.#knownTo = knownTo;
  }

  get size(): number {
    return this.#entries.length;
  }
  get knownTo(): number {
    return this.#knownTo;
  }
  /** Whether everything that lies there is known. */
  get isAll(): boolean {
    return this.#knownTo === Number.POSITIVE_INFINITY;
  }

  /**
   * An entry was stored, as it is told now: it may have been looked at before. One that there is no room for, and what comes
   * after it, has to be asked of the store.
   */
  add(entry: HeldEntry | number, window: number): void {
    if (!this.isAll || seqOf(entry) <= this.#lookedTo) return;
    if (this.size < WINDOWS * window) this.#entries.push(entry);
    else this.close();
  }

  /** What is stored from now on is not told any more. */
  close(): void {
    this.#knownTo = 0;
  }

  /** The first of them that are known in the same way. */
  first(limit: number): { posts: HeldEntry[] } | { seqs: number[] } {
    const head = this.#entries.slice(0, limit);
    const other = head.findIndex((entry) => typeof entry !== typeof head[0]);
    const alike = other < 0 ? head : head.slice(0, other);
    const seqs = alike.filter((entry) => typeof entry === 'number');
    return seqs.length > 0 ? { seqs } : { posts: alike.filter((entry) => typeof entry !== 'number') };
  }

  /** Everything up to this sequence was looked at. */
  dropTo(seq: number): void {
    this.#lookedTo = Math.max(this.#lookedTo, seq);
    const beyond = this.#entries.findIndex((entry) => seqOf(entry) > seq);
    this.#entries.splice(0, beyond < 0 ? this.size : beyond);
  }

  /** Keeps where they lie, not their posts. */
  leavePosts(): void {
    this.#entries = this.#entries.map(seqOf);
  }
}

const seqOf = (entry: HeldEntry | number): number => (typeof entry === 'number' ? entry : entry.seq);
