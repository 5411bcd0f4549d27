/** One serving holder a session: its row in the family's ledger, its credential, and the end of both. */
import { endpointGateKey, gateSchema } from '../domain/auth-rows.ts';
import {
  attachMachine,
  type Holder,
  type IssueFact,
  type RemoveHolderFact,
  type RevokeHolderFact,
} from '../machines/attach.machine.ts';
import { ask } from '../services/bind-effects.ts';
import type { Credential } from '../services/credential.ts';
import { type Family, familyRows, markRevoked, rowKeyOf } from './bind-family.ts';
import { bindRailWait } from './bind-rail.ts';
import type { ManagerPorts } from './ports.ts';

export interface AttachPorts extends ManagerPorts {
  readonly family: Family;
  /** Uid on the rows of the family's holders. */
  readonly lifecycleUid: string;
  /** Makes the holder's credential; it leaves only after its row was written. */
  issue(of: { session: string; principal: string }): Promise<Credential>;
  /** Takes the credential, when its row is there. */
  issued(credential: Credential): void;
}

export const sessionPrincipal = (session: string): string => `local.session_${session}`;

export function bindAttach(ports: AttachPorts) {
  const { rows, family, numbers } = ports;
  const ends = new Map<string, number>();
  return attachMachine.provide({
    actors: {
      railWait: bindRailWait(ports),
      issueHolder: ask<IssueFact, { session: string }>(async ({ session }, signal) => {
        const principal = sessionPrincipal(session);
        const gateKey = endpointGateKey(family.endpoint, family.instance);
        const gate = await rows.read({ key: gateKey, schema: gateSchema, signal });
        if (gate.type === 'store.unanswered' || gate.type === 'store.refused') return gate;
        if (gate.type !== 'found' || gate.row.state !== 'open') {
          return { type: 'store.refused', reason: 'the gate of the manager is not open: nothing is issued' };
        }
        const found = await familyRows(ports, family, signal);
        if (found.type === 'row.unreadable') return { type: 'store.refused', reason: `${found.key} cannot be read` };
        if (found.type !== 'rows') return found;
        const isTaken = [...found.rows.values()].some(
          (row) => row.holderPrincipal === principal && row.state === 'active',
        );
        if (isTaken) return { type: 'session.taken', principal };
        const credential = await ports.issue({ session, principal });
        if (credential.claims.exp !== undefined) ends.set(credential.publicKey, credential.claims.exp);
        const key = rowKeyOf(family, credential.publicKey);
        const doubtful = (reason: string) =>
          ({ type: 'holder.doubtful', principal, credentialId: credential.publicKey, reason }) as const;
        const written = await rows.write({
          key,
          value: {
            credentialId: credential.publicKey,
            holderPrincipal: principal,
            lifecycleUid: ports.lifecycleUid,
            state: 'active',
            exp: credential.claims.exp ?? null,
            sourceChain: [credential.claims.iss],
          },
          expect: 0,
          signal,
        });
        if (written.type === 'conflict') return { type: 'store.refused', reason: 'its ledger row is there already' };
        if (written.type === 'store.unanswered') return doubtful('the store did not answer');
        if (written.type !== 'written') return written;
        // Frozen meanwhile: whoever froze it may have listed the family before this row was there.
        const now = await rows.read({ key: gateKey, schema: gateSchema, signal });
        if (now.type !== 'found' || now.revision !== gate.revision) {
          const removed = await rows.remove({ key, expect: written.revision });
          // In conflict whoever froze it has marked the row revoked: that is not taken for a holder.
          if (removed.type === 'store.unanswered') return doubtful('the store did not answer');
          if (removed.type === 'store.refused') return doubtful(removed.reason);
          if (now.type === 'store.unanswered' || now.type === 'store.refused') return now;
          return { type: 'store.refused', reason: 'the gate of the manager was frozen meanwhile: nothing is issued' };
        }
        if (!signal.aborted) ports.issued(credential);
        return { type: 'holder.issued', principal, credentialId: credential.publicKey };
      }),
      revokeHolder: ask<RevokeHolderFact, Holder>(async ({ credentialId }, signal) => {
        const pushed = await ports.revoke({ users: [credentialId], ends, signal });
        if (pushed.type !== 'revoked') return pushed;
        return (await markRevoked(ports, family, [credentialId], signal)) ?? { type: 'holder.revoked' };
      }),
      removeHolder: ask<RemoveHolderFact, Holder>(async ({ credentialId }, signal) => {
        const removed = await rows.remove({ key: rowKeyOf(family, credentialId), signal });
        if (removed.type === 'conflict') return { type: 'store.unanswered' };
        return removed.type === 'removed' ? { type: 'holder.removed' } : removed;
      }),
    },
    delays: { askAgain: numbers.askAgainMs },
  });
}
