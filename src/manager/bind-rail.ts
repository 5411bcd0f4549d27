/** The waits on the rail, and the proof of the store, over a line and the lease row. */
import { shaped } from '../domain/message.ts';
import { adminOps } from '../domain/rail.ts';
import { leaseRowSchema } from '../domain/rows.ts';
import { attestationText, judgeProof, proofText } from '../domain/store-proof.ts';
import { LEASE_KEY } from '../domain/subjects.ts';
import { type Attempt, type RailFact, railWaitMachine } from '../machines/rail-wait.machine.ts';
import { type HolderFact, storeProofMachine, type VerifyFact } from '../machines/store-proof.machine.ts';
import { ask } from '../services/bind-effects.ts';
import { isSignedBy, readCreds } from '../services/credential.ts';
import type { SecretStore } from '../services/ports.ts';
import type { ManagerPorts } from './ports.ts';

type Line = Pick<ManagerPorts, 'line'>;

export const bindRailWait = ({ line }: Line) =>
  railWaitMachine.provide({
    actors: { askRail: ask<RailFact, Attempt>((attempt, signal) => line.ask(attempt, signal)) },
  });

/** Who holds the delivery lease, in words. */
export const lookForHolder = ({ rows }: Pick<ManagerPorts, 'rows'>) =>
  ask<HolderFact, undefined>(async (_, signal) => {
    const read = await rows.read({ bucket: 'delivery', key: LEASE_KEY, schema: leaseRowSchema, signal });
    switch (read.type) {
      case 'found': {
        const { holder, incarnation, ready } = read.row;
        return { type: 'holder.there', holder: `held by ${holder} (${incarnation}), ${ready ? 'ready' : 'not ready'}` };
      }
      case 'absent':
        return { type: 'holder.absent' };
      case 'unreadable':
        return { type: 'holder.unknown', reason: 'the lease row cannot be read' };
      case 'store.unanswered':
        return { type: 'holder.unknown', reason: 'the lease row was not answered' };
      case 'store.refused':
        return { type: 'holder.unknown', reason: read.reason };
    }
  });

/** `store`: the one that we write into. */
export function bindStoreProof(of: Pick<ManagerPorts, 'line' | 'rows' | 'space'> & { store: SecretStore }) {
  const { rows, space, store } = of;
  return storeProofMachine.provide({
    actors: {
      railWait: bindRailWait(of),
      lookForHolder: lookForHolder(of),
      verifyProof: ask<VerifyFact, { challenge: string; answer: unknown }>(async ({ challenge, answer }, signal) => {
        const no = (reason: string): VerifyFact => ({ type: 'proof.undetermined', reason });
        const said = shaped(adminOps.reloadStoreIdentity.data, answer);
        if (said === undefined) return no('the answer to reloadStoreIdentity has another shape');
        const read = await rows.read({ bucket: 'delivery', key: LEASE_KEY, schema: leaseRowSchema, signal });
        if (read.type === 'absent') return no('somebody answered, and nobody holds the lease');
        if (read.type === 'unreadable') return no('the lease row cannot be read');
        if (read.type !== 'found') return no('the lease row was not answered');
        const { row } = read;
        const { holder, proofKey } = row;
        const text = await store.read('delivery');
        const seed = text === undefined ? undefined : readCreds(text, 'delivery.creds').publicKey;
        const { incarnation } = said;
        const verdict = judgeProof({
          challenge,
          ours: store.identity(),
          answer: said,
          row,
          isSigned: isSignedBy(
            proofKey,
            proofText({ space, incarnation, challenge: said.challenge, identity: said.identity }),
            said.signature,
          ),
          isAttested:
            seed !== undefined &&
            isSignedBy(
              seed,
              attestationText({ space, holder, incarnation: row.incarnation, proofKey }),
              row.proofAttestation,
            ),
        });
        switch (verdict.kind) {
          case 'matched':
            return { type: 'proof.matched', incarnation: verdict.incarnation };
          case 'mismatched':
            return { type: 'proof.mismatched', ours: verdict.ours, theirs: verdict.theirs };
          case 'undetermined':
            return no(verdict.reason);
        }
      }),
    },
  });
}
