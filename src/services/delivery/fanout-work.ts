/**
 * The work of the fan-out writer over its ports. Posts stay in the buffer until their round is settled, so a round that
 * was cut short is simply made again (F1); routing is one synchronous step over the index, which is what makes
 * "concurrent with a join" a matter of sequences (docs/architecture.md).
 *
 * Longer than 300 lines: position, buffer and rounds change together, in steps of one thread.
 */
import { createHash } from 'node:crypto';
import { carriedSize, type Entry, encodeEntry, entryIdentity } from '../../domain/entry.ts';
import { readPost } from '../../domain/message.ts';
import type { RoutingIndex, Target } from '../../domain/routing.ts';
import type { Discarded } from '../../domain/rows.ts';
import type {
  Clock,
  DeliveredPost,
  Entries,
  EntryToStore,
  Journal,
  Posts,
  Rows,
  Silent,
  Stoppable,
  StoredPost,
} from '../ports.ts';
import type { Tally } from '../tally.ts';
import type { Copier } from './copier.ts';
import { EarlyPosts } from './early-posts.ts';
import type { OwedCounts } from './owed.ts';
import type { Shortfalls } from './shortfalls.ts';

export interface FanoutPorts {
  readonly space: string;
  readonly posts: Posts;
  readonly entries: Entries;
  readonly rows: Rows;
  readonly index: RoutingIndex;
  readonly owed: OwedCounts;
  readonly shortfalls: Shortfalls;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly tally: Tally;
  readonly batchSize: number;
  readonly quota: number;
  /** Largest message that the broker takes, in bytes. */
  maxPayload(): number;
  readonly copier: Copier;
  /** Resolves once every ACL row that existed at the call is in the index. */
  readonly grantsTold: () => Promise<{ kind: 'told' } | Silent>;
  /** True for a member whose lane rests with a full window. */
  readonly isFull: (member: string) => boolean;
}

const LOOK_EVERY_MS = 5_000;

/** What is to be said of a post, once: a round that is made again, or a catch-up of the same post, does not say it again. */
interface Remark {
  /** Whose copy it is about, where it is about one. */
  readonly key?: string;
  say(): void;
}
interface Copies {
  readonly entries: readonly EntryToStore[];
  readonly remarks: readonly Remark[];
}
interface Round extends Copies {
  readonly posts: readonly DeliveredPost[];
  readonly routed: Routed;
}
const NOTHING: Round = { posts: [], entries: [], remarks: [], routed: { posts: 0, copies: 0, poison: 0, oversize: 0 } };

/** Posts that were delivered and not settled, and how far delivery has come. */
export interface Unsettled {
  readonly posts: readonly DeliveredPost[];
  readonly position: number;
}

type Routed = { posts: number; copies: number; poison: number; oversize: number };

export class FanoutWork {
  readonly #ports: FanoutPorts;
  #buffer: DeliveredPost[] = [];
  #round: Round = NOTHING;
  #next: Round | undefined;
  /** Highest sequence that was delivered to this durable, by this daemon or one before it. */
  #position = 0;
  /** Names in posts up to here are looked up in an index that has every ACL row which was there before the post. */
  #namedTo = 0;
  readonly #early = new EarlyPosts();
  readonly #passed: { seq: number; pass: () => void }[] = [];
  #lookedAt = 0;
  /** Posts that retention took before they were copied, this daemon's and those before it. */
  #discarded: Discarded | undefined;
  /** Tells the machine that posts are waiting, while it listens. */
  #waiting: ((count: number) => void) | undefined;

  constructor(ports: FanoutPorts, before: Unsettled = { posts: [], position: 0 }) {
    this.#ports = ports;
    this.#buffer = [...before.posts];
    this.#position = before.position;
  }

  /** What a next period goes on with. What was taken early it takes early again. */
  unsettled(): Unsettled {
    return { posts: this.#buffer.filter(({ seq }) => !this.#early.has(seq)), position: this.#position };
  }

  /** Every post up to here was routed by the index as it is now, or will be again. */
  get position(): number {
    return this.#position;
  }

  async open() {
    const { posts, rows, entries, owed, journal } = this.#ports;
    const floor = await rows.floor();
    if (floor.kind === 'silent') return floor;
    const counts = await entries.counts({});
    if (counts.kind === 'silent') return counts;
    owed.restart(counts.counts);
    this.#discarded = floor.row?.discarded;
    const opened = await posts.open({ floor: floor.row?.floor ?? this.#smallestJoin() });
    if (opened.kind !== 'opened') return opened;
    this.#position = Math.max(this.#position, opened.position);
    if (opened.made) journal.tell('fanout.remade', { position: opened.position });
    if (floor.row === undefined) await this.#keep(opened.floor);
    const read = await this.#early.open(posts, opened);
    if (read.kind === 'silent') return read;
    this.#buffer = this.#early.join(this.#buffer, read.posts);
    return opened;
  }

  /** Where a durable without a persisted floor has to start: below it no member is owed anything. */
  #smallestJoin(): number {
    let smallest = Number.POSITIVE_INFINITY;
    for (const { row } of this.#ports.index.memberships()) smallest = Math.min(smallest, row.joinCursor);
    return Number.isFinite(smallest) ? smallest : 0;
  }

  hear(listener: {
    waiting(count: number): void;
    skipped(range: { from: number; to: number }): void;
    lost(why: string): void;
  }): Stoppable {
    this.#waiting = listener.waiting;
    if (this.#buffer.length > 0) listener.waiting(this.#buffer.length);
    const { posts } = this.#ports;
    return posts.pull({
      post: (post) => {
        if (this.#early.meets(posts, post)) return;
        if (post.seq > this.#position) {
          if (post.seq > this.#position + 1) listener.skipped({ from: this.#position + 1, to: post.seq - 1 });
          this.#position = post.seq;
        }
        this.#buffer.push(post);
        listener.waiting(1);
      },
      lost: (why) => listener.lost(why),
    });
  }

  /**
   * Takes what is waiting, as many posts as fit one batch, and decides who gets a copy. A post may be delivered before the
   * grant of somebody whom it names, though that was written first: it waits until that has been told.
   */
  async route(): Promise<Routed | undefined | Silent> {
    let ready = this.#next?.posts[0] === this.#buffer[0] ? this.#next : this.#compose(0);
    this.#next = undefined;
    if (ready === undefined && this.#buffer.length > 0) {
      const upTo = this.#buffer.reduce((last, { seq }) => Math.max(last, seq), 0);
      const told = await this.#ports.grantsTold();
      if (told.kind === 'silent') return told;
      this.#namedTo = Math.max(this.#namedTo, upTo);
      ready = this.#compose(0);
    }
    if (ready === undefined) return undefined;
    this.#round = ready;
    return ready.routed;
  }

  /** The next round of the posts that lie in the buffer from here on, up to the first whose names are not known yet. */
  #compose(from: number): Round | undefined {
    const waiting = this.#buffer.slice(from, from + this.#ports.batchSize);
    if (waiting.length === 0) return undefined;
    const entries: EntryToStore[] = [];
    const remarks: Remark[] = [];
    const routed = { posts: 0, copies: 0, poison: 0, oversize: 0 };
    for (const post of waiting) {
      const copies = this.#entriesOf(post, routed);
      if (copies === undefined) break;
      if (entries.length > 0 && entries.length + copies.entries.length > this.#ports.batchSize) break;
      for (const copy of copies.entries) entries.push(copy);
      remarks.push(...copies.remarks);
      routed.posts++;
      if (entries.length >= this.#ports.batchSize) break;
    }
    if (routed.posts === 0) return undefined;
    return { posts: waiting.slice(0, routed.posts), entries, remarks, routed: { ...routed, copies: entries.length } };
  }

  /** Copies of posts that somebody joined after, for that one member. Same rule, same bytes, same ids. */
  entriesFor(post: StoredPost, only: string): EntryToStore[] {
    const { entries, remarks } = this.#entriesOf(post, { posts: 0, copies: 0, poison: 0, oversize: 0 }) ?? NOTHING;
    for (const remark of remarks) if (remark.key === only) remark.say();
    return entries.filter((entry) => entry.key === only);
  }

  /** Undefined: the post names somebody, and it is not known yet who that is. */
  #entriesOf(post: StoredPost, routed: Routed): Copies | undefined {
    const { space, index, journal, tally } = this.#ports;
    const read = readPost(space, post.subject, post.data);
    if (read.kind === 'poison') {
      routed.poison++;
      const say = () => {
        if (tally.get('posts.poison', read.why) === 0) journal.tell('post.poison', { why: read.why, seq: post.seq });
        tally.add('posts.poison', read.why);
      };
      return { entries: [], remarks: [{ say }] };
    }
    const { principal: sender, channel, message } = read;
    const route = index.route(message, sender, post.seq);
    if (route.isByName && post.seq > this.#namedTo) return undefined;
    const remarks: Remark[] = route.misses.map(({ why }) => ({ say: () => tally.add('mentions.missed', why) }));
    const size = carriedSize(post.data, channel);
    const limit = this.#ports.maxPayload();
    if (route.targets.length > 0 && size > limit) {
      routed.oversize++;
      const say = () => {
        tally.add('posts.oversize');
        journal.tell('post.oversize', { seq: post.seq, channel, bytes: size, limit });
      };
      return { entries: [], remarks: [...remarks, { say }] };
    }
    const bodies = new Map<string, { entry: Entry; data: Uint8Array }>();
    const entries: EntryToStore[] = [];
    for (const target of route.targets) {
      if (this.#ports.owed.of(target.key) < this.#ports.quota) {
        entries.push(toEntry(post, sender, channel, message.id, target, bodies));
        continue;
      }
      const say = () => {
        tally.add('copies.over-quota');
        this.#ports.shortfalls.note({ channel, member: target.member, seq: post.seq });
      };
      remarks.push({ key: target.key, say });
    }
    return { entries, remarks };
  }

  /** Stores the round in atomic batches; a post with more copies than one batch takes has several. */
  async storeRound() {
    const storing = this.#ports.copier.storeAll(this.#round.entries);
    // While the broker stores this round the next one is routed. Posts of it are at or below the position already, so a
    // join that comes in between catches them up, and a leave that does is judged by the reader.
    this.#next = this.#compose(this.#round.posts.length);
    return storing;
  }

  /** Stores the round copy by copy: what exists is settled, what the broker will not take is named and dropped. */
  async storeEach() {
    return this.#ports.copier.storeEach(this.#round.entries);
  }

  /** Acknowledges the round's posts, and answers who got something and has room for it. */
  async settle(): Promise<{ type: 'posts.settled'; posts: number; members: string[] }> {
    const { posts, entries, remarks } = this.#round;
    for (const remark of remarks) remark.say();
    this.#ports.posts.settle({ posts: this.#early.settle(posts) });
    this.#buffer = this.#buffer.slice(posts.length);
    this.#round = NOTHING;
    this.#ports.tally.add('posts.settled', '', posts.length);
    for (const waiter of this.#passed.splice(0)) {
      if (this.isSettledTo(waiter.seq)) waiter.pass();
      else this.#passed.push(waiter);
    }
    await this.#ports.shortfalls.flush();
    await this.#lookNowAndThen();
    const members = [...new Set(entries.map((entry) => entry.key))].filter((key) => !this.#ports.isFull(key));
    return { type: 'posts.settled', posts: posts.length, members };
  }

  async #lookNowAndThen(): Promise<void> {
    if (this.#ports.clock.now().monotonicMs - this.#lookedAt >= LOOK_EVERY_MS) await this.look();
  }

  /** Posts that went astray are taken up; the place is kept outside the durable too, in case somebody deletes that. */
  async look(): Promise<{ kind: 'looked' } | Silent> {
    const { posts, clock } = this.#ports;
    this.#lookedAt = clock.now().monotonicMs;
    await this.#ports.shortfalls.flush();
    const place = await posts.place();
    if (place.kind === 'silent') return place;
    const read = await this.#early.look(posts, place, this.#buffer);
    const joined = this.#early.join(this.#buffer, read);
    const strays = joined.length - this.#buffer.length;
    if (strays > 0) {
      this.#buffer = joined;
      this.#next = undefined;
      this.#ports.tally.add('posts.strayed', '', strays);
      this.#waiting?.(strays);
    }
    await this.#keep(place.floor);
    return { kind: 'looked' };
  }

  #keep(floor: number) {
    return this.#ports.rows.writeFloor({
      floor,
      ...(this.#discarded === undefined ? {} : { discarded: this.#discarded }),
    });
  }

  /** Retention took these before they were copied. Kept beside the floor: it is true of the space, not of one daemon. */
  async discarded({ from, to }: { from: number; to: number }): Promise<void> {
    const now = this.#ports.clock.now().wallMs;
    const before = this.#discarded;
    this.#discarded = {
      since: before?.since ?? now,
      last: now,
      count: (before?.count ?? 0) + to - from + 1,
      firstSeq: before?.firstSeq ?? from,
      lastSeq: to,
    };
    await this.look();
  }

  /** True when every post up to here that was delivered to this daemon is settled, and none before it is still to come. */
  isSettledTo(seq: number): boolean {
    return this.#position >= seq && this.#buffer.every((post) => post.seq > seq);
  }

  /** Resolves when the writer has settled everything up to here. */
  settledTo(seq: number): Promise<void> {
    if (this.isSettledTo(seq)) return Promise.resolve();
    return new Promise((pass) => this.#passed.push({ seq, pass }));
  }
}

function toEntry(
  post: StoredPost,
  sender: string,
  channel: string,
  id: string,
  { member, key, generation, reason }: Target,
  bodies: Map<string, { entry: Entry; data: Uint8Array }>,
): EntryToStore {
  const form = `${generation}/${reason}`;
  let body = bodies.get(form);
  if (body === undefined) {
    const entry = { channel, seq: post.seq, reason, generation };
    body = { entry, data: encodeEntry(post.data, entry) };
    bodies.set(form, body);
  }
  const identity = entryIdentity({ sender, channel, id, member, generation });
  const hashed = identity === undefined ? undefined : createHash('sha256').update(identity).digest('base64url');
  return { member, key, channel, id: hashed, post: post.data, ...body };
}
