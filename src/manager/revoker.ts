/** Revocations by the keys of a workstation root: into the account's JWT on disk, and from there to the broker. */
import type { OperatorKeys } from '../services/local/auth-store.ts';
import { revokeUsers } from '../services/local/auth-store.ts';
import { mint } from '../services/local/mint.ts';
import { pushAccount } from '../services/nats/claims.ts';
import { connectOnce, type Dial } from '../services/nats/connect.ts';
import { parseDriverError } from '../services/nats/driver-errors.ts';
import { troubleOf } from './auth-rows.ts';
import type { ManagerPorts } from './ports.ts';

export interface RevokerOptions {
  readonly root: string;
  readonly space: string;
  readonly operator: Pick<OperatorKeys, 'system'>;
  /** How the broker is reached; a credential of its own is made for each push. */
  readonly dial: Omit<Dial, 'credential' | 'name'>;
  readonly nowMs: () => number;
}

export const revoker =
  ({ root, space, operator, dial, nowMs }: RevokerOptions): ManagerPorts['revoke'] =>
  async ({ users, ends, signal }) => {
    const isOver = () => signal?.aborted === true;
    if (isOver()) return { type: 'store.unanswered' };
    const credential = await mint({ operator }, { profile: { profile: 'claims' }, name: 'local.claims' });
    const connection = await connectOnce({ ...dial, name: 'claims', credential }).catch(parseDriverError);
    if ('kind' in connection) return troubleOf(connection);
    try {
      if (isOver()) return { type: 'store.unanswered' };
      const { answer } = await revokeUsers({
        root,
        space,
        users,
        ...(ends === undefined ? {} : { ends }),
        at: Math.floor(nowMs() / 1000),
        push: (accountJwt) => pushAccount({ connection, accountJwt }),
      });
      if (answer.kind === 'accepted') return { type: 'revoked' };
      if (answer.kind === 'failed') return troubleOf(answer.failure);
      return { type: 'store.refused', reason: `the broker did not take the revocation: ${answer.message}` };
    } finally {
      await connection.close();
    }
  };
