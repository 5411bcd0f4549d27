/**
 * Watching a bucket: an ordered push consumer of our own, made anew for every watch. It tells the last value of every key
 * first and then everything that is written; a gap, a missed heartbeat or a refusal ends it as lost, and whoever watches
 * makes another one. Complete means: every key that existed when the consumer was made has been told, by the broker's
 * own count.
 */
import { createInbox, type Msg, nuid } from '@nats-io/nats-core';
import { z } from 'zod';
import { bucketStream, keySubject } from '../../domain/subjects.ts';
import type { Stoppable } from '../ports.ts';
import type { GatedBroker } from './gated-broker.ts';
import { listen } from './listening.ts';

export interface SeenRow {
  readonly key: string;
  readonly revision: number;
  readonly data: Uint8Array;
  header(name: string): string;
}

export interface WatchListener {
  row(seen: SeenRow): void;
  /** Every key that existed at the start has been told. */
  complete(): void;
  lost(why: string): void;
}

const HEARTBEAT_MS = 5_000;
const MISSED = 3;
const createdSchema = z.looseObject({ num_pending: z.number() });

/** `filter`: a key, or a key with wildcards. `from` `new` tells only what is written from now on. */
export function watchBucket(
  broker: GatedBroker,
  of: { bucket: string; filter: string; from: 'all' | 'new' },
  listener: WatchListener,
): Stoppable {
  const stream = bucketStream(of.bucket);
  const name = `w_${nuid.next()}`;
  const head = keySubject(of.bucket, '');
  const inbox = createInbox(broker.inboxPrefix);
  let expected = 1;
  let initial: number | undefined;
  let told = 0;
  let completed = false;
  let ended = false;
  let alarm = setTimeout(silent, HEARTBEAT_MS * MISSED);

  const listening = listen(broker, { subjects: [inbox], message: hear, lost: lose });

  function hear(message: Msg): void {
    if (ended) return;
    clearTimeout(alarm);
    alarm = setTimeout(silent, HEARTBEAT_MS * MISSED);
    const code = message.headers?.code ?? 0;
    if (code === 100) {
      if (message.reply !== undefined && message.reply !== '') message.respond();
      // A heartbeat says how far it is; a flow-control request, which comes when much is told at once, does not.
      const last = message.headers?.get('Nats-Last-Consumer') ?? '';
      return last === '' || Number(last) === expected - 1 ? undefined : lose('messages were missed');
    }
    if (code !== 0) return lose(`status ${code} ${message.headers?.description ?? ''}`);
    const place = placeOf(message.reply ?? '');
    if (place === undefined || !message.subject.startsWith(head)) return lose('a foreign message on the watch');
    if (place.consumerSeq !== expected) return lose('messages were missed');
    expected++;
    const header = (name: string) => message.headers?.get(name) ?? '';
    listener.row({ key: message.subject.slice(head.length), revision: place.streamSeq, data: message.data, header });
    told++;
    complete(place.pending);
  }
  /** All of the start is told when as many came as there were then, or when the broker has no further one waiting. */
  function complete(pending: number | undefined): void {
    const all = pending === 0 || (initial !== undefined && told >= initial);
    if (completed || ended || !all) return;
    completed = true;
    listener.complete();
  }
  function silent(): void {
    lose('no heartbeat');
  }
  function lose(why: string): void {
    if (ended) return;
    end();
    listener.lost(why);
  }
  function end(): void {
    ended = true;
    clearTimeout(alarm);
    listening.stop();
  }

  const config = {
    name,
    deliver_subject: inbox,
    deliver_policy: of.from === 'all' ? 'last_per_subject' : 'new',
    filter_subject: keySubject(of.bucket, of.filter),
    ack_policy: 'none',
    max_deliver: 1,
    mem_storage: true,
    num_replicas: 1,
    flow_control: true,
    idle_heartbeat: HEARTBEAT_MS * 1_000_000,
    inactive_threshold: HEARTBEAT_MS * MISSED * 1_000_000,
  };
  const subject = `CONSUMER.CREATE.${stream}.${name}.${config.filter_subject}`;
  broker.api(subject, { stream_name: stream, config, action: 'create' }, createdSchema).then(
    (created) => {
      if (created.kind === 'silent') return lose(created.why);
      if (created.kind === 'denied') return lose(`denied: ${created.subject}`);
      if (created.kind === 'refused') return lose(created.message);
      initial = created.value.num_pending;
      complete(undefined);
    },
    (error: Error) => lose(error.message),
  );

  return {
    stop: async () => {
      if (ended) return;
      end();
      broker.publish(`$JS.API.CONSUMER.DELETE.${stream}.${name}`);
    },
  };
}

/** Stream and consumer sequence of a delivery, and how many are waiting behind it, from its reply subject. */
function placeOf(reply: string): { streamSeq: number; consumerSeq: number; pending: number } | undefined {
  const tokens = reply.split('.');
  if (tokens[0] !== '$JS' || tokens[1] !== 'ACK') return undefined;
  // Nine tokens; eleven or more when domain and account are named.
  const at = tokens.length >= 11 ? 7 : 5;
  const streamSeq = Number(tokens[at]);
  const consumerSeq = Number(tokens[at + 1]);
  const pending = Number(tokens[at + 3]);
  const numbers = [streamSeq, consumerSeq, pending];
  return numbers.every(Number.isSafeInteger) ? { streamSeq, consumerSeq, pending } : undefined;
}
