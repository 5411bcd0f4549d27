/** The desks of all members' lanes: those that live, and the places that resting ones left behind. */
import type { HeldEntry } from '../ports.ts';
import { Desk, type HowSettled } from './desk.ts';

/** Copies that the places of resting lanes may remember, all together: some 16 MiB. */
const RESTING_COPIES = 500_000;
/** Bytes of posts that were offered to resting lanes, all together, each counted for each of them. */
const RESTING_BYTES = 32 * 1024 * 1024;
/** Entries of which resting lanes remember at least where they lie, all together: some 8 MiB. */
const RESTING_ENTRIES = 1_000_000;

interface Resting {
  readonly desk: Desk;
  readonly copies: number;
  entries: number;
  bytes: number;
}

/**
 * The desks of the lanes that live now, by `owner.actor.uid`, and the places of lanes that rest: without them every post to a
 * member that is away would read all that it is owed from the store. A place is kept only while nothing casts doubt on it. A
 * lane that was up to date stays so while it rests: it is offered what is stored for it, and reads nothing back when it wakes.
 */
export class Desks {
  readonly #desks = new Map<string, Desk>();
  readonly #resting = new Map<string, Resting>();
  #restingCopies = 0;
  #restingBytes = 0;
  #restingEntries = 0;
  readonly #limit: { readonly copies: number; readonly bytes: number; readonly entries: number };

  constructor({ restingCopies = RESTING_COPIES, restingBytes = RESTING_BYTES, restingEntries = RESTING_ENTRIES } = {}) {
    this.#limit = { copies: restingCopies, bytes: restingBytes, entries: restingEntries };
  }

  /** The member's desk; an empty one when its lane has not recovered its place yet. */
  of(key: string): Desk {
    return this.#desks.get(key) ?? this.renew(key);
  }

  /** Whether the member's lane lives. */
  isLiving(key: string): boolean {
    return this.#desks.has(key);
  }

  renew(key: string): Desk {
    const desk = new Desk();
    this.#desks.set(key, desk);
    return desk;
  }

  /** An entry was stored for the member: its lane, living or resting, is offered it, or remembers where it lies. */
  offer(key: string, entry: HeldEntry, window: number): void {
    const living = this.#desks.get(key);
    if (living !== undefined) return living.offer(entry, window);
    const resting = this.#resting.get(key);
    if (resting?.desk.upcoming.isAll !== true) return;
    const { awaiting, upcoming } = resting.desk;
    if (this.#restingEntries >= this.#limit.entries) return upcoming.close();
    const bytes = entry.post.length;
    const isFull = awaiting.size + upcoming.size >= window || this.#restingBytes + bytes > this.#limit.bytes;
    // Bytes of its own: what was received lies in a larger buffer, which would be kept with them.
    upcoming.add(isFull ? entry.seq : { ...entry, post: entry.post.slice() }, window);
    this.#count(resting, { entries: upcoming.size, bytes: resting.bytes + (isFull ? 0 : bytes) });
  }

  #count(resting: Resting, { entries, bytes }: { entries: number; bytes: number }): void {
    this.#restingEntries += entries - resting.entries;
    this.#restingBytes += bytes - resting.bytes;
    Object.assign(resting, { entries, bytes });
  }

  /** What is known of the entries above those that the member's lane has looked at is not all there may be. */
  forgetUpcoming(key: string): void {
    this.#desks.get(key)?.forgetUpcoming();
    const resting = this.#resting.get(key);
    if (resting !== undefined) this.#forgetResting(resting);
  }

  /** The same of all lanes. */
  forgetAllUpcoming(): void {
    for (const desk of this.#desks.values()) desk.forgetUpcoming();
    for (const resting of this.#resting.values()) this.#forgetResting(resting);
  }

  #forgetResting(resting: Resting): void {
    resting.desk.forgetUpcoming();
    this.#count(resting, { entries: 0, bytes: 0 });
  }

  /** The lane rests: its place is kept while there is room for it. */
  rest(key: string): void {
    const desk = this.#desks.get(key);
    this.drop(key);
    const copies = Math.max(1, desk?.awaiting.size ?? 0);
    if (desk === undefined || this.#restingCopies + copies > this.#limit.copies) return;
    desk.upcoming.leavePosts();
    if (this.#restingEntries + desk.upcoming.size > this.#limit.entries) desk.forgetUpcoming();
    desk.early.clear();
    const resting = { desk, copies, entries: 0, bytes: 0 };
    this.#resting.set(key, resting);
    this.#restingCopies += copies;
    this.#count(resting, { entries: desk.upcoming.size, bytes: 0 });
  }

  /** The place that the member's last lane left, if it was kept; it is the living lane's from now on. */
  resume(key: string): Desk | undefined {
    const desk = this.#resting.get(key)?.desk;
    this.doubt(key);
    if (desk !== undefined) this.#desks.set(key, desk);
    return desk;
  }

  /** A copy was settled. True when it is one of those that the lane, living or resting, waits for. */
  settle(key: string, copySeq: number, how: HowSettled): boolean {
    const living = this.#desks.get(key);
    if (living !== undefined) return living.settle(copySeq, how);
    const isKnown = this.#resting.get(key)?.desk.settle(copySeq, how) ?? false;
    if (!isKnown) this.doubt(key);
    return isKnown;
  }

  /** True when the member's lane rests with a full window: what arrives has to wait until something is confirmed. */
  isFull(key: string, window: number): boolean {
    return (this.#resting.get(key)?.desk.awaiting.size ?? 0) >= window;
  }

  /** Something happened to the member that its resting place does not know: the next lane asks the store. */
  doubt(key: string): void {
    const resting = this.#resting.get(key);
    if (resting === undefined) return;
    this.#restingCopies -= resting.copies;
    this.#count(resting, { entries: 0, bytes: 0 });
    this.#resting.delete(key);
  }

  drop(key: string): void {
    this.#desks.delete(key);
    this.doubt(key);
  }

  clear(): void {
    this.#desks.clear();
    this.#resting.clear();
    this.#restingCopies = 0;
    this.#restingBytes = 0;
    this.#restingEntries = 0;
  }
}
