/** One question on the rail for managers, from the command line. */
import type { NatsConnection } from '@nats-io/nats-core';
import { inboxPrefix } from '../domain/permissions.ts';
import type { AdminOp, ArgsOf } from '../domain/rail.ts';
import type { Credential } from '../services/credential.ts';
import { GatedBroker } from '../services/nats/gated-broker.ts';
import { askRail, type RailAnswer } from '../services/nats/rail-client.ts';
import { CLI_PRINCIPAL } from './open-mesh.ts';

const TIMEOUT_MS = 5_000;

export function askAdmin<O extends AdminOp>(
  of: { connection: NatsConnection; credential: Credential; space: string },
  op: O,
  args: ArgsOf<O>,
): Promise<RailAnswer<O>> {
  const { connection, credential, space } = of;
  const broker = new GatedBroker({
    connection,
    inboxPrefix: inboxPrefix(credential.publicKey),
    timeoutMs: TIMEOUT_MS,
    gate: () => (connection.isClosed() ? 'the connection is closed' : undefined),
  });
  return askRail({ broker, space, principal: CLI_PRINCIPAL, op, args });
}

/** In words: why there is no answer. */
export function whyNot(answer: Exclude<RailAnswer<AdminOp>, { kind: 'answered' }>): string {
  switch (answer.kind) {
    case 'silent':
      return `no daemon answers on ctl.delivery-admin (${answer.why})`;
    case 'unreadable':
      return 'the reply on ctl.delivery-admin cannot be read';
    case 'denied':
      return `the broker denied ${answer.subject}`;
    case 'refused':
      return answer.message;
  }
}
