/**
 * What the stores of the daemon (INBOX, DLV, CHAT and the buckets) are asked: pages by direct get, counts by stream info,
 * removal by sequence and by subject. No consumer is made for any of it.
 */
import { z } from 'zod';
import type { StoredMessage } from '../../domain/held.ts';
import type { Denied, Refused, Silent } from '../ports.ts';
import { type Collected, collect, type Page, type Single, single } from './direct-get.ts';
import { type GatedBroker, silence } from './gated-broker.ts';
import { readByLeader } from './leader-reads.ts';

/** Largest page, in bytes: what one lane may hold in memory at a time. */
const PAGE_BYTES = 4 * 1024 * 1024;
/** Subjects in one request for last messages; the broker takes 1024. */
const LASTS = 512;
/** Messages between those of one subject filter from which on each is asked for by itself: they are searched past one by one. */
const SPARSE = 100;
/** Single messages that are asked for at a time: so many may be held beyond a page. */
const AT_ONCE = 8;
/** Deletes that are under way at a time. */
const PIPELINE = 128;
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

interface Waiting {
  settle(outcome: Single): void;
  fail(error: unknown): void;
}

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

  /**
   * What lies at these sequences, which are ascending and of one subject filter, up to `readTo`. That something is not there
   * is the leader's word.
   */
  async at(of: { filter: string; seqs: readonly number[] }): Promise<MessagesAt | Silent> {
    const { filter, seqs } = of;
    const [first = 0, last = 0] = [seqs[0], seqs.at(-1)];
    if (last - first < seqs.length * SPARSE) {
      const page = await this.page({ filter, after: first - 1, limit: seqs.length });
      if (page.kind === 'silent') return page;
      const messages = page.messages.filter(({ seq }) => seq <= last);
      const isPast = messages.length < page.messages.length || page.pending === 0;
      const readTo = isPast ? last : messages.at(-1)?.seq;
      return readTo === undefined ? { kind: 'silent', why: 'an empty page' } : { kind: 'read', messages, readTo };
    }
    const messages: StoredMessage[] = [];
    let [readTo, bytes] = [0, 0];
    for (let from = 0; from < seqs.length && bytes < PAGE_BYTES; from += AT_ONCE) {
      const part = seqs.slice(from, from + AT_ONCE);
      for (const found of await Promise.all(part.map((seq) => this.#one(seq)))) {
        if (found.kind === 'absent') continue;
        if (found.kind !== 'found') return silence(found);
        messages.push(found.message);
        bytes += found.message.data.length;
      }
      readTo = part.at(-1) ?? readTo;
    }
    return { kind: 'read', messages, readTo };
  }

  async #one(seq: number): Promise<Single> {
    const subject = `$JS.API.DIRECT.GET.${this.stream}`;
    const read = single(await this.#broker.inTurn(() => this.#broker.request(subject, { seq })));
    if (read.kind !== 'absent') return read;
    const replicated = await this.#replicated();
    if (replicated === false) return read;
    return replicated === true ? readByLeader(this.#broker, this.stream, { seq }) : replicated;
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
  last(subject: string): Promise<Single> {
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
  async lastAlone(subject: string): Promise<Single> {
    return single(await this.#broker.request(`$JS.API.DIRECT.GET.${this.stream}.${subject}`));
  }

  async #lasts(subjects: readonly string[]): Promise<(subject: string) => Single> {
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

  async #lastsByLeader(subjects: readonly string[]): Promise<(subject: string) => Single> {
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

interface MessagesAt {
  readonly kind: 'read';
  readonly messages: StoredMessage[];
  readonly readTo: number;
}
