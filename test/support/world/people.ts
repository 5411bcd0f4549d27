/** The agents of a world: what they were told, what they saw, and what they may expect. */
import { COPY_ENTRY_HEADER, copySchema } from '../../../src/domain/copy.ts';
import { readJson } from '../../../src/domain/message.ts';
import { covers, type Member, memberKey } from '../../../src/domain/names.ts';
import type { Kept } from '../../../src/services/memory/stream.ts';

/** A membership as its member knows it: what the rails answered. */
interface Known {
  /** Answered durable, and not left since. */
  open: { generation: number; joinCursor: number } | undefined;
  /** Generations whose leave was answered. */
  readonly closed: Set<number>;
  /** A leave is on its way: what surfaces meanwhile may or may not be the last of it. */
  leaving: boolean;
}

export interface Surfaced {
  readonly channel: string;
  readonly seq: number;
  readonly generation: number;
  readonly from: string;
  readonly id: string;
}

export class Person {
  readonly member: Member;
  readonly name: string;
  retired = false;
  /** Read grants as the ACL row has them. */
  allow: string[];
  /** Grants that may still be released: a narrowing counts once its reauthorization was answered. */
  released: string[];
  /** Posts up to here are not promised: the grant changed after them. */
  promisedAfter = 0;
  /** A post on a live channel that mentions us is promised only above this sequence. */
  mentionedAfter = 0;
  readonly memberships = new Map<string, Known>();
  readonly surfaced: Surfaced[] = [];
  /** Taken and not confirmed yet. */
  readonly inHand: Kept[] = [];

  constructor(of: { member: Member; allow: string[] }) {
    this.member = of.member;
    this.name = of.member.actor;
    this.allow = of.allow;
    this.released = [...of.allow];
  }

  get key(): string {
    return memberKey(this.member);
  }
  get principal(): string {
    return `${this.member.owner}.${this.member.actor}`;
  }

  knows(channel: string): Known {
    const known = this.memberships.get(channel) ?? { open: undefined, closed: new Set<number>(), leaving: false };
    this.memberships.set(channel, known);
    return known;
  }

  /** What surfaces is looked at by the rules; answers what is wrong with it. */
  surface(kept: Kept, intervals: Intervals): string | undefined {
    const body = readJson(kept.data);
    const read = copySchema.safeParse(body);
    if (!read.success) return `a copy that is none: ${JSON.stringify(body)}`;
    const { channel, seq, generation, msg } = read.data;
    const what = `${this.name} ← ${channel}#${seq} generation ${generation} (copy ${kept.seq}, entry ${kept.header(COPY_ENTRY_HEADER)})`;
    this.surfaced.push({ channel, seq, generation, from: msg.from.id, id: msg.id });
    if (!this.released.some((pattern) => covers(pattern, channel))) return `${what} surfaced outside the ACL`;
    if (msg.from.id === this.principal) return `${what} is its own post`;
    if (generation === 0) return undefined;
    if (this.knows(channel).closed.has(generation)) return `${what} surfaced after its leave was answered`;
    const interval = intervals.of(channel, this.key, generation);
    if (interval === undefined) return `${what} has no membership`;
    const { joinCursor, leaveCursor = Number.POSITIVE_INFINITY, copiesBefore } = interval;
    // What was handed off while it was a member may be taken until its leave is answered, which takes it back first.
    const isOnItsWay = kept.seq <= copiesBefore || this.knows(channel).leaving;
    const inside = joinCursor < seq && (seq <= leaveCursor || isOnItsWay);
    return inside ? undefined : `${what} surfaced outside its interval ${JSON.stringify(interval)}`;
  }
}

/** Every generation that was ever written to a member row. */
interface Interval {
  readonly joinCursor: number;
  readonly leaveCursor: number | undefined;
  /** Copies up to here were handed off before the row was closed. */
  readonly copiesBefore: number;
}

export class Intervals {
  readonly #known = new Map<string, Interval>();

  learn(row: {
    channel: string;
    key: string;
    generation: number;
    joinCursor: number;
    leaveCursor?: number | undefined;
    copies: number;
  }) {
    const key = `${row.channel}/${row.key}/${row.generation}`;
    const before = this.#known.get(key);
    this.#known.set(key, {
      joinCursor: row.joinCursor,
      leaveCursor: row.leaveCursor,
      copiesBefore: before?.leaveCursor === undefined ? row.copies : before.copiesBefore,
    });
  }
  of(channel: string, key: string, generation: number): Interval | undefined {
    return this.#known.get(`${channel}/${key}/${generation}`);
  }
}
