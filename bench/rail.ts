/** A rail request as an agent makes it. */
import { type NatsConnection, nuid } from '@nats-io/nats-core';
import { railSubject, replyPrefix } from '../src/domain/subjects.ts';

export async function railJoin(
  connection: NatsConnection,
  space: string,
  principal: string,
  channel: string,
): Promise<void> {
  const subject = railSubject(space, 'delivery', principal);
  const reply = await connection.request(subject, JSON.stringify({ op: 'durableJoin', args: { channel } }), {
    timeout: 10_000,
    noMux: true,
    reply: `${replyPrefix(subject)}${nuid.next()}`,
  });
  const { ok, data } = reply.json<{ ok: boolean; data?: { durable: boolean } }>();
  if (!ok || data?.durable !== true) throw new Error(`the bench could not join: ${reply.string()}`);
}
