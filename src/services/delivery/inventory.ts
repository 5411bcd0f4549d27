/**
 * An inventory: both stores read once, from the front to the end, for all members whose lanes would look for their place at
 * the start. A lane that reads by itself has the broker search the streams for one member's messages among everybody's, so
 * that a start would cost members times backlog (docs/decisions/inventory.md).
 *
 * What `take` gives was so after `begin`, and nothing of the member's has changed since but what is told with it: copies of
 * which it was heard that they were settled (`early`), and what was stored above `found.lookedTo`. For only a member's own lane
 * stores or takes back its copies and removes its entries, and every lane takes before it does anything, whether there is
 * something to be had or not. So nobody needs to wait: to whom something happens before, has a lane that reads by itself; the
 * others are told of when their share is read, or when it is known that it will not be, because the broker is silent, or gives
 * sequences out again. Then all of it is thrown away, and each reads by itself.
 */
import type { PlannedEntry } from '../../domain/lane-plan.ts';
import type { LaneMark } from '../../domain/rows.ts';
import type { Copies, Entries, HeldCopy, HeldEntry, Rows } from '../ports.ts';
import type { HowSettled } from './desk.ts';
import { type Found, handedUpTo } from './found.ts';
import { memberOf } from './judge.ts';

/** Messages in a page: of all members together. */
const PAGE = 500;
/** Messages of the members of one round, at most: some 32 MiB, if all of them had to be kept. */
const ROOM = 500_000;

export interface InventoryPorts {
  readonly entries: Entries;
  readonly copies: Copies;
  readonly rows: Rows;
  readonly window: number;
  /** Fewer members than this read by themselves. */
  readonly inventoryFrom: number;
  /** Whether the member has a lane, which may change what the stores hold. */
  readonly isLiving: (member: string) => boolean;
  /** Their lanes may look for their place now. */
  readonly placing: (members: string[]) => void;
}

/** A member, and how many messages the stores have for it. */
export interface Counted {
  readonly key: string;
  readonly messages: number;
}

export class Inventory {
  readonly #ports: InventoryPorts;
  readonly #room: number;
  /** Members of later rounds, in their order. */
  #later: Counted[] = [];
  /** Of the members of this round whose lanes did not come yet. */
  #shares = new Map<string, Share>();
  #isRead = false;
  /** Highest sequence of INBOX that was looked at. */
  #lookedTo = 0;
  /** Ends the wait for the last lane of the round. */
  #emptied = () => {};

  constructor(ports: InventoryPorts, { room = ROOM } = {}) {
    this.#ports = ports;
    this.#room = room;
  }

  /**
   * Reads for these members, in their order, as many at a time as there is room for. Answers who will be told of; the others
   * have a lane, or are so few that they read by themselves. What was begun before is thrown away.
   */
  begin(members: readonly Counted[]): ReadonlySet<string> {
    this.clear();
    const placeless = members.filter(({ key }) => !this.#ports.isLiving(key));
    if (placeless.length < this.#ports.inventoryFrom) return new Set();
    this.#later = [...placeless];
    void this.#read();
    return new Set(placeless.map(({ key }) => key));
  }

  async #read(): Promise<void> {
    while (this.#later.length > 0) {
      const shares = this.#nextRound();
      this.#shares = shares;
      // A surprise is met again, and told, by the lanes that then read by themselves.
      const isRead = await this.#lookThrough(shares).catch(() => false);
      if (this.#shares !== shares) return;
      if (!isRead) return this.#giveUp();
      this.#isRead = true;
      this.#ports.placing([...shares.keys()]);
      if (shares.size > 0) await new Promise<void>((emptied) => (this.#emptied = emptied));
      if (this.#shares !== shares) return;
      this.#isRead = false;
      this.#lookedTo = 0;
    }
  }

  #nextRound(): Map<string, Share> {
    const { window, isLiving } = this.#ports;
    const round = new Map<string, Share>();
    for (let room = this.#room; ; this.#later.shift()) {
      const [next] = this.#later;
      // Of one member two windows at the most are kept, of each store.
      room -= Math.min(next?.messages ?? 0, 4 * window);
      if (next === undefined || (room < 0 && round.size > 0)) return round;
      if (!isLiving(next.key)) round.set(next.key, new Share(2 * window));
    }
  }

  /** Everybody reads by himself. */
  #giveUp(): void {
    const left = [...this.#shares.keys(), ...this.#later.map(({ key }) => key)];
    this.clear();
    if (left.length > 0) this.#ports.placing(left);
  }

  /** Copies first, then marks, then entries, as a lane reads them. False: it came no further, or it is worth nothing any more. */
  async #lookThrough(shares: Map<string, Share>): Promise<boolean> {
    const { entries, copies, rows, inventoryFrom, placing } = this.#ports;
    // As in `askFor`; where the barrier does not stand, each lane sees for itself.
    if ((await copies.barrier()).kind !== 'stands') return false;
    const isWorthIt = () => this.#shares === shares && shares.size >= inventoryFrom;
    const leaveOut = (key: string) => {
      shares.delete(key);
      placing([key]);
    };
    for (let after = 0, more = true; more; ) {
      const page = isWorthIt() ? await copies.pageOfAll({ after, limit: PAGE }) : undefined;
      if (page?.kind !== 'read' || this.#shares !== shares) return false;
      for (const { key, held } of page.held) if (shares.get(key)?.takeCopy(held) === false) leaveOut(key);
      ({ upTo: after, more } = page);
    }
    const members = [...shares];
    const marks = await Promise.all(members.map(([key]) => rows.mark({ member: memberOf(key) })));
    let wanted = 0;
    for (const [i, [, share]] of members.entries()) {
      const marked = marks[i];
      if (marked?.kind !== 'read') return false;
      wanted = Math.max(wanted, share.marked(marked.mark, marked.storedAt));
    }
    for (let more = true; more && this.#lookedTo < wanted; ) {
      const page = isWorthIt() ? await entries.pageOfAll({ after: this.#lookedTo, limit: PAGE }) : undefined;
      if (page?.kind !== 'read' || this.#shares !== shares) return false;
      for (const { key, held } of page.held) if (shares.get(key)?.takeEntry(held) === false) leaveOut(key);
      this.#lookedTo = page.upTo;
      more = page.more;
    }
    return true;
  }

  /** The member's lane looks for its place: what there is for it, once; undefined: it has to ask the stores. */
  take(key: string): { found: Found; early: ReadonlyMap<number, HowSettled> } | undefined {
    const share = this.#shares.get(key);
    this.#shares.delete(key);
    const taken = share !== undefined && this.#isRead ? share.taken(this.#lookedTo) : undefined;
    if (this.#shares.size === 0) this.#emptied();
    return taken;
  }

  /** A copy was settled. */
  hear(key: string, copySeq: number, how: HowSettled): void {
    this.#shares.get(key)?.early.set(copySeq, how);
  }

  /** INBOX gave out this sequence just now: had it done so before, what was read of it is not what is there. */
  given(seq: number): void {
    if (seq <= this.#lookedTo) this.#giveUp();
  }

  clear(): void {
    this.#later = [];
    this.#shares = new Map();
    this.#isRead = false;
    this.#lookedTo = 0;
    this.#emptied();
  }
}

/** What is one member's. */
class Share {
  readonly early = new Map<number, HowSettled>();
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

  /** `limit`: copies, and entries without one, that are kept. */
  constructor(limit: number) {
    this.#limit = limit;
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
      return true;
    }
    if (entry === undefined) this.#foreign.push(held);
    if (entry === undefined || this.#posts.get(seq) !== entry.seq)
      this.#entries.push({ seq, storedAt, post: entry?.seq });
    return this.#entries.length <= this.#limit;
  }

  taken(lookedTo: number) {
    const found: Found = {
      copies: this.#copies,
      mark: this.#mark,
      markedAt: this.#markedAt,
      entries: this.#entries,
      foreign: this.#foreign,
      lookedTo: this.#above === undefined ? lookedTo : this.#above - 1,
      more: this.#above !== undefined,
    };
    return { found, early: this.early };
  }
}
