/**
 * Rows of a bucket: read one, write one by compare-and-set. Plain requests on the bucket's stream, so that a credential
 * needs no right beyond the row; no consumer, no stream info.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import { z } from 'zod';
import { readJson } from '../../domain/message.ts';
import { isMarker } from '../../domain/rows.ts';
import { bucketStream, keySubject } from '../../domain/subjects.ts';
import { type NotStored, publishOne } from './batch.ts';
import { type DriverFailure, MESSAGE_NOT_FOUND, parseDriverError } from './driver-errors.ts';
import { isLeaderless } from './leaderless.ts';
import { headersIn } from './stored-headers.ts';

export interface RowAddress {
  readonly connection: NatsConnection;
  readonly bucket: string;
  readonly key: string;
  readonly timeoutMs?: number;
}

export type RowRead =
  | { kind: 'found'; data: Uint8Array; revision: number }
  /** No row. `revision` is the delete marker's, or 0: what a create must expect. */
  | { kind: 'absent'; revision: number; deleted: boolean }
  | { kind: 'failed'; failure: DriverFailure };
export type RowWrite = { kind: 'stored'; revision: number } | NotStored;

const TIMEOUT_MS = 5_000;
const NOT_FOUND_STATUS = 404;
/** In a millisecond. */
const NANOSECONDS = 1_000_000;

/** Reads a row of a bucket that allows direct get. */
export async function readRow({ connection, bucket, key, timeoutMs = TIMEOUT_MS }: RowAddress): Promise<RowRead> {
  const subject = `$JS.API.DIRECT.GET.${bucketStream(bucket)}.${keySubject(bucket, key)}`;
  try {
    const reply = await connection.request(subject, undefined, { timeout: timeoutMs });
    const status = reply.headers?.code ?? 0;
    if (status === NOT_FOUND_STATUS) return { kind: 'absent', revision: 0, deleted: false };
    if (status !== 0) {
      return { kind: 'failed', failure: { kind: 'refused', code: status, message: reply.headers?.description ?? '' } };
    }
    const header = (name: string) => reply.headers?.get(name) ?? '';
    return rowOf(reply.data, Number(header('Nats-Sequence')), header);
  } catch (error) {
    return { kind: 'failed', failure: parseDriverError(error) };
  }
}

const storedSchema = z.union([
  z.object({ error: z.object({ err_code: z.number(), description: z.string() }) }),
  z.object({ message: z.object({ seq: z.number(), data: z.base64().optional(), hdrs: z.base64().optional() }) }),
]);

/** Reads a row of a bucket without direct get (the auth bucket): by the stream's leader. */
export async function readGuardedRow(address: RowAddress): Promise<RowRead> {
  const { connection, bucket, key, timeoutMs = TIMEOUT_MS } = address;
  const query = JSON.stringify({ last_by_subj: keySubject(bucket, key) });
  try {
    const reply = await connection.request(`$JS.API.STREAM.MSG.GET.${bucketStream(bucket)}`, query, {
      timeout: timeoutMs,
    });
    const answer = storedSchema.safeParse(readJson(reply.data));
    if (!answer.success) return { kind: 'failed', failure: { kind: 'unexpected', message: 'unreadable reply' } };
    if ('error' in answer.data) {
      const { err_code: code, description: message } = answer.data.error;
      if (code === MESSAGE_NOT_FOUND) return { kind: 'absent', revision: 0, deleted: false };
      return { kind: 'failed', failure: { kind: 'refused', code, message } };
    }
    const { seq, data = '', hdrs = '' } = answer.data.message;
    return rowOf(new Uint8Array(Buffer.from(data, 'base64')), seq, headersIn(hdrs));
  } catch (error) {
    return { kind: 'failed', failure: parseDriverError(error) };
  }
}

/** A stored message as a row: a delete, purge or expiry marker is no row. */
function rowOf(data: Uint8Array, revision: number, header: (name: string) => string): RowRead {
  return isMarker(header) ? { kind: 'absent', revision, deleted: true } : { kind: 'found', data, revision };
}

/**
 * Writes a row as JSON.
 * @param expect Revision that the row must have (0: there must be none and no marker); without it the write is blind.
 */
export const writeRow = (asked: RowAddress & { value: object; expect?: number }): Promise<RowWrite> =>
  store(asked, new TextEncoder().encode(JSON.stringify(asked.value)), {}, asked.expect);

/** Puts a delete marker where the row was. */
export const deleteRow = (asked: RowAddress & { expect?: number }): Promise<RowWrite> =>
  store(asked, new Uint8Array(), { 'KV-Operation': 'DEL' }, asked.expect);

async function store(
  { connection, bucket, key, timeoutMs = TIMEOUT_MS }: RowAddress,
  data: Uint8Array,
  headers: Record<string, string>,
  expect: number | undefined,
): Promise<RowWrite> {
  const message = {
    subject: keySubject(bucket, key),
    data,
    headers,
    ...(expect === undefined ? {} : { expectLastSubjectSeq: expect }),
  };
  const outcome = await publishOne({ connection, message, timeoutMs });
  if (outcome.kind === 'duplicate') return { kind: 'stored', revision: outcome.seq };
  return outcome.kind === 'stored' ? { kind: 'stored', revision: outcome.seq } : outcome;
}

const subjectsSchema = z.object({
  total: z.number().optional(),
  state: z.object({ subjects: z.record(z.string(), z.number()).optional() }),
});

type Subjects = { kind: 'listed'; subjects: Map<string, number> } | { kind: 'failed'; failure: DriverFailure };

/** Subjects of a stream that fit a filter, with how many messages each has: from the stream's own list, without a consumer. */
export async function listSubjects(of: {
  connection: NatsConnection;
  stream: string;
  filter: string;
  timeoutMs?: number;
}): Promise<Subjects> {
  const { connection, stream, filter, timeoutMs = TIMEOUT_MS } = of;
  const subjects = new Map<string, number>();
  try {
    for (;;) {
      const query = JSON.stringify({ subjects_filter: filter, offset: subjects.size });
      const reply = await connection.request(`$JS.API.STREAM.INFO.${stream}`, query, { timeout: timeoutMs });
      const json = readJson(reply.data);
      if (isLeaderless(json)) return { kind: 'failed', failure: { kind: 'no-responders', subject: stream } };
      const page = subjectsSchema.safeParse(json);
      if (!page.success) return { kind: 'failed', failure: { kind: 'unexpected', message: reply.string() } };
      const found = Object.entries(page.data.state.subjects ?? {});
      for (const [subject, count] of found) subjects.set(subject, count);
      if (found.length === 0 || subjects.size >= (page.data.total ?? 0)) return { kind: 'listed', subjects };
    }
  } catch (error) {
    return { kind: 'failed', failure: parseDriverError(error) };
  }
}

const ageSchema = z.object({ config: z.object({ max_age: z.number().optional() }) });

/** How long a stream keeps a message, milliseconds; 0: for ever; undefined where the broker does not tell. */
export async function readMaxAge(of: {
  connection: NatsConnection;
  stream: string;
  timeoutMs: number;
}): Promise<number | undefined> {
  try {
    const reply = await of.connection.request(`$JS.API.STREAM.INFO.${of.stream}`, '', { timeout: of.timeoutMs });
    const info = ageSchema.safeParse(readJson(reply.data));
    return info.success ? (info.data.config.max_age ?? 0) / NANOSECONDS : undefined;
  } catch {
    return undefined;
  }
}

/** Keys of a bucket that fit a filter (a key with wildcards), deleted ones that still have a marker included. */
export async function listKeys(
  asked: Omit<RowAddress, 'key'> & { filter: string },
): Promise<{ kind: 'listed'; keys: string[] } | { kind: 'failed'; failure: DriverFailure }> {
  const { bucket, filter, ...more } = asked;
  const head = keySubject(bucket, '');
  const listed = await listSubjects({ ...more, stream: bucketStream(bucket), filter: keySubject(bucket, filter) });
  if (listed.kind === 'failed') return listed;
  return { kind: 'listed', keys: [...listed.subjects.keys()].map((subject) => subject.slice(head.length)) };
}
