/** Direct gets: messages of a stream as whichever replica is near has them, one by one or in batches. */
import { createInbox, type Msg } from '@nats-io/nats-core';
import type { StoredMessage } from '../../domain/held.ts';
import type { Denied, Refused, Silent } from '../ports.ts';
import type { GatedBroker } from './gated-broker.ts';
import { listen } from './listening.ts';

const NOT_FOUND = 404;
const END_OF_BATCH = 204;

export type Single = { kind: 'found'; message: StoredMessage } | { kind: 'absent' } | Refused | Denied | Silent;

export interface Page {
  readonly kind: 'read';
  readonly messages: StoredMessage[];
  readonly pending: number;
}
/** `upTo`: how far the stream of whoever answered goes, where that is said (last messages that were found); else 0. */
export type Collected = (Page & { readonly upTo: number }) | Silent;

/** Collects the replies of a batched direct get, which ends with a message that only has a status. */
export function collect(broker: GatedBroker, subject: string, query: object): Promise<Collected> {
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

/** The reply to a direct get of one message. */
export function single(reply: { kind: 'reply'; message: Msg } | Refused | Denied | Silent): Single {
  if (reply.kind !== 'reply') return reply;
  const code = reply.message.headers?.code ?? 0;
  if (code === NOT_FOUND) return { kind: 'absent' };
  if (code !== 0) return { kind: 'refused', code: String(code), message: reply.message.headers?.description ?? '' };
  return { kind: 'found', message: stored(reply.message) };
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
