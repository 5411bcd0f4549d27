/** A manager's questions on the admin rail, as a test puts them. */
import type { NatsConnection } from '@nats-io/nats-core';
import type { AdminOp, ArgsOf } from '../../../src/domain/rail.ts';
import type { Credential } from '../../../src/services/credential.ts';
import { revokeUsers } from '../../../src/services/local/auth-store.ts';
import { pushAccount } from '../../../src/services/nats/claims.ts';
import { GatedBroker } from '../../../src/services/nats/gated-broker.ts';
import { askRail, type RailAnswer } from '../../../src/services/nats/rail-client.ts';
import type { Mesh } from '../mesh.ts';

export type Ask = <O extends AdminOp>(op: O, args: ArgsOf<O>) => Promise<RailAnswer<O>>;

export async function managerOf(mesh: Mesh): Promise<{ ask: Ask; connection: NatsConnection }> {
  const connection = await mesh.connect('manager');
  const broker = new GatedBroker({ connection, inboxPrefix: '_INBOX', gate: () => undefined, timeoutMs: 30_000 });
  return {
    connection,
    ask: (op, args) => askRail({ broker, space: mesh.space, principal: 'local.manager', op, args }),
  };
}

/** Keeps the user keys of these credentials out from now on, as the manager does before it evicts. */
export async function revoke(mesh: Mesh, ...credentials: readonly Credential[]): Promise<void> {
  const connection = await mesh.connect('claims');
  const { answer } = await revokeUsers({
    root: mesh.root,
    space: mesh.space,
    users: credentials.map(({ publicKey }) => publicKey),
    at: Math.floor(Date.now() / 1000),
    push: (accountJwt) => pushAccount({ connection, accountJwt }),
  });
  if (answer.kind !== 'accepted') throw new Error(JSON.stringify(answer));
}
