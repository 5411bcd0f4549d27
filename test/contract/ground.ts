/**
 * What a contract stands on: ports over some broker, and the world beside the daemon. The suites of this folder run over
 * every ground there is: memory (`memory.test.ts`) and a real nats-server (`test/integration/contract.test.ts`).
 */
import { encodeEntry } from '../../src/domain/entry.ts';
import { type Member, memberKey } from '../../src/domain/names.ts';
import type { RailName } from '../../src/domain/subjects.ts';
import type { Gate } from '../../src/services/fence.ts';
import type { MemoryJournal } from '../../src/services/memory/journal.ts';
import type {
  Copies,
  Entries,
  EntryToStore,
  LeaseRows,
  Posts,
  Rails,
  Rows,
  RowWatch,
} from '../../src/services/ports.ts';
import type { Tally } from '../../src/services/tally.ts';

export interface Ports {
  readonly posts: Posts;
  readonly entries: Entries;
  readonly copies: Copies;
  readonly rows: Rows;
  readonly rowWatch: RowWatch;
  readonly rails: Rails;
  readonly leaseRows: LeaseRows;
  maxPayload(): number;
}

/** Why a port cannot do what it is asked. */
export type Trouble =
  /** Nobody answers. */
  | 'silent'
  /** The period's gate is closed. */
  | 'gated'
  /** The credential has no right to anything. */
  | 'denied'
  /** The store is not there. */
  | 'missing';

/** What a call comes to that did not do what it was asked. */
export type Told = 'silent' | 'denied' | 'refused';

export interface Taken {
  readonly seq: number;
  readonly data: Uint8Array;
}

export interface Ground {
  readonly space: string;
  readonly journal: MemoryJournal;
  readonly tally: Tally;
  /** Lease rows live this long. */
  readonly leaseTtlMs: number;
  /** Posts kept for each subject of CHAT. */
  readonly history: number;
  ports(of?: { gate?: Gate }): Promise<Ports>;
  /** `told`: what the call is to come to; silence is not waited for as long as an answer is. */
  troubled(trouble: Trouble, told?: Told): Promise<Ports>;
  /** A new lifecycle with its ACL row and its durable. */
  member(of?: { allow?: string[] }): Promise<Member>;
  post(of: { from: string; channel: string; data: Uint8Array }): Promise<number>;
  /** Anything, put onto a subject of a store by whoever can. Answers its sequence. */
  steer(of: { subject: string; data: Uint8Array; headers?: Record<string, string> }): Promise<number>;
  /** A row as its owner writes it; undefined puts a delete marker. Answers its revision. */
  putRow(of: {
    bucket: 'channels' | 'members' | 'acl' | 'lanes' | 'delivery';
    key: string;
    row: unknown;
  }): Promise<number>;
  take(member: Member, limit: number): Promise<Taken[]>;
  confirm(member: Member, seq: number): Promise<void>;
  terminate(member: Member, seq: number): Promise<void>;
  /** What was taken stays in the store, and its durable never delivers it again. */
  passOver(member: Member, seqs: readonly number[]): Promise<void>;
  /** What came back; undefined: nobody listens, or nobody answered. */
  request(of: { rail: RailName; principal: string; body: Uint8Array; reply?: string }): Promise<unknown>;
  deleteFanout(): Promise<void>;
  /** The broker goes and comes back with its store. */
  restart(): Promise<void>;
  /** Time goes by. */
  elapse(ms: number): Promise<void>;
}

export const text = (value: string): Uint8Array => new TextEncoder().encode(value);
export const json = (value: unknown): Uint8Array => text(JSON.stringify(value));

let count = 0;
/** A channel that no other test uses. */
export const freshChannel = (): string => `c${++count}`;

export const message = (space: string, of: { from: string; channel: string; id?: string; body?: string }) => ({
  id: of.id ?? `m${++count}`,
  ts: 1,
  space,
  from: { id: of.from, name: of.from },
  channel: of.channel,
  parts: [{ kind: 'text', text: of.body ?? 'x' }],
});

/** An entry to be stored. `id` null: nothing suppresses its repeat. */
export function entryOf(
  space: string,
  member: Member,
  of: { channel: string; seq: number; id?: string | null; generation?: number; body?: string },
): EntryToStore {
  const { channel, seq, generation = 1 } = of;
  const id = of.id === null ? undefined : (of.id ?? `e${++count}`);
  const post = json(
    message(space, { from: 'local.sender', channel, ...(of.body === undefined ? {} : { body: of.body }) }),
  );
  const entry = { channel, seq, reason: 'durable-channel' as const, generation };
  return { member, key: memberKey(member), channel, id, entry, post, data: encodeEntry(post, entry) };
}
