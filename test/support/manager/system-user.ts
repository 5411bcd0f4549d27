/** A user of the system account who may do everything: to watch what is asked there, and to answer as another server would. */
import { encodeUser } from '@nats-io/jwt';
import type { NatsConnection } from '@nats-io/nats-core';
import { readUserClaims } from '../../../src/domain/claims.ts';
import { newPair } from '../../../src/services/credential.ts';
import type { Mesh } from '../mesh.ts';

export async function systemUser(mesh: Mesh): Promise<NatsConnection> {
  const pair = newPair('user');
  const all = { allow: ['>'], deny: [] };
  const jwt = await encodeUser('local.spy', pair, mesh.operator.system, { pub: all, sub: all });
  const claims = readUserClaims(jwt);
  if (claims === undefined) throw new Error('the JWT of the test cannot be read');
  return mesh.connect({ publicKey: pair.publicKey, jwt, claims, pair });
}

/** Answers the questions for connections as a second server of the cluster would; undefined: it stays silent. */
export async function secondServer(
  mesh: Mesh,
  reply: (asked: { offset: number; limit: number }, nth: number) => object | string | undefined,
): Promise<{ asked: number }> {
  const connection = await systemUser(mesh);
  const seen = { asked: 0 };
  connection.subscribe(`$SYS.REQ.ACCOUNT.${mesh.keys.account.publicKey}.CONNZ`, {
    callback: (_, message) => {
      const answer = reply(message.json<{ offset: number; limit: number }>(), seen.asked++);
      if (answer !== undefined) message.respond(typeof answer === 'string' ? answer : JSON.stringify(answer));
    },
  });
  await connection.flush();
  return seen;
}
