/**
 * What one round of the inventory machine reads: both stores once, from the front to the end, for all of its members. A lane
 * that reads by itself has the broker search the streams for one member's messages among everybody's, so that a start would
 * cost members times backlog (docs/decisions/inventory.md).
 *
 * What `take` gives was so after `read` began, and nothing of the member's has changed since but what is told with it: copies
 * of which it was heard that they were settled (`early`), and what was stored above `found.lookedTo`. For only a member's own
 * lane stores or takes back its copies and removes its entries, and every lane takes before it does anything, whether there is
 * something to be had or not. So nobody needs to wait: to whom something happens before, has a lane that reads by itself.
 */
import type { Copies, Entries, HeldCopy, HeldEntry, Rows } from '../ports.ts';
import type { HowSettled } from './desk.ts';
import { memberOf } from './judge.ts';
import { Share, type Taken } from './share.ts';

/** Messages in a page: of all members together. */
const PAGE = 500;
/** Reading one message costs the broker what searching past so many does … */
const SEARCHED = 24;
/** … and so many may be read in vain before it is not worth it any more. */
const TRIED = 2 * PAGE;

export interface InventoryPorts {
  readonly entries: Entries;
  readonly copies: Copies;
  readonly rows: Rows;
  readonly window: number;
  /** Fewer members than this read by themselves. */
  readonly inventoryFrom: number;
  /** Whether the member has a lane, which may change what the stores hold. */
  readonly isLiving: (member: string) => boolean;
}

type Handed = { type: 'round.taken' } | { type: 'round.void'; members: string[] };

export class Inventory {
  readonly #ports: InventoryPorts;
  #round: Round | undefined;

  constructor(ports: InventoryPorts) {
    this.#ports = ports;
  }

  /** Reads for those who have no lane; what was read before is thrown away. `signal`: nobody waits for it any more. */
  async read(members: readonly string[], signal: AbortSignal) {
    const { isLiving, window } = this.#ports;
    const round = new Round(
      members.filter((key) => !isLiving(key)),
      window,
    );
    this.#round = round;
    signal.addEventListener('abort', () => this.#drop(round));
    try {
      const isRead = await this.#lookThrough(round);
      const left = [...round.leftOut, ...round.shares.keys()];
      if (isRead) round.readTo = round.lookedTo;
      return { type: isRead ? 'round.read' : 'round.unread', members: left } as const;
    } finally {
      if (round.readTo === undefined) this.#drop(round);
    }
  }

  /** Until every lane has taken what is its own, or nobody may any more. */
  async handOut(signal: AbortSignal): Promise<Handed> {
    const round = this.#round;
    if (round === undefined || round.shares.size === 0) return { type: 'round.taken' };
    signal.addEventListener('abort', () => this.#drop(round));
    return round.ended;
  }

  /** Copies first, then marks, then entries, as a lane reads them. False: it came no further, or it is worth nothing any more. */
  async #lookThrough(round: Round): Promise<boolean> {
    const { entries, copies, rows, inventoryFrom } = this.#ports;
    // As in `askFor`; where the barrier does not stand, each lane sees for itself.
    if ((await copies.barrier()).kind !== 'stands') return false;
    const isWorthIt = () => this.#round === round && round.shares.size >= inventoryFrom;
    for (let after = 0, more = true; more; ) {
      const page = isWorthIt() ? await copies.pageOfAll({ after, limit: PAGE }) : undefined;
      if (page?.kind !== 'read' || this.#round !== round) return false;
      for (const { key, held } of page.held) round.takeCopy(key, held);
      ({ upTo: after, more } = page);
    }
    const members = [...round.shares];
    const marks = await Promise.all(members.map(([key]) => rows.mark({ member: memberOf(key) })));
    let wanted = 0;
    for (const [i, [, share]] of members.entries()) {
      const marked = marks[i];
      if (marked?.kind !== 'read') return false;
      wanted = Math.max(wanted, share.marked(marked.mark, marked.storedAt));
    }
    let wasted = 0;
    for (let isWanted = true; isWanted; ) {
      const page = isWorthIt() ? await entries.pageOfAll({ after: round.lookedTo, limit: PAGE }) : undefined;
      if (page?.kind !== 'read' || this.#round !== round) return false;
      const isOn = round.lookedTo >= wanted;
      const next = page.held.filter(({ key, held }) => round.takeEntry(key, held));
      if (isOn) wasted = Math.max(0, wasted + page.held.length - SEARCHED * next.length);
      round.lookedTo = page.upTo;
      isWanted = page.more && (round.lookedTo < wanted || wasted < TRIED);
    }
    return true;
  }

  /** The member's lane looks for its place: what there is for it, once; undefined: it has to ask the stores. */
  take(key: string): Taken | undefined {
    const round = this.#round;
    const share = round?.shares.get(key);
    if (round === undefined || share === undefined) return undefined;
    round.shares.delete(key);
    if (round.readTo === undefined) return undefined;
    if (round.shares.size === 0) {
      this.#drop(round);
      round.end({ type: 'round.taken' });
    }
    return share.taken(round.readTo);
  }

  /** A copy was settled. */
  hear(key: string, copySeq: number, how: HowSettled): void {
    this.#round?.shares.get(key)?.early.set(copySeq, how);
  }

  /** INBOX gave out this sequence just now: had it done so before, what was read of it is not what is there. */
  given(seq: number): void {
    const round = this.#round;
    if (round === undefined || seq > round.lookedTo) return;
    this.#drop(round);
    round.end({ type: 'round.void', members: [...round.shares.keys()] });
  }

  #drop(round: Round): void {
    if (this.#round === round) this.#round = undefined;
  }
}

/** What is being read, and then handed out. */
class Round {
  /** Of the members whose lanes did not come yet. */
  readonly shares: Map<string, Share>;
  /** For whom there is more than a lane leaves behind: they read by themselves. */
  readonly leftOut: string[] = [];
  /** Highest sequence of INBOX that was looked at. */
  lookedTo = 0;
  /** The same, when all of it was read. */
  readTo: number | undefined;
  end: (fact: Handed) => void = () => {};
  readonly ended = new Promise<Handed>((end) => (this.end = end));

  constructor(members: readonly string[], window: number) {
    this.shares = new Map(members.map((key) => [key, new Share(window)]));
  }

  takeCopy(key: string, copy: HeldCopy): void {
    this.#keep(key, this.shares.get(key)?.takeCopy(copy));
  }

  /** Answers whether it is one that the member's lane hands off next. */
  takeEntry(key: string, entry: HeldEntry): boolean {
    const share = this.shares.get(key);
    const known = share?.ahead;
    this.#keep(key, share?.takeEntry(entry));
    return share?.ahead !== known;
  }

  #keep(key: string, hasRoom = true): void {
    if (hasRoom) return;
    this.shares.delete(key);
    this.leftOut.push(key);
  }
}
