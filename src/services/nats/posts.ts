/** The posts on CHAT: the writer's durable, and what was posted on one channel. */

import { jetstream } from '@nats-io/jetstream';
import { z } from 'zod';
import type { StoredMessage } from '../../domain/held.ts';
import { chatOfChannel, FANOUT_CONSUMER, streams } from '../../domain/subjects.ts';
import type { DeliveredPost, Place, Posts, Silent, StoredPost } from '../ports.ts';
import { CONSUMER_NOT_FOUND } from './driver-errors.ts';
import type { GatedBroker } from './gated-broker.ts';
import { StreamStore } from './stream-store.ts';

/**
 * Posts that the pull may have under way. Not bounded in bytes: with `max_bytes` the client (3.4.0) loses messages that the
 * broker counts as delivered, which then wait for their ack deadline.
 */
const PULL = 256;
/**
 * A pull is asked for again this often. What is delivered to a daemon that is paused waits for its ack deadline, so a pull must
 * have ended before the paused daemon's lease can be somebody else's.
 */
const PULL_EXPIRES_MS = 5_000;
/** Posts of one channel read at a time. */
const PAGE = 256;
const ACK = '+ACK';
/** Heartbeats missed in a row before the pull counts as dead. */
const MISSED = 2;

const placeSchema = z.looseObject({ stream_seq: z.number() });
const consumerSchema = z.looseObject({ delivered: placeSchema, ack_floor: placeSchema, num_ack_pending: z.number() });
/** What ends a pull for good: what it pulls from is not there. */
const FATAL: readonly string[] = [
  'consumer_deleted',
  'consumer_not_found',
  'stream_not_found',
  'no_responders',
  'exceeded_limits',
];

export function natsPosts({ broker, space }: { broker: GatedBroker; space: string }): Posts {
  const stream = streams(space).chat;
  const store = new StreamStore(broker, stream);
  return {
    async frontier() {
      const info = await store.info();
      return info.kind === 'reply' ? { kind: 'frontier', seq: info.value.state.last_seq } : silence(info);
    },

    async place() {
      const info = await broker.api(`CONSUMER.INFO.${stream}.${FANOUT_CONSUMER}`, {}, consumerSchema);
      return info.kind === 'reply' ? { kind: 'place', ...placeIn(info.value) } : silence(info);
    },

    async open({ floor }) {
      const info = await broker.api(`CONSUMER.INFO.${stream}.${FANOUT_CONSUMER}`, {}, consumerSchema);
      if (info.kind === 'reply') return { kind: 'opened', ...placeIn(info.value), made: false };
      if (info.kind !== 'refused' || info.code !== String(CONSUMER_NOT_FOUND)) return info;
      const made = await broker.api(
        `CONSUMER.CREATE.${stream}.${FANOUT_CONSUMER}`,
        { stream_name: stream, config: remade(floor), action: 'create' },
        consumerSchema,
      );
      return made.kind === 'reply' ? { kind: 'opened', position: floor, floor, unsettled: 0, made: true } : made;
    },

    pull(listener) {
      let stopped = false;
      let close: () => Promise<unknown> = async () => {};
      const lost = (why: string) => {
        if (stopped) return;
        stopped = true;
        void close().catch(() => {});
        listener.lost(why);
      };
      const run = async (): Promise<void> => {
        const consumer = await jetstream(broker.connection, { timeout: broker.timeoutMs }).consumers.get(
          stream,
          FANOUT_CONSUMER,
        );
        if (stopped) return;
        const messages = await consumer.consume({
          max_messages: PULL,
          expires: PULL_EXPIRES_MS,
          callback: (message) => {
            if (!stopped) listener.post(delivered(message));
            // What was on its way to a pull that is over goes back at once, or it would be owed until the wait is up.
            else if (broker.shut() === undefined) message.nak();
          },
        });
        close = () => drained(messages);
        if (stopped) return void (await drained(messages));
        for await (const status of messages.status()) {
          if (FATAL.includes(status.type)) return lost(status.type);
          if (status.type === 'heartbeats_missed' && status.count >= MISSED) return lost('heartbeats missed');
        }
        lost('the pull ended');
      };
      run().catch((error: Error) => lost(error.message));
      return {
        stop: async () => {
          stopped = true;
          await close();
        },
      };
    },

    settle({ posts }) {
      for (const { receipt } of posts) broker.publish(receipt, ACK);
    },

    async between({ after, upTo }) {
      const posts: DeliveredPost[] = [];
      for (let at = after; at < upTo; ) {
        const page = await store.page({ filter: `cotal.${space}.chat.>`, after: at, limit: PAGE });
        if (page.kind !== 'read') return page;
        const read = page.messages.map((message) => ({ ...asPost(message), receipt: receiptFor(stream, message.seq) }));
        posts.push(...read.filter((post) => post.seq <= upTo));
        const last = page.messages.at(-1)?.seq;
        if (last === undefined || page.pending === 0) break;
        at = last;
      }
      return { kind: 'read', posts };
    },

    async range({ channel, after, upTo }, take) {
      const filter = chatOfChannel(space, channel);
      for (let at = after; at < upTo; ) {
        const page = await store.page({ filter, after: at, limit: PAGE });
        if (page.kind !== 'read') return page;
        const posts = page.messages.map(asPost).filter((post) => post.seq <= upTo);
        if (posts.length > 0 && !(await take(posts))) return { kind: 'silent', why: 'the reading was given up' };
        const last = page.messages.at(-1)?.seq;
        if (last === undefined || page.pending === 0) break;
        at = last;
      }
      return firstComplete(store, filter);
    },

    async last({ channel, limit }) {
      const filter = chatOfChannel(space, channel);
      const start = await startOfLast(store, filter, limit);
      if ('kind' in start) return start;
      const posts: StoredPost[] = [];
      for (let after = start.seq - 1; ; ) {
        const page = await store.page({ filter, after, limit: Math.min(PAGE, limit) });
        if (page.kind !== 'read') return page;
        posts.push(...page.messages.map(asPost));
        after = page.messages.at(-1)?.seq ?? after;
        if (page.pending === 0 || page.messages.length === 0) break;
      }
      // What was posted while this was read is newer than asked for; the oldest make room for it.
      return { kind: 'read', posts: posts.slice(-limit), complete: start.isFirst && posts.length <= limit };
    },

    async fullSubjects() {
      const read = await store.subjects(`cotal.${space}.chat.>`);
      if (read.kind !== 'read') return silence(read);
      const full = [...read.subjects].filter(([, count]) => read.perSubject > 0 && count >= read.perSubject);
      return { kind: 'read', subjects: full.map(([subject]) => subject) };
    },
  };
}

/** Ends a pull after everything that the broker has already sent to it has arrived. */
async function drained(messages: { close(): Promise<unknown> }): Promise<void> {
  const { sub } = messages as { sub?: { drain(): Promise<void> } };
  try {
    await sub?.drain();
    await messages.close();
  } catch {
    // The connection is gone, and the pull with it.
  }
}

const placeIn = ({ delivered, ack_floor, num_ack_pending }: z.infer<typeof consumerSchema>): Place => ({
  position: delivered.stream_seq,
  floor: ack_floor.stream_seq,
  unsettled: num_ack_pending,
});

/** The durable as `up` makes it, but for where it starts. */
const remade = (floor: number) => ({
  durable_name: FANOUT_CONSUMER,
  ack_policy: 'explicit',
  deliver_policy: 'by_start_sequence',
  opt_start_seq: floor + 1,
  ack_wait: 60_000_000_000,
  max_deliver: -1,
  max_ack_pending: 1000,
});

const silence = (outcome: { kind: string; why?: string }): Silent => ({
  kind: 'silent',
  why: outcome.why ?? outcome.kind,
});
const asPost = ({ seq, subject, data }: StoredMessage): StoredPost => ({ seq, subject, data });

function delivered(message: { seq: number; subject: string; data: Uint8Array }): DeliveredPost {
  const { seq, subject, data } = message;
  return { seq, subject, data, receipt: receiptOf(message) };
}

/**
 * The subject that whatever delivery there was of a post is acknowledged on. The broker goes by the stream's sequence; how
 * often, as which message of the consumer and when it was delivered says nothing to it.
 */
const receiptFor = (stream: string, seq: number): string => `$JS.ACK.${stream}.${FANOUT_CONSUMER}.1.${seq}.${seq}.0.0`;

/** The subject that a delivery is acknowledged on. The client's message has it, its type does not say so. */
function receiptOf(message: object): string {
  if ('reply' in message && typeof message.reply === 'string') return message.reply;
  throw new Error('a delivery without a reply subject');
}

/**
 * The smallest sequence from which on nothing of the filter can be missing: above the first message of every subject
 * that stands at its limit, since retention discards from there.
 */
async function firstComplete(store: StreamStore, filter: string): Promise<{ kind: 'read'; first: number } | Silent> {
  const read = await store.subjects(filter);
  if (read.kind !== 'read') return silence(read);
  let first = 0;
  for (const [subject, count] of read.subjects) {
    if (read.perSubject <= 0 || count < read.perSubject) continue;
    const page = await store.page({ filter: subject, after: 0, limit: 1 });
    if (page.kind !== 'read') return page;
    first = Math.max(first, page.messages[0]?.seq ?? 0);
  }
  return { kind: 'read', first };
}

/** Sequence from which on at most `limit` messages fit the filter: found by halving, from the counts that pages carry. */
async function startOfLast(
  store: StreamStore,
  filter: string,
  limit: number,
): Promise<{ seq: number; isFirst: boolean } | Silent> {
  const from = async (seq: number) => {
    const page = await store.page({ filter, after: seq - 1, limit: 1 });
    if (page.kind !== 'read') return page;
    return { count: page.messages.length + page.pending, first: page.messages[0]?.seq ?? seq };
  };
  const all = await from(1);
  if ('kind' in all) return all;
  if (all.count <= limit) return { seq: 1, isFirst: true };
  const info = await store.info();
  if (info.kind !== 'reply') return silence(info);
  let [tooMany, enough] = [all.first, info.value.state.last_seq + 1];
  while (enough - tooMany > 1) {
    const middle = Math.floor((tooMany + enough) / 2);
    const there = await from(middle);
    if ('kind' in there) return there;
    if (there.count > limit) tooMany = Math.max(middle, there.first);
    else enough = middle;
    if (there.count === limit) return { seq: middle, isFirst: false };
  }
  return { seq: enough, isFirst: false };
}
