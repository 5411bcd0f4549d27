/**
 * Asking a rail. The reply is awaited under the request's own subtree. Three things can come of it and are kept apart: an
 * answer, a refusal with the daemon's reason, and silence, after which nothing is known.
 */
import { type Msg, type NatsConnection, nuid } from '@nats-io/nats-core';
import { readJson, shaped } from '../../domain/message.ts';
import {
  type AdminOp,
  type ArgsOf,
  adminOps,
  type DataOf,
  type DeliveryOp,
  deliveryOps,
  replySchema,
} from '../../domain/rail.ts';
import { type RailName, railSubject, replyPrefix } from '../../domain/subjects.ts';
import type { Denied, Refused, Silent } from '../ports.ts';
import { failureOf, type GatedBroker } from './gated-broker.ts';

export type RailAnswer<O extends DeliveryOp | AdminOp> =
  | { kind: 'answered'; data: DataOf<O> }
  | Refused
  | Denied
  | Silent
  /** Somebody answered with something that is no reply of this operation. */
  | { kind: 'unreadable' };

export interface RailQuestion<O extends DeliveryOp | AdminOp> {
  readonly broker: GatedBroker;
  readonly space: string;
  /** `owner.actor` of whoever asks: the subject says so, and the broker enforces it. */
  readonly principal: string;
  readonly op: O;
  readonly args: ArgsOf<O>;
  /** Milliseconds; the broker's own unless told. */
  readonly timeoutMs?: number;
}

const railOf = (op: DeliveryOp | AdminOp): RailName => (op in deliveryOps ? 'delivery' : 'delivery-admin');

export async function askRail<O extends DeliveryOp | AdminOp>(asked: RailQuestion<O>): Promise<RailAnswer<O>> {
  const { broker, space, principal, op, args, timeoutMs = broker.timeoutMs } = asked;
  const shut = broker.shut();
  if (shut !== undefined) return shut;
  const subject = railSubject(space, railOf(op), principal);
  const body = JSON.stringify({ op, args, from: { id: principal, name: principal.slice(principal.indexOf('.') + 1) } });
  const reply = `${replyPrefix(subject)}${nuid.next()}`;
  const { connection } = broker;
  try {
    const asking = connection.request(subject, body, { timeout: timeoutMs, noMux: true, reply });
    const message = await orClosed(connection, asking);
    return message === undefined ? { kind: 'silent', why: 'disconnected' } : readAnswer(op, message);
  } catch (error) {
    return failureOf(error);
  }
}

/** Who waits for an answer, by connection: one listener a connection, however many ask in the time of it. */
const waiting = new WeakMap<NatsConnection, Set<() => void>>();

/**
 * The answer; undefined where the connection was closed before it. The client library ends the subscription of such a request
 * then, and its time limit with it, and says nothing.
 */
function orClosed(connection: NatsConnection, asking: Promise<Msg>): Promise<Msg | undefined> {
  const ends = waiting.get(connection) ?? new Set();
  if (!waiting.has(connection)) {
    waiting.set(connection, ends);
    void connection.closed().then(() => {
      for (const end of ends) end();
    });
  }
  return new Promise((resolve, reject) => {
    const end = () => resolve(undefined);
    ends.add(end);
    void asking.then(resolve, reject).finally(() => ends.delete(end));
  });
}

function readAnswer<O extends DeliveryOp | AdminOp>(op: O, message: Msg): RailAnswer<O> {
  const reply = shaped(replySchema, readJson(message.data));
  if (reply === undefined) return { kind: 'unreadable' };
  if (!reply.ok) {
    return reply.error === undefined
      ? { kind: 'unreadable' }
      : { kind: 'refused', code: reply.error.code, message: reply.error.message };
  }
  const { data: schema } = { ...deliveryOps, ...adminOps }[op];
  const data = shaped<unknown>(schema, reply.data);
  return data === undefined ? { kind: 'unreadable' } : { kind: 'answered', data: data as DataOf<O> };
}
