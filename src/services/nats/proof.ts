/**
 * Proves a credential against the broker, on a connection that is thrown away (C2): the broker accepts it, and lets it do
 * what only the daemon of this space may: read pending entries and write the lease row. The write is not tried: what the
 * credential says of it is believed.
 */
import { allows, inboxPrefix } from '../../domain/permissions.ts';
import { buckets, keySubject, LEASE_KEY, streams } from '../../domain/subjects.ts';
import type { Credential } from '../credential.ts';
import type { Refused, Silent } from '../ports.ts';
import { connectOnce, type Dial } from './connect.ts';
import { parseDriverError } from './driver-errors.ts';
import { GatedBroker } from './gated-broker.ts';

export type Proof = { kind: 'proved' } | { kind: 'unproved'; why: string };

export async function proveCredential(asked: {
  broker: Omit<Dial, 'credential'>;
  credential: Credential;
  space: string;
  timeoutMs: number;
}): Promise<Proof> {
  const { credential, space, timeoutMs } = asked;
  const written = keySubject(buckets(space).delivery, LEASE_KEY);
  const { allow } = credential.claims.nats.pub ?? {};
  if (allow !== undefined && !allows(allow, written)) return { kind: 'unproved', why: `it may not write ${written}` };
  try {
    const connection = await connectOnce({ ...asked.broker, credential, name: 'delivery-proof', timeoutMs });
    try {
      const broker = new GatedBroker({
        connection,
        gate: () => undefined,
        timeoutMs,
        inboxPrefix: inboxPrefix(credential.publicKey),
      });
      const entries = streams(space).inbox;
      const read = await broker.request(`$JS.API.DIRECT.GET.${entries}`, { last_by_subj: 'none' });
      if (read.kind === 'reply') return { kind: 'proved' };
      return { kind: 'unproved', why: read.kind === 'denied' ? `it may not read ${entries}` : whyOf(read) };
    } finally {
      await connection.close();
    }
  } catch (error) {
    const failure = parseDriverError(error);
    return { kind: 'unproved', why: failure.kind === 'unexpected' ? failure.message : failure.kind };
  }
}

const whyOf = (read: Refused | Silent): string => (read.kind === 'silent' ? read.why : read.message);
