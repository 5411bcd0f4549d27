/**
 * The histories of a torture run: what every party did and saw, one JSON object a line. Times (`at`) are wall-clock
 * milliseconds of one machine; what the broker stored carries the broker's own time. The checker reads nothing else.
 */
import { z } from 'zod';

const agentRecord = { at: z.number(), agent: z.string(), uid: z.string() };
const patterns = z.array(z.string());

/** What the director did. */
const director = [
  z.object({
    kind: z.literal('run'),
    at: z.number(),
    seed: z.number(),
    space: z.string(),
    replicas: z.number(),
    server: z.string(),
    /** Longest that one effect of a daemon may take, milliseconds. */
    effectMs: z.number(),
    leaseTtlMs: z.number(),
    brokerGoneMs: z.number(),
  }),
  /** A lifecycle is there. `post`: where it may post. */
  z.object({ kind: z.literal('added'), ...agentRecord, principal: z.string(), read: patterns, post: patterns }),
  /** The ACL row is about to be written, was written, and its withdrawals were answered for. */
  z.object({ kind: z.literal('granting'), ...agentRecord, read: patterns, turn: z.number() }),
  z.object({ kind: z.literal('granted'), ...agentRecord, read: patterns, turn: z.number() }),
  z.object({ kind: z.literal('reauthorized'), ...agentRecord, turn: z.number(), withdrawn: z.number() }),
  z.object({ kind: z.literal('retiring'), ...agentRecord }),
  z.object({ kind: z.literal('retired'), ...agentRecord }),
  z.object({ kind: z.literal('fault'), at: z.number(), no: z.number(), verb: z.string(), target: z.string() }),
  z.object({ kind: z.literal('fault-over'), at: z.number(), no: z.number() }),
  z.object({ kind: z.literal('daemon'), at: z.number(), daemon: z.string(), incarnation: z.string() }),
  z.object({
    kind: z.literal('daemon-ended'),
    at: z.number(),
    daemon: z.string(),
    incarnation: z.string(),
    code: z.number().nullable(),
    signal: z.string().nullable(),
    said: z.string(),
  }),
  /** No further fault, post, join, leave or grant from here on. */
  z.object({ kind: z.literal('calm'), at: z.number() }),
  /** The end: what was still in the stores, and who still waited for something. */
  z.object({
    kind: z.literal('drained'),
    at: z.number(),
    entries: z.number(),
    copies: z.number(),
    owed: z.array(z.string()),
  }),
] as const;

/** What the broker stored, as the recorder heard it from the broker itself. */
const stored = { at: z.number(), seq: z.number() };
const placed = { member: z.string(), channel: z.string(), post: z.number(), generation: z.number() };
const broker = [
  z.object({
    kind: z.literal('post'),
    ...stored,
    channel: z.string(),
    from: z.string(),
    id: z.string(),
    mentions: z.array(z.string()),
  }),
  z.object({ kind: z.literal('entry'), ...stored, ...placed, writer: z.string() }),
  z.object({ kind: z.literal('copy'), ...stored, ...placed, writer: z.string(), entry: z.number() }),
  z.object({
    kind: z.literal('membership'),
    ...stored,
    member: z.string(),
    channel: z.string(),
    generation: z.number(),
    state: z.string(),
    joinCursor: z.number(),
    leaveCursor: z.number().optional(),
    writer: z.string(),
  }),
  /** A lease row; `incarnation` is empty where it is a marker of one that is gone. */
  z.object({ kind: z.literal('lease'), ...stored, incarnation: z.string(), ready: z.boolean() }),
  /** A tombstone over an ACL row. */
  z.object({ kind: z.literal('tombstone'), ...stored, member: z.string() }),
  /** The recorder was away when these were stored, and could not read them afterwards. */
  z.object({ kind: z.literal('missed'), at: z.number(), stream: z.string(), from: z.number(), to: z.number() }),
] as const;

/** What an agent did and saw. `life`: which of its processes. */
const agents = [
  z.object({ kind: z.literal('life'), ...agentRecord, life: z.number() }),
  z.object({ kind: z.literal('posting'), ...agentRecord, channel: z.string(), id: z.string() }),
  z.object({
    kind: z.literal('posted'),
    ...agentRecord,
    channel: z.string(),
    id: z.string(),
    seq: z.number(),
    duplicate: z.boolean(),
    since: z.number(),
  }),
  z.object({ kind: z.literal('joining'), ...agentRecord, channel: z.string() }),
  /** What the client says is true of a membership; also when it changes by itself. */
  z.object({
    kind: z.literal('standing'),
    ...agentRecord,
    channel: z.string(),
    state: z.string(),
    generation: z.number(),
    joinCursor: z.number(),
    reason: z.string(),
  }),
  z.object({ kind: z.literal('leaving'), ...agentRecord, channel: z.string() }),
  z.object({ kind: z.literal('left'), ...agentRecord, channel: z.string(), dropped: z.number() }),
  /** A post surfaced. `asked`: when the client was asked for it. */
  z.object({
    kind: z.literal('surfaced'),
    ...agentRecord,
    life: z.number(),
    asked: z.number(),
    limit: z.number(),
    channel: z.string(),
    seq: z.number().nullable(),
    from: z.string(),
    id: z.string(),
    source: z.enum(['live', 'backfill', 'durable']),
    redelivered: z.boolean(),
  }),
  z.object({
    kind: z.literal('confirmed'),
    ...agentRecord,
    channel: z.string(),
    seq: z.number().nullable(),
    from: z.string(),
    id: z.string(),
    how: z.enum(['confirmed', 'noted', 'unanswered']),
  }),
  /** Something that was asked for was refused, or nobody answered. `since`: when it was asked. */
  z.object({
    kind: z.literal('refused'),
    ...agentRecord,
    op: z.string(),
    channel: z.string(),
    code: z.string(),
    reason: z.string(),
    since: z.number(),
  }),
] as const;

export const recordSchema = z.discriminatedUnion('kind', [...director, ...broker, ...agents]);
export type HistoryRecord = z.infer<typeof recordSchema>;
export type RecordOf<K extends HistoryRecord['kind']> = Extract<HistoryRecord, { kind: K }>;

/** All records of one kind, in the order of their times. */
export function recordsOf<K extends HistoryRecord['kind']>(history: readonly HistoryRecord[], kind: K): RecordOf<K>[] {
  return history.filter((record): record is RecordOf<K> => record.kind === kind).sort((a, b) => a.at - b.at);
}
