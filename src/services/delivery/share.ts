/** What an inventory has of one member: what its lane would have found, had it read by itself. */
import type { PlannedEntry } from '../../domain/lane-plan.ts';
import type { LaneMark } from '../../domain/rows.ts';
import type { HeldCopy, HeldEntry } from '../ports.ts';
import type { HowSettled } from './desk.ts';
import { type Found, handedUpTo } from './found.ts';
import { Upcoming } from './upcoming.ts';

/** A lane takes it with what was heard meanwhile. */
export interface Taken {
  readonly found: Found;
  /** Copies that were settled since the reading began: DLV sequence → how. */
  readonly early: ReadonlyMap<number, HowSettled>;
  /** What lies above `found.lookedTo`, as far as it was read and its window has room for it. */
  readonly upcoming: Upcoming;
}

export class Share {
  readonly early = new Map<number, HowSettled>();
  readonly #window: number;
  /** Copies, and entries without one, that are kept. */
  readonly #limit: number;
  readonly #copies: HeldCopy[] = [];
  readonly #entries: PlannedEntry[] = [];
  readonly #foreign: HeldEntry[] = [];
  /** The copies' post by INBOX sequence of the entry; NaN, which is no post, where copies of one entry differ. */
  readonly #posts = new Map<number, number>();
  #mark: LaneMark = { handedTo: 0 };
  #markedAt = 0;
  #upTo = 0;
  /** The first entry above the last that was handed off. */
  #above: number | undefined;
  /** The entries above it that its window has room for. */
  readonly #upcoming: number[] = [];
  #isCut = false;

  constructor(window: number) {
    this.#window = window;
    this.#limit = 2 * window;
  }

  /** False: there are more of them than a lane leaves behind. */
  takeCopy(copy: HeldCopy): boolean {
    this.#copies.push(copy);
    const { entrySeq, post } = copy;
    this.#posts.set(entrySeq, (this.#posts.get(entrySeq) ?? post) === post ? post : Number.NaN);
    return this.#copies.length <= this.#limit;
  }

  /** Answers up to where the member's entries are wanted. */
  marked(mark: LaneMark, markedAt: number): number {
    this.#mark = mark;
    this.#markedAt = markedAt;
    this.#upTo = handedUpTo(mark, this.#copies);
    return this.#upTo;
  }

  takeEntry(held: HeldEntry): boolean {
    const { seq, storedAt, entry } = held;
    if (seq > this.#upTo) {
      this.#above ??= seq;
      if (this.#upcoming.length < this.#window - this.#copies.length) this.#upcoming.push(seq);
      else this.#isCut = true;
      return true;
    }
    if (entry === undefined) this.#foreign.push(held);
    if (entry === undefined || this.#posts.get(seq) !== entry.seq)
      this.#entries.push({ seq, storedAt, post: entry?.seq });
    return this.#entries.length <= this.#limit;
  }

  /** How many entries that its lane hands off next are known. */
  get ahead(): number {
    return this.#upcoming.length;
  }

  /** @param readTo highest sequence of INBOX that was read. */
  taken(readTo: number): Taken {
    const lookedTo = this.#above === undefined ? readTo : this.#above - 1;
    const found: Found = {
      copies: this.#copies,
      mark: this.#mark,
      markedAt: this.#markedAt,
      entries: this.#entries,
      foreign: this.#foreign,
      lookedTo,
      more: this.#above !== undefined,
    };
    const knownTo = this.#isCut ? (this.#upcoming.at(-1) ?? lookedTo) : readTo;
    return { found, early: this.early, upcoming: new Upcoming(this.#upcoming, knownTo) };
  }
}
