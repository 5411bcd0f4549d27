/**
 * One pull of a durable consumer that exists: at most so many messages, for at most so long. Nothing is made on the broker.
 * `cancel` loses nothing: what the broker sent before it knew of the cancellation still comes to `message`.
 */
import { createInbox, type Msg } from '@nats-io/nats-core';
import type { GatedBroker } from './gated-broker.ts';

export type PullEnd =
  /** As many as were asked for. */
  | 'full'
  /** Nothing (more) is there now, or nothing came in time. */
  | 'empty'
  /** The durable is not there any more. */
  | 'gone'
  /** It was cancelled. */
  | 'cancelled'
  /** The pull was lost: the connection, the broker, or no heartbeat. Another one can be made. */
  | 'lost';

export interface PullRequest {
  readonly broker: GatedBroker;
  readonly stream: string;
  readonly durable: string;
  /** Messages wanted, at least 1. */
  readonly batch: number;
  /** Milliseconds to wait for messages; 0: take what is there now. */
  readonly waitMs: number;
  message(message: Msg): void;
  end(how: PullEnd): void;
}

export interface Pull {
  /** Resolves when no further message of this pull can come. */
  cancel(): Promise<void>;
}

const HEARTBEAT_MS = 5_000;
/** How long after its own end a pull may still be silent. */
const GRACE_MS = 5_000;
const MILLISECOND = 1_000_000;

export function startPull(asked: PullRequest): Pull {
  const { broker, stream, durable, batch, waitMs } = asked;
  const { connection } = broker;
  let taken = 0;
  let over = false;
  const beats = waitMs > 2 * HEARTBEAT_MS;
  const patience = beats ? 2 * HEARTBEAT_MS + GRACE_MS : waitMs + GRACE_MS;
  let alarm = setTimeout(() => finish('lost'), patience);

  const subscription = connection.subscribe(createInbox(broker.inboxPrefix), {
    callback: (error, message) => {
      if (error !== null) return finish('lost');
      clearTimeout(alarm);
      if (!over) alarm = setTimeout(() => finish('lost'), patience);
      const code = message.headers?.code ?? 0;
      if (code === 0) {
        asked.message(message);
        if (++taken >= batch) finish('full');
        return;
      }
      if (code === 100) return;
      const words = message.headers?.description ?? '';
      finish(code === 404 || code === 408 ? 'empty' : /consumer deleted/i.test(words) ? 'gone' : 'lost');
    },
  });

  function finish(how: PullEnd): void {
    if (over) return;
    over = true;
    clearTimeout(alarm);
    if (how !== 'cancelled') subscription.unsubscribe();
    asked.end(how);
  }

  const query = {
    batch,
    ...(waitMs > 0 ? { expires: waitMs * MILLISECOND } : { no_wait: true }),
    ...(beats ? { idle_heartbeat: HEARTBEAT_MS * MILLISECOND } : {}),
  };
  const subject = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`;
  connection.publish(subject, JSON.stringify(query), { reply: subscription.getSubject() });

  return {
    cancel: async () => {
      if (over) return;
      finish('cancelled');
      // The broker hears of it, and whatever it sent before it did is handed on first.
      if (broker.shut() === undefined) await subscription.drain();
      else subscription.unsubscribe();
    },
  };
}
