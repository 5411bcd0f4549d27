/**
 * The recorder: writes down what the broker stores of the daemons' work, as the broker itself says it again. It is away
 * while the broker is; what was stored meanwhile it reads afterwards, and what is gone by then it notes as missed.
 */

import type { NatsConnection } from '@nats-io/nats-core';
import { readEnvelope } from '../domain/copy.ts';
import { type HeaderLookup, readEntry, WRITER_HEADER } from '../domain/entry.ts';
import type { StoredMessage } from '../domain/held.ts';
import { mentionsOf, readJson, readPost, shaped } from '../domain/message.ts';
import { type Member, memberKey, readMember } from '../domain/names.ts';
import { isMarker, leaseRowSchema, memberRowSchema, readAcl } from '../domain/rows.ts';
import {
  barrierSubject,
  bucketStream,
  buckets,
  deliveryConsumer,
  keySubject,
  LEASE_KEY,
  readMemberRowKey,
  streams,
} from '../domain/subjects.ts';
import { GatedBroker } from '../services/nats/gated-broker.ts';
import { StreamStore } from '../services/nats/stream-store.ts';
import { AUDIT, audited } from './ground.ts';
import type { HistoryRecord } from './history.ts';
import type { HistoryFile } from './history-file.ts';

const PAGE = 256;
const TIMEOUT_MS = 5_000;

export class Recorder {
  readonly #connection: NatsConnection;
  readonly #broker: GatedBroker;
  readonly #space: string;
  readonly #file: HistoryFile;
  /** The last sequence of each stream that was written down. */
  readonly #last = new Map<string, number>();
  /** Who has the lease, as far as it is known. */
  holder = '';
  /** Whether whoever has it says that it serves. */
  isServed = false;
  #filling: Promise<void> = Promise.resolve();

  constructor(of: { connection: NatsConnection; space: string; file: HistoryFile }) {
    this.#connection = of.connection;
    this.#space = of.space;
    this.#file = of.file;
    this.#broker = new GatedBroker({
      connection: of.connection,
      inboxPrefix: '_INBOX',
      timeoutMs: TIMEOUT_MS,
      gate: () => (of.connection.isClosed() ? 'the connection is closed' : undefined),
    });
    for (const stream of audited(of.space)) this.#last.set(stream, 0);
  }

  /** Listens from now on. What is in the streams already is not looked at. */
  async start(): Promise<void> {
    for (const stream of audited(this.#space)) {
      const info = await this.#store(stream).info();
      if (info.kind === 'reply') this.#last.set(stream, info.value.state.last_seq);
    }
    this.#connection.subscribe(`${AUDIT}.>`, {
      callback: (error, message) => {
        if (error !== null) return;
        const header: HeaderLookup = (name) => message.headers?.get(name) ?? '';
        const stream = header('Nats-Stream');
        const seq = Number(header('Nats-Sequence'));
        const expected = (this.#last.get(stream) ?? 0) + 1;
        if (seq < expected) return;
        if (seq > expected) void this.fill(stream, seq - 1);
        this.#last.set(stream, seq);
        const subject = header('Nats-Subject');
        this.#write(stream, {
          seq,
          subject,
          storedAt: Date.parse(header('Nats-Time-Stamp')),
          data: message.data,
          header,
        });
      },
    });
    await this.#connection.flush();
    void this.#follow();
  }

  async #follow(): Promise<void> {
    for await (const status of this.#connection.status()) {
      if (status.type === 'reconnect') void this.catchUp();
    }
  }

  /** Reads what was stored while nobody listened. Resolves when everything up to now is written down. */
  async catchUp(): Promise<void> {
    for (const stream of audited(this.#space)) {
      const info = await this.#store(stream).info();
      if (info.kind === 'reply') await this.fill(stream, info.value.state.last_seq);
    }
  }

  fill(stream: string, upTo: number): Promise<void> {
    const from = (this.#last.get(stream) ?? 0) + 1;
    if (upTo < from) return this.#filling;
    this.#last.set(stream, upTo);
    this.#filling = this.#filling.then(() => this.#read(stream, from, upTo));
    return this.#filling;
  }

  async #read(stream: string, from: number, upTo: number): Promise<void> {
    let next = from;
    while (next <= upTo) {
      const page = await this.#store(stream).page({ filter: '>', after: next - 1, limit: PAGE });
      if (page.kind !== 'read') break;
      const messages = page.messages.filter(({ seq }) => seq <= upTo);
      for (const message of messages) {
        if (message.seq > next) this.#missed(stream, next, message.seq - 1);
        this.#write(stream, message);
        next = message.seq + 1;
      }
      if (messages.length < page.messages.length || page.pending === 0 || page.messages.length === 0) break;
    }
    if (next <= upTo) this.#missed(stream, next, upTo);
  }

  #missed(stream: string, from: number, to: number): void {
    const names = buckets(this.#space);
    const known = Object.entries(names).find(([, bucket]) => bucketStream(bucket) === stream)?.[0];
    this.#file.write({ kind: 'missed', at: Date.now(), stream: known ?? stream, from, to });
  }

  /** Writes down every post that the channels have now: all of them or none. @throws where the broker does not say. */
  async posts(): Promise<void> {
    const store = this.#store(streams(this.#space).chat);
    const stored: StoredMessage[] = [];
    for (let more = true; more; ) {
      const page = await store.page({ filter: '>', after: stored.at(-1)?.seq ?? 0, limit: PAGE });
      if (page.kind !== 'read') throw new Error(page.why);
      stored.push(...page.messages);
      more = page.pending > 0 && page.messages.length > 0;
    }
    for (const { seq, subject, storedAt, data } of stored) {
      const read = readPost(this.#space, subject, data);
      if (read.kind !== 'post') continue;
      const { channel, message, principal } = read;
      this.#file.write({
        kind: 'post',
        at: storedAt,
        seq,
        channel,
        from: principal,
        id: message.id,
        mentions: mentionsOf(message),
      });
    }
  }

  /** What the stores hold: messages by member. */
  async owed(): Promise<{ entries: number; copies: number; owed: string[] } | undefined> {
    const { inbox, dlv } = streams(this.#space);
    const [entries, copies] = await Promise.all([inbox, dlv].map((stream) => this.#store(stream).subjects('>')));
    if (entries?.kind !== 'read' || copies?.kind !== 'read') return undefined;
    copies.subjects.delete(barrierSubject(this.#space));
    const sum = (subjects: Map<string, number>) => [...subjects.values()].reduce((total, count) => total + count, 0);
    return {
      entries: sum(entries.subjects),
      copies: sum(copies.subjects),
      owed: [...entries.subjects.keys(), ...copies.subjects.keys()].slice(0, 20),
    };
  }

  /** What is left of the copies, and where the durable of their member stands: for whoever reads a failure. */
  async leftovers(): Promise<string[]> {
    const { dlv } = streams(this.#space);
    const page = await this.#store(dlv).page({ filter: '>', after: 0, limit: PAGE });
    if (page.kind !== 'read') return [];
    return Promise.all(
      page.messages.slice(0, 10).map(async ({ seq, subject }) => {
        const member = readMember(subject.split('.').slice(3, 6).join('.'));
        const durable = member === undefined ? '' : deliveryConsumer(member);
        const asked = await this.#broker.request(`$JS.API.CONSUMER.INFO.${dlv}.${durable}`, {});
        const { delivered, ack_floor, num_ack_pending, num_pending, num_waiting, num_redelivered } = (
          asked.kind === 'reply' ? asked.message.json() : {}
        ) as Record<string, unknown>;
        const figures = { delivered, ack_floor, num_ack_pending, num_pending, num_waiting, num_redelivered };
        return `${dlv} ${seq} ${subject}: ${JSON.stringify(figures)}`;
      }),
    );
  }

  #store(stream: string): StreamStore {
    return new StreamStore(this.#broker, stream);
  }

  #write(stream: string, message: StoredMessage): void {
    const record = this.#recordOf(stream, message);
    if (record === undefined) return;
    if (record.kind === 'lease') {
      this.holder = record.incarnation;
      this.isServed = record.ready;
    }
    this.#file.write(record);
  }

  #recordOf(stream: string, { seq, subject, storedAt: at, data, header }: StoredMessage): HistoryRecord | undefined {
    const space = this.#space;
    const names = buckets(space);
    const base = { at, seq };
    const key = (bucket: string) => subject.slice(keySubject(bucket, '').length);
    switch (stream) {
      case streams(space).inbox: {
        const read = readEntry(space, subject, header, data);
        if (read.kind !== 'entry') return undefined;
        const { channel, seq: post, generation } = read.entry;
        return {
          kind: 'entry',
          ...base,
          member: memberKey(read.member),
          channel,
          post,
          generation,
          writer: header(WRITER_HEADER),
        };
      }
      case streams(space).dlv: {
        const read = readEnvelope(space, subject, header, data);
        if (read.kind !== 'copy') return undefined;
        const { channel, seq: post, generation } = read.envelope;
        const place = { member: memberKey(read.member), channel, post, generation };
        return { kind: 'copy', ...base, ...place, writer: header(WRITER_HEADER), entry: read.entrySeq };
      }
      case bucketStream(names.members): {
        const place = readMemberRowKey(key(names.members));
        const row = isMarker(header) ? undefined : shaped(memberRowSchema, readJson(data));
        if (place === undefined || row === undefined) return undefined;
        const { generation, state, joinCursor, leaveCursor, writerIdentity } = row;
        return {
          kind: 'membership',
          ...base,
          member: memberKey(place.member),
          channel: place.channel,
          generation,
          state,
          joinCursor,
          ...(leaveCursor === undefined ? {} : { leaveCursor }),
          writer: writerIdentity.slice(writerIdentity.indexOf('/') + 1),
        };
      }
      case bucketStream(names.acl): {
        const member: Member | undefined = readMember(key(names.acl));
        const isGone = member !== undefined && !isMarker(header) && readAcl(data).kind === 'retired';
        return isGone ? { kind: 'tombstone', ...base, member: memberKey(member) } : undefined;
      }
      case bucketStream(names.delivery): {
        if (key(names.delivery) !== LEASE_KEY) return undefined;
        const row = isMarker(header) ? undefined : shaped(leaseRowSchema, readJson(data));
        return { kind: 'lease', ...base, incarnation: row?.incarnation ?? '', ready: row?.ready ?? false };
      }
      default:
        return undefined;
    }
  }
}
