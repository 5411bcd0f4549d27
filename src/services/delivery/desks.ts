/** The desks of all members' lanes: those that live, and the places that resting ones left behind. */
import { Desk, type HowSettled } from './desk.ts';

/** Copies that the places of resting lanes may remember, all together: some 16 MiB. */
const RESTING_COPIES = 500_000;

/**
 * The desks of the lanes that live now, by `owner.actor.uid`, and the places of lanes that rest: without them every post to a
 * member that is away would read all that it is owed from the store. A place is kept only while nothing casts doubt on it.
 */
export class Desks {
  readonly #desks = new Map<string, Desk>();
  readonly #resting = new Map<string, { desk: Desk; copies: number }>();
  #restingCopies = 0;
  readonly #limit: number;

  constructor({ restingCopies = RESTING_COPIES }: { restingCopies?: number } = {}) {
    this.#limit = restingCopies;
  }

  /** The member's desk; an empty one when its lane has not recovered its place yet. */
  of(key: string): Desk {
    return this.#desks.get(key) ?? this.renew(key);
  }

  find(key: string): Desk | undefined {
    return this.#desks.get(key);
  }

  renew(key: string): Desk {
    const desk = new Desk();
    this.#desks.set(key, desk);
    return desk;
  }

  /** What was offered to the living lanes is not all there may be. Resting ones have no offers. */
  forgetOffers(): void {
    for (const desk of this.#desks.values()) desk.forgetOffers();
  }

  /** The lane rests: its place is kept while there is room for it. */
  rest(key: string): void {
    const desk = this.#desks.get(key);
    this.drop(key);
    const copies = Math.max(1, desk?.awaiting.size ?? 0);
    if (desk === undefined || this.#restingCopies + copies > this.#limit) return;
    desk.forgetOffers();
    desk.early.clear();
    this.#resting.set(key, { desk, copies });
    this.#restingCopies += copies;
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
    this.#restingCopies -= this.#resting.get(key)?.copies ?? 0;
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
  }
}
