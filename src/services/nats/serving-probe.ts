/** Whether the broker shows that a daemon serves: the lease row says ready, and its very holder answers that it is bound (U1). */
import type { NatsConnection } from '@nats-io/nats-core';
import { inboxPrefix } from '../../domain/permissions.ts';
import { GatedBroker } from './gated-broker.ts';
import { natsLeaseRows } from './lease-rows.ts';
import { askLiveness, type LivenessAnswer } from './liveness.ts';

export interface Plane {
  /** `unknown`: the broker did not answer for the row. */
  readonly lease:
    | {
        readonly kind: 'held';
        readonly holder: string;
        readonly incarnation: string;
        readonly ready: boolean;
        readonly ageMs: number;
      }
    | { readonly kind: 'absent' }
    | { readonly kind: 'unreadable'; readonly ageMs: number }
    | { readonly kind: 'unknown'; readonly why: string };
  /** What the holder's own responder answered; absent when it did not. */
  readonly responder?: LivenessAnswer['responder'];
  readonly answers: readonly LivenessAnswer[];
}

export const servesAs = ({ lease, responder }: Plane, incarnation?: string): boolean =>
  lease.kind === 'held' &&
  lease.ready &&
  responder === 'bound' &&
  (incarnation === undefined || lease.incarnation === incarnation);

export async function lookAtPlane(asked: {
  connection: NatsConnection;
  /** User key of the connection's credential. */
  publicKey: string;
  space: string;
  principal: string;
  timeoutMs: number;
}): Promise<Plane> {
  const { connection, publicKey, space, principal, timeoutMs } = asked;
  const broker = new GatedBroker({
    connection,
    inboxPrefix: inboxPrefix(publicKey),
    gate: () => undefined,
    timeoutMs,
  });
  const read = await natsLeaseRows({ broker, space }).read();
  if (read.kind === 'absent') return { lease: { kind: 'absent' }, answers: [] };
  if (read.kind === 'unreadable') return { lease: { kind: 'unreadable', ageMs: read.ageMs }, answers: [] };
  if (read.kind === 'silent') return { lease: { kind: 'unknown', why: read.why }, answers: [] };
  if (read.kind === 'denied') {
    return { lease: { kind: 'unknown', why: `${read.operation} on ${read.subject} was denied` }, answers: [] };
  }
  const { holder, incarnation, ready } = read.row;
  const answers = await askLiveness({ connection, space, principal, instance: incarnation, timeoutMs });
  const own = answers.find((answer) => answer.instance === incarnation);
  return {
    lease: { kind: 'held', holder, incarnation, ready, ageMs: read.ageMs },
    answers,
    ...(own === undefined ? {} : { responder: own.responder }),
  };
}

/** The manager that serves: its lease row says ready. Undefined: none does, or it cannot be told. */
export async function lookAtManager(asked: {
  connection: NatsConnection;
  publicKey: string;
  space: string;
  timeoutMs: number;
}): Promise<{ incarnation: string } | undefined> {
  const { connection, publicKey, space, timeoutMs } = asked;
  const gate = () => undefined;
  const broker = new GatedBroker({ connection, inboxPrefix: inboxPrefix(publicKey), gate, timeoutMs });
  const read = await natsLeaseRows({ broker, space, whose: 'manager' }).read();
  return read.kind === 'row' && read.row.ready ? { incarnation: read.row.incarnation } : undefined;
}
