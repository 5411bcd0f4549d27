/**
 * Rows of a space's buckets, as the manager reads and writes them: by compare-and-set, within a signal. Once that is
 * aborted nothing is sent. A write without an answer is settled by reading the row back, once.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import type { z } from 'zod';
import { readJson, shaped } from '../domain/message.ts';
import { buckets } from '../domain/subjects.ts';
import type { DriverFailure } from '../services/nats/driver-errors.ts';
import { deleteRow, listKeys, type RowRead, readGuardedRow, readRow, writeRow } from '../services/nats/rows.ts';

export type Trouble = { type: 'store.unanswered' } | { type: 'store.refused'; reason: string };
export type ReadAs<T> =
  | { type: 'found'; row: T; revision: number }
  /** `revision`: what a create has to expect. */
  | { type: 'absent'; revision: number }
  | { type: 'unreadable'; revision: number }
  | Trouble;
export type Written = { type: 'written'; revision: number } | { type: 'conflict' } | Trouble;

type Bucket = 'auth' | 'acl' | 'members' | 'lanes' | 'manager' | 'delivery';

const UNANSWERED: Trouble = { type: 'store.unanswered' };

export class ManagerRows {
  readonly #space: string;
  readonly #connection: () => NatsConnection;
  readonly #timeoutMs: number;

  constructor(of: { space: string; connection(): NatsConnection; timeoutMs?: number }) {
    this.#space = of.space;
    this.#connection = of.connection;
    this.#timeoutMs = of.timeoutMs ?? 5_000;
  }

  async read<T>(of: { bucket?: Bucket; key: string; schema: z.ZodType<T>; signal?: AbortSignal }): Promise<ReadAs<T>> {
    const { bucket = 'auth', key, schema, signal } = of;
    if (signal?.aborted === true) return UNANSWERED;
    const asked = { ...this.#address(bucket), key };
    const read: RowRead = await (bucket === 'auth' ? readGuardedRow(asked) : readRow(asked));
    if (read.kind === 'failed') return troubleOf(read.failure);
    if (read.kind === 'absent') return { type: 'absent', revision: read.revision };
    const row = shaped(schema, readJson(read.data));
    return row === undefined
      ? { type: 'unreadable', revision: read.revision }
      : { type: 'found', row, revision: read.revision };
  }

  /** `expect`: the revision that the row must have; what an `absent` read said where there is none. */
  async write(of: {
    bucket?: Bucket;
    key: string;
    value: object;
    expect: number;
    signal?: AbortSignal;
  }): Promise<Written> {
    const { bucket = 'auth', key, value, expect, signal } = of;
    if (signal?.aborted === true) return UNANSWERED;
    const outcome = await writeRow({ ...this.#address(bucket), key, value, expect });
    switch (outcome.kind) {
      case 'stored':
        return { type: 'written', revision: outcome.revision };
      case 'conflict':
      case 'unanswered': {
        const back = await this.#back(bucket, key);
        const text = JSON.stringify(value);
        if (back.kind === 'found' && back.revision > expect && Buffer.from(back.data).toString() === text) {
          return { type: 'written', revision: back.revision };
        }
        if (outcome.kind === 'conflict') return { type: 'conflict' };
        return back.kind === 'failed' ? troubleOf(back.failure) : UNANSWERED;
      }
      case 'denied':
        return { type: 'store.refused', reason: `${outcome.operation} on ${outcome.subject} was denied` };
      default:
        return { type: 'store.refused', reason: outcome.message };
    }
  }

  /** Takes a row away. `conflict`: it is another one by now. */
  async remove(of: {
    bucket?: Bucket;
    key: string;
    expect?: number;
    signal?: AbortSignal;
  }): Promise<{ type: 'removed' } | { type: 'conflict' } | Trouble> {
    const { bucket = 'auth', key, expect, signal } = of;
    if (signal?.aborted === true) return UNANSWERED;
    const outcome = await deleteRow({ ...this.#address(bucket), key, ...(expect === undefined ? {} : { expect }) });
    switch (outcome.kind) {
      case 'stored':
        return { type: 'removed' };
      case 'conflict':
        return { type: 'conflict' };
      case 'unanswered':
        return UNANSWERED;
      case 'denied':
        return { type: 'store.refused', reason: `${outcome.operation} on ${outcome.subject} was denied` };
      default:
        return { type: 'store.refused', reason: outcome.message };
    }
  }

  /** Keys that fit a filter; those that were taken away may still be among them. */
  async keys(of: {
    bucket?: Bucket;
    filter: string;
    signal?: AbortSignal;
  }): Promise<{ type: 'listed'; keys: string[] } | Trouble> {
    const { bucket = 'auth', filter, signal } = of;
    if (signal?.aborted === true) return UNANSWERED;
    const listed = await listKeys({ ...this.#address(bucket), filter });
    return listed.kind === 'failed' ? troubleOf(listed.failure) : { type: 'listed', keys: listed.keys };
  }

  #back(bucket: Bucket, key: string): Promise<RowRead> {
    const asked = { ...this.#address(bucket), key };
    return bucket === 'auth' ? readGuardedRow(asked) : readRow(asked);
  }

  #address(bucket: Bucket) {
    return { connection: this.#connection(), bucket: buckets(this.#space)[bucket], timeoutMs: this.#timeoutMs };
  }
}

export function troubleOf(failure: DriverFailure): Trouble {
  switch (failure.kind) {
    case 'denied':
      return { type: 'store.refused', reason: `${failure.operation} on ${failure.subject} was denied` };
    case 'refused':
    case 'unexpected':
      return { type: 'store.refused', reason: failure.message };
    default:
      return UNANSWERED;
  }
}

/** Does the work for each, at most `atOnce` at a time; the first trouble ends it. */
export async function eachOf<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Trouble | undefined>,
): Promise<Trouble | undefined> {
  for (let from = 0; from < items.length; from += atOnce) {
    const troubles = await Promise.all(items.slice(from, from + atOnce).map(work));
    const trouble = troubles.find((each) => each !== undefined);
    if (trouble !== undefined) return trouble;
  }
  return undefined;
}
