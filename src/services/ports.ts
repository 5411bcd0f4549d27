/**
 * Ports: what the machines and rules need from the world. Nouns, with verbs that take one object and answer with a
 * tagged outcome for everything that is expected; they reject for surprises only and never retry on their own.
 *
 * `silent` is the common outcome of everything that asks the broker: no answer in time, no connection, or the local fence
 * does not hold, so that nothing was sent. After it nothing is known, and nothing is concluded.
 *
 * Longer than 300 lines: one page on which everything is that an adapter or a twin must do.
 */
import type { Entry } from '../domain/entry.ts';
import type { Instant } from '../domain/lease.ts';
import type { LogFacts, LogName } from '../domain/log-events/catalogue.ts';
import type { Member } from '../domain/names.ts';
import type { RailReply } from '../domain/rail.ts';
import type { AclState, ChannelRow, FloorRow, LaneMark, LeaseRow, MemberRow } from '../domain/rows.ts';
import type { StoreIdentity } from '../domain/store-proof.ts';
import type { RailName } from '../domain/subjects.ts';

/** Both clocks of the process. */
export interface Clock {
  now(): Instant;
}

/** Where events are told: the structured log, and for events with a line the operator. */
export interface Journal {
  tell<N extends LogName>(
    name: N,
    ...facts: Record<never, never> extends LogFacts<N> ? [facts?: LogFacts<N>] : [facts: LogFacts<N>]
  ): void;
}

export type Silent = { kind: 'silent'; why: string };
export type Denied = { kind: 'denied'; subject: string; operation: string };
/** Compare-and-set met another revision, or a create met a row. */
export type Conflict = { kind: 'conflict' };
export type Stored = { kind: 'stored'; revision: number };
export type Refused = { kind: 'refused'; code: string; message: string };

/** The lease row of the space. */
export interface LeaseRows {
  /** `ageMs`: since the row was last written, by the broker's clock. */
  read(): Promise<
    | { kind: 'row'; row: LeaseRow; revision: number; ageMs: number }
    | { kind: 'unreadable'; revision: number; ageMs: number }
    | { kind: 'absent' }
    | Denied
    | Silent
  >;
  /** `revision` 0: only where there is no row. */
  write(put: { row: LeaseRow; revision: number }): Promise<Stored | Conflict | Denied | Silent>;
  remove(at: { revision: number }): Promise<{ kind: 'removed' } | Conflict | Denied | Silent>;
  /** Tells every write and every end of the row from now on. */
  watch(listener: {
    bound(): void;
    row(seen: { row: LeaseRow | undefined; revision: number }): void;
    gone(seen: { revision: number }): void;
    lost(why: string): void;
  }): Stoppable;
}

export interface Stoppable {
  stop(): Promise<void>;
}

/** A post as CHAT holds it. */
export interface StoredPost {
  readonly seq: number;
  readonly subject: string;
  readonly data: Uint8Array;
}

/** A post delivered to the writer; settled once every copy of it is stored. */
export interface DeliveredPost extends StoredPost {
  /** What the broker knows this delivery by; it outlives the pull and the connection that it came on. */
  readonly receipt: string;
}

export interface Place {
  /** Highest sequence that was delivered. */
  readonly position: number;
  /** Everything up to here is settled … */
  readonly floor: number;
  /** … and of what was delivered above it, so many are not. */
  readonly unsettled: number;
}
export interface OpenedPosts extends Place {
  readonly kind: 'opened';
  readonly made: boolean;
}

/** The posts of the space, and the writer's place in them. */
export interface Posts {
  /** Highest sequence that CHAT has given out. */
  frontier(): Promise<{ kind: 'frontier'; seq: number } | Silent>;
  /** The writer's place, as the durable itself knows it. */
  place(): Promise<({ kind: 'place' } & Place) | Silent>;
  /** Finds the writer's durable; one that is missing is made again, from `floor`, and that is said. */
  open(from: { floor: number }): Promise<OpenedPosts | Refused | Denied | Silent>;
  /** Every post with after < seq ≤ upTo, ascending, with a receipt that settles it whoever it was delivered to. */
  between(of: { after: number; upTo: number }): Promise<{ kind: 'read'; posts: DeliveredPost[] } | Silent>;
  /** Pulls posts until stopped; `lost` when the pull ended or its consumer is gone. */
  pull(listener: { post(post: DeliveredPost): void; lost(why: string): void }): Stoppable;
  /** Acknowledges posts, without waiting for anything: one whose acknowledgement is lost is delivered again. */
  settle(of: { posts: readonly DeliveredPost[] }): void;
  /**
   * The posts of one channel with after < seq ≤ upTo, ascending, a page at a time. `first` is the smallest sequence that
   * retention may have left gaps below: 0 where nothing of the channel is at its limit.
   */
  range(
    of: { channel: string; after: number; upTo: number },
    take: (page: StoredPost[]) => Promise<boolean>,
  ): Promise<{ kind: 'read'; first: number } | Silent>;
  /** The last posts of a channel, oldest first. */
  last(of: {
    channel: string;
    limit: number;
  }): Promise<{ kind: 'read'; posts: StoredPost[]; complete: boolean } | Silent>;
  /** Subjects that stand at their limit, which is where posts may have been lost. */
  fullSubjects(): Promise<{ kind: 'read'; subjects: string[] } | Silent>;
}

/** A message to be stored for a member, as bytes, with the id that suppresses its repeat. */
export interface EntryToStore {
  readonly member: Member;
  /** `owner.actor.uid` of the member. */
  readonly key: string;
  readonly channel: string;
  readonly data: Uint8Array;
  /** Undefined: nothing suppresses it. */
  readonly id: string | undefined;
  /** What `data` says, for a lane that takes it on without reading it back. */
  readonly entry: Entry;
  readonly post: Uint8Array;
}

export type StoreOutcome =
  /** `lastSeq`: sequence of the last; the others lie right below it, in order. */
  { kind: 'stored'; lastSeq: number } | { kind: 'duplicate' } | Refused | Denied | Silent;

/** An entry as it lies in INBOX. `storedAt`: milliseconds, by the broker's clock; by ours, where it was not read back. */
export interface HeldEntry {
  readonly seq: number;
  readonly storedAt: number;
  /** Undefined: what lies there is none of ours. */
  readonly entry: Entry | undefined;
  readonly why?: string;
  /** The post's JSON as it came, byte by byte; empty where it is none of ours. */
  readonly post: Uint8Array;
}

/** How many messages a store has for each member, by `owner.actor.uid`. */
export interface Counts {
  readonly kind: 'read';
  readonly counts: ReadonlyMap<string, number>;
  /** Subjects that name no member: nothing of ours is there. */
  readonly foreign: readonly string[];
  /** Highest sequence that the store has given out. */
  readonly lastSeq: number;
}

/** What the two stores of members' messages, INBOX and DLV, have in common. */
interface MemberMessages {
  /** Removes by sequence; what is not there any more counts as removed. */
  remove(of: { seqs: readonly number[] }): Promise<{ kind: 'removed' } | Refused | Denied | Silent>;
  /** Removes a member's messages (of one channel) up to a sequence, and answers how many there were. */
  purge(of: {
    member: Member;
    channel?: string;
    upTo: number;
  }): Promise<{ kind: 'removed'; count: number } | Refused | Denied | Silent>;
  counts(of: { member?: Member }): Promise<Counts | Silent>;
  /** Removes what lies under subjects that name no member, up to a sequence. */
  removeForeign(of: {
    subjects: readonly string[];
    upTo: number;
  }): Promise<{ kind: 'removed' } | Refused | Denied | Silent>;
}

/** A page of a store of members' messages, everybody's, ascending; `key`: `owner.actor.uid`. */
export interface PageOfAll<T> {
  readonly kind: 'read';
  /** Without those whose subject names no member. */
  readonly held: { readonly key: string; readonly held: T }[];
  /** Everything up to this sequence was looked at. */
  readonly upTo: number;
  /** The store holds further ones. */
  readonly more: boolean;
}

/** The pending entries (INBOX). */
export interface Entries extends MemberMessages {
  /** All of them or none. */
  storeAll(of: { entries: readonly EntryToStore[] }): Promise<StoreOutcome>;
  /**
   * One by one, pipelined; a duplicate counts as stored. `known` says which were there already, `refused` which the broker
   * will not take, and why.
   */
  storeEach(of: {
    entries: readonly EntryToStore[];
  }): Promise<{ kind: 'stored'; known: number[]; refused: { index: number; code: string }[] } | Denied | Silent>;
  /** A page of one member's entries above a sequence, ascending; `more` when the store holds further ones. */
  page(of: {
    member: Member;
    after: number;
    limit: number;
  }): Promise<{ kind: 'read'; entries: HeldEntry[]; more: boolean } | Silent>;
  /**
   * The member's entries at these sequences (ascending, at least one), up to `readTo`: the last of them, or as far as fits into
   * a page. What was removed is left out. `given-anew`: at one of them lies what is not on the member's subjects; where they lie
   * close together that may look removed, and what is the member's between them is told, too.
   */
  at(of: {
    member: Member;
    seqs: readonly number[];
  }): Promise<{ kind: 'read'; entries: HeldEntry[]; readTo: number } | { kind: 'given-anew' } | Silent>;
  pageOfAll(of: { after: number; limit: number }): Promise<PageOfAll<HeldEntry> | Silent>;
}

/** A copy as it lies in DLV. */
export interface HeldCopy {
  readonly seq: number;
  readonly channel: string;
  readonly generation: number;
  /** CHAT sequence of its post. */
  readonly post: number;
  /** INBOX sequence of its entry; 0 where what lies there is none of ours. */
  readonly entrySeq: number;
}

/** A copy to hand off: the entry's sequence, and the bytes. */
export interface CopyToStore {
  readonly entrySeq: number;
  readonly channel: string;
  readonly data: Uint8Array;
}

/** A member's durable on DLV. */
export interface DurablePlace {
  /** Nothing up to this sequence will be delivered any more, and none of it is awaited. */
  readonly floor: number;
  /** Copies that it has still to deliver. */
  readonly pending: number;
  /** Copies that it has delivered and that are not confirmed. */
  readonly unconfirmed: number;
}

/** The copies that were handed off and not confirmed yet (DLV). */
export interface Copies extends MemberMessages {
  storeAll(of: { member: Member; copies: readonly CopyToStore[] }): Promise<StoreOutcome>;
  /**
   * Nothing of what was sent before, here or by another daemon, and not answered is stored after this. Refused or denied: the
   * broker stores nothing now, and nobody knows of later.
   */
  barrier(): Promise<{ kind: 'stands' } | Refused | Denied | Silent>;
  held(of: { member: Member }): Promise<{ kind: 'read'; copies: HeldCopy[] } | Silent>;
  pageOfAll(of: { after: number; limit: number }): Promise<PageOfAll<HeldCopy> | Silent>;
  /** How far the member's own durable has come; `absent`: it has none. */
  place(of: { member: Member }): Promise<({ kind: 'read' } & DurablePlace) | { kind: 'absent' } | Silent>;
  /** Tells each copy that its member confirmed or terminated, by DLV sequence. */
  hearSettled(listener: {
    bound(): void;
    settled(of: { member: Member; seq: number; how: 'confirmed' | 'terminated' }): void;
    lost(why: string): void;
  }): Stoppable;
}

/** Rows as the reader judges by them: read when asked, never from a cache. */
export interface Rows {
  acl(of: { member: Member }): Promise<{ kind: 'read'; acl: AclState; revision: number } | Silent>;
  /** Lifecycles of a principal that hold a live grant. */
  lifecycles(of: {
    principal: string;
  }): Promise<{ kind: 'read'; members: { member: Member; acl: AclState }[] } | Silent>;
  membership(of: {
    channel: string;
    member: Member;
  }): Promise<
    | { kind: 'row'; row: MemberRow; revision: number }
    | { kind: 'absent'; revision: number }
    | { kind: 'unreadable'; revision: number }
    | Silent
  >;
  /** `revision` 0: only where there is no row. */
  writeMembership(put: {
    channel: string;
    member: Member;
    row: MemberRow;
    revision: number;
  }): Promise<Stored | Conflict | Denied | Silent>;
  /** `storedAt`: when the broker stored it; 0 where there is none. */
  mark(of: { member: Member }): Promise<{ kind: 'read'; mark: LaneMark; storedAt: number } | Silent>;
  writeMark(put: { member: Member; mark: LaneMark }): Promise<{ kind: 'stored' } | Refused | Denied | Silent>;
  removeMark(of: { member: Member }): Promise<{ kind: 'removed' } | Denied | Silent>;
  /** Where the writer's durable would have to start again; undefined: nobody has kept it yet. */
  floor(): Promise<{ kind: 'read'; row: FloorRow | undefined } | Silent>;
  writeFloor(put: FloorRow): Promise<{ kind: 'stored' } | Refused | Denied | Silent>;
}

/** News of the rows that routing goes by. Revisions are the buckets' own, each bucket for itself. */
export interface RowNews {
  channel(key: string, row: ChannelRow | undefined, revision: number): void;
  member(channel: string, member: Member, row: MemberRow | undefined, revision: number): void;
  acl(member: Member, acl: AclState, revision: number): void;
  lost(why: string): void;
}

export interface RowWatch {
  /** Resolves once every row that existed at the call was told; then goes on until stopped. */
  follow(news: RowNews): Promise<{ kind: 'following'; watch: FollowedRows } | Silent>;
}

export interface FollowedRows extends Stoppable {
  /** Resolves once every ACL row that existed at the call was told. Where they are not told in time, the watch is lost. */
  caughtUp(): Promise<{ kind: 'told' } | Silent>;
}

/** One request on a rail. It is answered at most once. */
export interface RailRequest {
  readonly rail: RailName;
  /** The principal that the subject names. */
  readonly principal: string;
  /** The parsed body; undefined where it was not JSON. */
  readonly body: unknown;
  /** Encodes the reply (with the size refusal) and sends it, if the fence holds. */
  reply(op: string, reply: RailReply): void;
}

export interface Rails {
  serve(listener: { bound(): void; request(request: RailRequest): void; lost(why: string): void }): Stoppable;
}

/** Where a daemon's credentials come from: the workstation's files, or a store that its embedder gives it. */
export interface SecretStore {
  /** Which store this is: two that are the same answer alike. */
  identity(): StoreIdentity;
  /** The text of a creds file, or undefined when there is none. Read anew at every call. */
  read(name: 'delivery' | 'observer' | 'evictor'): Promise<string | undefined>;
}

/** A store as whoever renews has it. */
export interface WritableStore extends SecretStore {
  /** Keeps the text of a creds file; once it is done a read gives it. */
  write(name: 'delivery' | 'observer' | 'evictor', text: string): Promise<void>;
}

/** The record of a running process of ours. */
export interface ProcessRecord {
  /** Says that this process has begun, so that it can be found and stopped before it is the one. */
  begin(): void;
  /** Writes that this process is the one, over whatever is there; not if it may not any more, which is asked last of all. */
  write(may?: () => boolean): void;
  /** Gives the record up and goes on being found, as before it was the one, until its very end. Never throws. */
  leave(): void;
  /** Takes both away, the record only if it names this process. */
  remove(): void;
}
