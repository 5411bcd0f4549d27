/**
 * What the stores of the daemon (INBOX, DLV, CHAT and the buckets) are asked: pages by direct get, counts by stream info,
 * removal by sequence and by subject. No consumer is made for any of it.
 */
import { createInbox, type Msg } from '@nats-io/nats-core';
import { z } from 'zod';
import type { Denied, Refused, Silent } from '../ports.ts';
import { failureOf, type GatedBroker } from './gated-broker.ts';

export interface StoredMessage {
  readonly seq: number;
  readonly subject: string;
  readonly storedAt: number;
  readonly data: Uint8Array;
  header(name: string): string;
}

/** Largest page, in bytes: what one lane may hold in memory at a time. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** Deletes that are under way at a time. */
const PIPELINE = 128;
const NOT_FOUND = 404;
/** The broker's words for a sequence that is not there (any more): 10037 no message, 10043 deleted or never given out. */
const GONE: readonly string[] = ['10037', '10043', '10057', '10151'];

const infoSchema = z.object({
  total: z.number().optional(),
  state: z.object({
    first_seq: z.number(),
    last_seq: z.number(),
    messages: z.number(),
    subjects: z.record(z.string(), z.number()).optional(),
  }),
  config: z.looseObject({ max_msgs_per_subject: z.number() }),
});
const doneSchema = z.looseObject({ success: z.boolean(), purged: z.number().optional() });

export class StreamStore {
  readonly #broker: GatedBroker;
  readonly stream: string;

  constructor(broker: GatedBroker, stream: string) {
    this.#broker = broker;
    this.stream = stream;
  }

  async info() {
    return this.#broker.api(`STREAM.INFO.${this.stream}`, {}, infoSchema);
  }

  /** Messages by subject, in as many requests as it takes. */
  async subjects(
    filter: string,
  ): Promise<
    { kind: 'read'; subjects: Map<string, number>; lastSeq: number; perSubject: number } | Refused | Denied | Silent
  > {
    const subjects = new Map<string, number>();
    for (;;) {
      const query = { subjects_filter: filter, offset: subjects.size };
      const reply = await this.#broker.api(`STREAM.INFO.${this.stream}`, query, infoSchema);
      if (reply.kind !== 'reply') return reply;
      const page = Object.entries(reply.value.state.subjects ?? {});
      for (const [subject, count] of page) subjects.set(subject, count);
      if (page.length === 0 || subjects.size >= (reply.value.total ?? 0)) {
        const { state, config } = reply.value;
        return { kind: 'read', subjects, lastSeq: state.last_seq, perSubject: config.max_msgs_per_subject };
      }
    }
  }

  /** The next messages on a subject filter above a sequence, ascending. `more`: there are further ones. */
  async page(of: {
    filter: string;
    after: number;
    limit: number;
  }): Promise<{ kind: 'read'; messages: StoredMessage[]; more: boolean } | Silent> {
    const shut = this.#broker.shut();
    if (shut !== undefined) return shut;
    const query = { seq: of.after + 1, next_by_subj: of.filter, batch: of.limit, max_bytes: PAGE_BYTES };
    return collect(this.#broker, `$JS.API.DIRECT.GET.${this.stream}`, query);
  }

  /** The last message on a concrete subject. */
  async last(
    subject: string,
  ): Promise<{ kind: 'found'; message: StoredMessage } | { kind: 'absent' } | Refused | Denied | Silent> {
    const reply = await this.#broker.request(`$JS.API.DIRECT.GET.${this.stream}.${subject}`);
    if (reply.kind !== 'reply') return reply;
    const code = reply.message.headers?.code ?? 0;
    if (code === NOT_FOUND) return { kind: 'absent' };
    if (code !== 0) return { kind: 'refused', code: String(code), message: reply.message.headers?.description ?? '' };
    return { kind: 'found', message: stored(reply.message) };
  }

  /** Removes by sequence, many at a time. What is not there counts as removed. */
  async remove(seqs: readonly number[]): Promise<{ kind: 'removed' } | Refused | Denied | Silent> {
    for (let from = 0; from < seqs.length; from += PIPELINE) {
      const outcomes = await Promise.all(
        seqs
          .slice(from, from + PIPELINE)
          .map((seq) => this.#broker.api(`STREAM.MSG.DELETE.${this.stream}`, { seq, no_erase: true }, doneSchema)),
      );
      for (const outcome of outcomes) {
        if (outcome.kind === 'reply' || (outcome.kind === 'refused' && GONE.includes(outcome.code))) continue;
        return outcome;
      }
    }
    return { kind: 'removed' };
  }

  /** Removes everything on a subject filter up to a sequence, that one included. */
  async purge(of: {
    filter: string;
    upTo: number;
  }): Promise<{ kind: 'removed'; count: number } | Refused | Denied | Silent> {
    const query = { filter: of.filter, seq: of.upTo + 1 };
    const reply = await this.#broker.api(`STREAM.PURGE.${this.stream}`, query, doneSchema);
    return reply.kind === 'reply' ? { kind: 'removed', count: reply.value.purged ?? 0 } : reply;
  }
}

/** Collects the replies of a batched direct get, which ends with a message that only has a status. */
function collect(
  broker: GatedBroker,
  subject: string,
  query: object,
): Promise<{ kind: 'read'; messages: StoredMessage[]; more: boolean } | Silent> {
  const { connection, timeoutMs, inboxPrefix } = broker;
  const inbox = createInbox(inboxPrefix);
  return new Promise((resolve, reject) => {
    const messages: StoredMessage[] = [];
    let timer = setTimeout(late, timeoutMs);
    const subscription = connection.subscribe(inbox, {
      callback: (error, message) => {
        if (error !== null) return finish({ kind: 'silent', why: error.message });
        const code = message.headers?.code ?? 0;
        if (code === 0) {
          messages.push(stored(message));
          clearTimeout(timer);
          timer = setTimeout(late, timeoutMs);
          return;
        }
        if (code === NOT_FOUND) return finish({ kind: 'read', messages, more: false });
        if (code === 204) {
          const pending = Number(message.headers?.get('Nats-Num-Pending') ?? 0);
          return finish({ kind: 'read', messages, more: pending > 0 });
        }
        finish({ kind: 'silent', why: `status ${code} ${message.headers?.description ?? ''}` });
      },
    });
    function late() {
      finish({ kind: 'silent', why: 'timeout' });
    }
    function finish(outcome: { kind: 'read'; messages: StoredMessage[]; more: boolean } | Silent) {
      clearTimeout(timer);
      subscription.unsubscribe();
      resolve(outcome);
    }
    try {
      connection.publish(subject, JSON.stringify(query), { reply: inbox });
    } catch (error) {
      clearTimeout(timer);
      subscription.unsubscribe();
      try {
        const failure = failureOf(error);
        resolve({ kind: 'silent', why: failure.kind === 'silent' ? failure.why : failure.kind });
      } catch (surprise) {
        reject(surprise);
      }
    }
  });
}

function stored(message: Msg): StoredMessage {
  const header = (name: string) => message.headers?.get(name) ?? '';
  return {
    seq: Number(header('Nats-Sequence')),
    subject: header('Nats-Subject'),
    storedAt: Date.parse(header('Nats-Time-Stamp')),
    data: message.data,
    header,
  };
}
