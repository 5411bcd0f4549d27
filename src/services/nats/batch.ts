/**
 * Publishing to streams: an atomic batch, and many messages singly but without waiting in between. Batches are made by
 * hand, because the client's own drops message ids and expectations and hides what the broker says.
 *
 * A batch is stored whole or not at all. One duplicate id refuses the whole of it and stores nothing of it.
 */
import { type MsgHdrs, type NatsConnection, nuid } from '@nats-io/nats-core';
import { z } from 'zod';
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import { readJson } from '../../domain/message.ts';
import { takeDenial, watchDenials } from './denials.ts';
import { CONFLICT_CODES, DUPLICATE_IN_BATCH, ID_IN_PROCESS, parseDriverError } from './driver-errors.ts';

/** Messages that the broker takes in one batch. */
export const BATCH_MAX = 1000;
/** The broker's number for a batch with a hole in it: one of its messages was refused by itself. */
const INCOMPLETE = 10176;
/** The broker's number for a message above a size limit. */
const TOO_LARGE = 10054;
/** Messages that are under way at a time when they are published singly. */
const PIPELINE = 256;

export interface Outgoing {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  /** Suppresses a second one with the same id inside the stream's window; absent for a post without an id. */
  readonly msgId?: string;
  /** Compare-and-set: stored only if this is the subject's last sequence (0: it has none). */
  readonly expectLastSubjectSeq?: number;
  /** Stored only right behind this sequence of the stream; in a batch, for the first message of it. */
  readonly expectLastSeq?: number;
  /** Life in milliseconds, at least 1000, on a stream that allows it. */
  readonly ttlMs?: number;
}

/** What became of it where it was not stored. `unanswered` may have been stored. */
export type NotStored =
  /** Another write came first (10071, 10164). */
  | { kind: 'conflict' }
  | { kind: 'refused'; code: number; message: string }
  | { kind: 'unanswered'; why: 'timeout' | 'no-responders' | 'disconnected' | 'in-process' }
  | { kind: 'denied'; subject: string; operation: 'publish' | 'subscription' };
export type BatchOutcome =
  /** All of them; the first has sequence `lastSeq - count + 1`. */
  | { kind: 'stored'; lastSeq: number; count: number }
  /** One id at least was there already; nothing was stored. */
  | { kind: 'duplicate' }
  | NotStored;
export type EachOutcome = { kind: 'stored'; seq: number } | { kind: 'duplicate'; seq: number } | NotStored;

/**
 * Publishes 1 to 1000 messages as one atomic batch to one stream.
 * @throws Plane3Error `batch.size` for another number of messages, before anything is sent.
 */
export async function publishBatch(asked: {
  connection: NatsConnection;
  messages: readonly Outgoing[];
  timeoutMs: number;
}): Promise<BatchOutcome> {
  const { connection, messages, timeoutMs } = asked;
  const last = messages.at(-1);
  if (last === undefined || messages.length > BATCH_MAX) {
    throw new Plane3Error('batch.size', { count: messages.length, most: BATCH_MAX });
  }
  // The broker opens a store for a batch, and takes some milliseconds for that: one message is whole by itself.
  if (messages.length === 1) return batchOfOne(await publishOne({ connection, message: last, timeoutMs }));
  const id = nuid.next();
  const ready = messages.map((message, i) => {
    const head = headersOf(message);
    head.set('Nats-Batch-Id', id);
    head.set('Nats-Batch-Sequence', String(i + 1));
    return { ...message, head };
  });
  ready.at(-1)?.head.set('Nats-Batch-Commit', '1');
  const tooLarge = ready.map((message) => sizeRefusal(connection, message)).find((refusal) => refusal !== undefined);
  if (tooLarge !== undefined) return tooLarge;

  watchDenials(connection);
  const ask = (message: Outgoing & { head: EncodedHeaders }) =>
    connection.request(message.subject, message.data, { headers: asHeaders(message.head), timeout: timeoutMs });
  try {
    // The broker answers the first one too: there it says why it does not open a batch.
    const opened = ready[0] === undefined ? undefined : outcomeOf(ask(ready[0]));
    for (const message of ready.slice(1, -1)) {
      connection.publish(message.subject, message.data, { headers: asHeaders(message.head) });
    }
    const commit = ready.at(-1);
    const committing = commit === undefined ? undefined : outcomeOf(ask(commit));
    // A connection that closes fails both; whoever is not looked at is nobody's error.
    opened?.catch(() => {});
    const committed = await committing;
    if (committed === undefined) throw new Error('a batch has a last message');
    if (committed.kind === 'refused' && committed.code === INCOMPLETE) {
      const first = await opened;
      if (first !== undefined && first.kind !== 'opened') return first;
      await connection.flush();
      const denied = takeDenial(connection, new Set(messages.map(({ subject }) => subject)));
      if (denied !== undefined) return { kind: 'denied', subject: denied, operation: 'publish' };
    }
    return committed.kind === 'opened' ? { kind: 'unanswered', why: 'timeout' } : committed;
  } catch (error) {
    return failureOf(error);
  }
}

const batchOfOne = (outcome: EachOutcome): BatchOutcome => {
  if (outcome.kind === 'duplicate') return { kind: 'duplicate' };
  return outcome.kind === 'stored' ? { kind: 'stored', lastSeq: outcome.seq, count: 1 } : outcome;
};

/** Publishes messages singly, many under way at a time; the outcomes have the order of the messages. */
export async function publishEach(asked: {
  connection: NatsConnection;
  messages: readonly Outgoing[];
  timeoutMs: number;
}): Promise<EachOutcome[]> {
  const { connection, messages, timeoutMs } = asked;
  const outcomes: EachOutcome[] = [];
  for (let from = 0; from < messages.length; from += PIPELINE) {
    outcomes.push(
      ...(await Promise.all(
        messages.slice(from, from + PIPELINE).map((message) => publishOne({ connection, message, timeoutMs })),
      )),
    );
  }
  return outcomes;
}

/** Publishes one message and waits for the broker's word. */
export async function publishOne(asked: {
  connection: NatsConnection;
  message: Outgoing;
  timeoutMs: number;
}): Promise<EachOutcome> {
  const { connection, message, timeoutMs } = asked;
  const head = headersOf(message);
  const tooLarge = sizeRefusal(connection, { ...message, head });
  if (tooLarge !== undefined) return tooLarge;
  try {
    const reply = await connection.request(message.subject, message.data, {
      headers: asHeaders(head),
      timeout: timeoutMs,
    });
    const ack = readAck(reply.data);
    if (ack === undefined) return { kind: 'refused', code: 0, message: 'the reply is no acknowledgement of a stream' };
    if ('error' in ack) return refusalOf(ack.error);
    return { kind: ack.duplicate === true ? 'duplicate' : 'stored', seq: ack.seq };
  } catch (error) {
    return failureOf(error);
  }
}

const errorSchema = z.object({ err_code: z.number(), description: z.string() });
const ackSchema = z.union([
  z.object({ error: errorSchema }),
  z.object({
    stream: z.string().min(1),
    seq: z.number(),
    duplicate: z.boolean().optional(),
    count: z.number().optional(),
  }),
]);

function readAck(data: Uint8Array): z.infer<typeof ackSchema> | undefined {
  const ack = ackSchema.safeParse(readJson(data));
  return ack.success ? ack.data : undefined;
}

/** The outcome that a reply in a batch tells; an empty one only says that the batch is open. */
async function outcomeOf(reply: Promise<{ data: Uint8Array }>): Promise<BatchOutcome | { kind: 'opened' }> {
  try {
    const { data } = await reply;
    if (data.length === 0) return { kind: 'opened' };
    const ack = readAck(data);
    if (ack === undefined) return { kind: 'refused', code: 0, message: 'the reply is no acknowledgement of a stream' };
    if ('error' in ack) return ack.error.err_code === DUPLICATE_IN_BATCH ? { kind: 'duplicate' } : refusalOf(ack.error);
    return { kind: 'stored', lastSeq: ack.seq, count: ack.count ?? 1 };
  } catch (error) {
    return failureOf(error);
  }
}

function refusalOf({ err_code: code, description: message }: z.infer<typeof errorSchema>): NotStored {
  if (CONFLICT_CODES.includes(code)) return { kind: 'conflict' };
  // An earlier one with this id is on its way through the cluster: nobody knows yet whether it will be stored.
  if (code === ID_IN_PROCESS) return { kind: 'unanswered', why: 'in-process' };
  return { kind: 'refused', code, message };
}

/** What an error of the client means for a publish. Surprises are thrown on. */
function failureOf(error: unknown): NotStored {
  const failure = parseDriverError(error);
  switch (failure.kind) {
    case 'denied':
      return failure;
    case 'refused':
      return CONFLICT_CODES.includes(failure.code) ? { kind: 'conflict' } : failure;
    case 'timeout':
    case 'no-responders':
    case 'disconnected':
      return { kind: 'unanswered', why: failure.kind };
    case 'expired':
    case 'unauthorized':
      return { kind: 'unanswered', why: 'disconnected' };
    case 'unexpected':
      throw error;
  }
}

/**
 * The headers of one message, encoded once. The client's own class checks and lower-cases every name of every message,
 * which costs more than the message; ours are known to be well-formed. The client asks for nothing but the bytes.
 */
class EncodedHeaders {
  #lines = 'NATS/1.0\r\n';

  set(name: string, value: string): void {
    this.#lines += `${name}: ${value}\r\n`;
  }

  encode(): Uint8Array {
    return Buffer.from(`${this.#lines}\r\n`);
  }

  get size(): number {
    return Buffer.byteLength(this.#lines) + 2;
  }
}

/** As what the client takes headers for. */
const asHeaders = (head: EncodedHeaders): MsgHdrs => head as unknown as MsgHdrs;

/** A line break in a value would end the header and start another: such a message is our own mistake. */
const LINE_BREAK = /[\r\n]/;

function headersOf(message: Outgoing): EncodedHeaders {
  const head = new EncodedHeaders();
  for (const [name, value] of Object.entries(message.headers ?? {})) {
    if (LINE_BREAK.test(value)) throw new Error(`header ${name} has a line break`);
    head.set(name, value);
  }
  if (message.msgId !== undefined) {
    if (LINE_BREAK.test(message.msgId)) throw new Error('a message id has a line break');
    head.set('Nats-Msg-Id', message.msgId);
  }
  if (message.expectLastSubjectSeq !== undefined) {
    head.set('Nats-Expected-Last-Subject-Sequence', String(message.expectLastSubjectSeq));
  }
  if (message.expectLastSeq !== undefined) {
    head.set('Nats-Expected-Last-Sequence', String(message.expectLastSeq));
  }
  if (message.ttlMs !== undefined) head.set('Nats-TTL', `${message.ttlMs}ms`);
  return head;
}

/** Headers and body together must fit the payload limit; asked before anything is sent, so that no batch stays open. */
function sizeRefusal(connection: NatsConnection, message: Outgoing & { head: EncodedHeaders }): NotStored | undefined {
  const limit = connection.info?.max_payload ?? Number.POSITIVE_INFINITY;
  const bytes = message.data.length + message.head.size;
  return bytes <= limit
    ? undefined
    : {
        kind: 'refused',
        code: TOO_LARGE,
        message: `message on ${message.subject} is ${bytes} bytes, more than the limit of ${limit}`,
      };
}
