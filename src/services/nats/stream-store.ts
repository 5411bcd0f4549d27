/**
 * What the stores of the daemon (INBOX, DLV, CHAT and the buckets) are asked: pages by direct get, counts by stream info,
 * removal by sequence and by subject. No consumer is made for any of it.
 */
import { createInbox, type Msg } from '@nats-io/nats-core';
import { z } from 'zod';
import type { StoredMessage } from '../../domain/held.ts';
import type { Denied, Refused, Silent } from '../ports.ts';
import { type GatedBroker, silence } from './gated-broker.ts';
import { readByLeader } from './leader-reads.ts';
import { listen } from './listening.ts';

/** Largest page, in bytes: what one lane may hold in memory at a time. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** Subjects in one request for last messages; the broker takes 1024. */
const LASTS = 512;
/** Deletes that are under way at a time. */
const PIPELINE = 128;
const NOT_FOUND = 404;
const END_OF_BATCH = 204;
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
  config: z.looseObject({ max_msgs_per_subject: z.number(), num_replicas: z.int().default(1) }),
});
const doneSchema = z.looseObject({ success: z.boolean(), purged: z.number().optional() });

type Found = { kind: 'found'; message: StoredMessage } | { kind: 'absent' };
interface Waiting {
  settle(outcome: LastOutcome): void;
  fail(error: unknown): void;
}
type LastOutcome = Found | Refused | Denied | Silent;

export class StreamStore {
  readonly #broker: GatedBroker;
  readonly stream: string;
  /** Whether replicas may answer that are behind; undefined until the broker has said so. */
  #isReplicated: boolean | undefined;
  /** Subjects whose last message is asked for in this turn of the loop, and who waits for it. */
  #asked = new Map<string, Waiting[]>();

  constructor(broker: GatedBroker, stream: string) {
    this.#broker = broker;
    this.stream = stream;
  }

  /** The stream as its leader knows it. */
  async info() {
    const info = await this.#broker.api(`STREAM.INFO.${this.stream}`, {}, infoSchema);
    if (info.kind === 'reply') this.#isReplicated = info.value.config.num_replicas > 1;
    return info;
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

  /**
   * The next messages on a subject filter above a sequence, ascending. `pending`: how many further ones there are, at least;
   * that there are none is the leader's word.
   */
  async page(of: { filter: string; after: number; limit: number }): Promise<Page | Silent> {
    const query = { seq: of.after + 1, next_by_subj: of.filter, batch: of.limit, max_bytes: PAGE_BYTES };
    const page = await this.#get(query);
    if (page.kind === 'silent' || page.pending > 0) return page;
    const replicated = await this.#replicated();
    if (replicated !== true) return replicated === false ? page : replicated;
    const seq = (page.messages.at(-1)?.seq ?? of.after) + 1;
    const next = await readByLeader(this.#broker, this.stream, { next_by_subj: of.filter, seq });
    if (next.kind === 'absent') return page;
    if (next.kind !== 'found') return silence(next);
    const isFull = page.messages.length >= of.limit;
    return { ...page, messages: isFull ? page.messages : [...page.messages, next.message], pending: 1 };
  }

  async #replicated(): Promise<boolean | Silent> {
    if (this.#isReplicated !== undefined) return this.#isReplicated;
    const info = await this.info();
    return info.kind === 'reply' ? info.value.config.num_replicas > 1 : silence(info);
  }

  /**
   * The last message on a concrete subject. What is asked for in one turn of the loop goes into one request, which is sent
   * after everything that was asked for before it.
   */
  last(subject: string): Promise<LastOutcome> {
    return new Promise((settle, fail) => {
      if (this.#asked.size === 0) setImmediate(() => void this.#askLasts());
      this.#asked.set(subject, [...(this.#asked.get(subject) ?? []), { settle, fail }]);
    });
  }

  async #askLasts(): Promise<void> {
    const asked = [...this.#asked];
    this.#asked = new Map();
    for (let at = 0; at < asked.length; at += LASTS) {
      const part = asked.slice(at, at + LASTS);
      const waiting = part.flatMap(([, each]) => each);
      try {
        const outcome = await this.#lasts(part.map(([subject]) => subject));
        for (const [subject, each] of part) for (const { settle } of each) settle(outcome(subject));
      } catch (error) {
        for (const { fail } of waiting) fail(error);
      }
    }
  }

  /** The same, asked for at once and alone: a denial is told at once too. */
  async lastAlone(subject: string): Promise<LastOutcome> {
    const reply = await this.#broker.request(`$JS.API.DIRECT.GET.${this.stream}.${subject}`);
    if (reply.kind !== 'reply') return reply;
    const code = reply.message.headers?.code ?? 0;
    if (code === NOT_FOUND) return { kind: 'absent' };
    if (code !== 0) return { kind: 'refused', code: String(code), message: reply.message.headers?.description ?? '' };
    return { kind: 'found', message: stored(reply.message) };
  }

  async #lasts(subjects: readonly string[]): Promise<(subject: string) => LastOutcome> {
    const replicated = await this.#replicated();
    if (typeof replicated === 'object') return () => replicated;
    // The leader is asked meanwhile, not before: an answer that goes as far as it does is no older than this call.
    const [read, leader] = await Promise.all([
      this.#get({ multi_last: subjects }),
      replicated ? this.info() : undefined,
    ]);
    if (read.kind === 'silent') return () => read;
    if (leader !== undefined && leader.kind !== 'reply') return () => silence(leader);
    if (leader !== undefined && read.upTo < leader.value.state.last_seq) return this.#lastsByLeader(subjects);
    const found = new Map(read.messages.map((message) => [message.subject, message]));
    return (subject) => {
      const message = found.get(subject);
      return message === undefined ? { kind: 'absent' } : { kind: 'found', message };
    };
  }

  async #lastsByLeader(subjects: readonly string[]): Promise<(subject: string) => LastOutcome> {
    const read = (subject: string) => readByLeader(this.#broker, this.stream, { last_by_subj: subject });
    const outcomes = new Map(
      await Promise.all(subjects.map(async (subject) => [subject, await read(subject)] as const)),
    );
    return (subject) => outcomes.get(subject) ?? { kind: 'absent' };
  }

  async #get(query: object): Promise<Collected> {
    return this.#broker.inTurn(async () => {
      const shut = this.#broker.shut();
      return shut ?? collect(this.#broker, `$JS.API.DIRECT.GET.${this.stream}`, query);
    });
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
    // The broker takes "below 1" for "everything".
    if (of.upTo < 1) return { kind: 'removed', count: 0 };
    const query = { filter: of.filter, seq: of.upTo + 1 };
    const reply = await this.#broker.api(`STREAM.PURGE.${this.stream}`, query, doneSchema);
    return reply.kind === 'reply' ? { kind: 'removed', count: reply.value.purged ?? 0 } : reply;
  }
}

interface Page {
  readonly kind: 'read';
  readonly messages: StoredMessage[];
  readonly pending: number;
}
/** `upTo`: how far the stream of whoever answered goes, where that is said (last messages that were found); else 0. */
type Collected = (Page & { readonly upTo: number }) | Silent;

/** Collects the replies of a batched direct get, which ends with a message that only has a status. */
function collect(broker: GatedBroker, subject: string, query: object): Promise<Collected> {
  const { connection, timeoutMs, inboxPrefix } = broker;
  const inbox = createInbox(inboxPrefix);
  return new Promise((resolve) => {
    const messages: StoredMessage[] = [];
    const late = () => finish({ kind: 'silent', why: 'timeout' });
    let timer = setTimeout(late, timeoutMs);
    const finish = (outcome: Collected) => {
      clearTimeout(timer);
      listening.stop();
      resolve(outcome);
    };
    const listening = listen(broker, {
      subjects: [inbox],
      lost: (why) => finish({ kind: 'silent', why }),
      message: (message) => {
        const code = message.headers?.code ?? 0;
        if (code === 0) {
          messages.push(stored(message));
          clearTimeout(timer);
          timer = setTimeout(late, timeoutMs);
        } else if (code === NOT_FOUND) {
          finish({ kind: 'read', messages, pending: 0, upTo: 0 });
        } else if (code === END_OF_BATCH) {
          const count = (name: string) => Number(message.headers?.get(name) ?? 0);
          finish({ kind: 'read', messages, pending: count('Nats-Num-Pending'), upTo: count('Nats-UpTo-Sequence') });
        } else {
          finish({ kind: 'silent', why: `status ${code} ${message.headers?.description ?? ''}` });
        }
      },
    });
    try {
      connection.publish(subject, JSON.stringify(query), { reply: inbox });
    } catch (error) {
      finish({ kind: 'silent', why: error instanceof Error ? error.message : String(error) });
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
