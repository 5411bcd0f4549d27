/** Whether the broker shows that a daemon serves: the lease row says ready, and its very holder answers that it is bound (U1). */
import type { NatsConnection } from '@nats-io/nats-core';
import { MANAGER_TTL_MS } from '../../domain/layout.ts';
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

interface LeaseAsked {
  readonly connection: NatsConnection;
  /** User key of the connection's credential. */
  readonly publicKey: string;
  readonly space: string;
  readonly timeoutMs: number;
}

/** The row of a lease, as the broker has it now. */
export async function lookAtLease(asked: LeaseAsked & { whose: 'delivery' | 'manager' }): Promise<Plane['lease']> {
  const { connection, publicKey, space, timeoutMs, whose } = asked;
  const gate = () => undefined;
  const broker = new GatedBroker({ connection, inboxPrefix: inboxPrefix(publicKey), gate, timeoutMs });
  const read = await natsLeaseRows({ broker, space, whose }).read();
  switch (read.kind) {
    case 'absent':
      return { kind: 'absent' };
    case 'unreadable':
      return { kind: 'unreadable', ageMs: read.ageMs };
    case 'silent':
      return { kind: 'unknown', why: read.why };
    case 'denied':
      return { kind: 'unknown', why: `${read.operation} on ${read.subject} was denied` };
    case 'row': {
      const { holder, incarnation, ready } = read.row;
      return { kind: 'held', holder, incarnation, ready, ageMs: read.ageMs };
    }
  }
}

export async function lookAtPlane(asked: LeaseAsked & { principal: string }): Promise<Plane> {
  const { connection, space, principal, timeoutMs } = asked;
  const lease = await lookAtLease({ ...asked, whose: 'delivery' });
  if (lease.kind !== 'held') return { lease, answers: [] };
  const { incarnation } = lease;
  const answers = await askLiveness({ connection, space, principal, instance: incarnation, timeoutMs });
  const own = answers.find((answer) => answer.instance === incarnation);
  return {
    lease,
    answers,
    ...(own === undefined ? {} : { responder: own.responder }),
  };
}

/** The manager that serves: its lease row says ready. Undefined: none does, or it cannot be told. */
export async function lookAtManager(asked: LeaseAsked): Promise<{ incarnation: string } | undefined> {
  const lease = await lookAtLease({ ...asked, whose: 'manager' });
  // A store that takes no write keeps a row that has ended too.
  return lease.kind === 'held' && lease.ready && lease.ageMs <= MANAGER_TTL_MS
    ? { incarnation: lease.incarnation }
    : undefined;
}
