/** What lies in the store, and rows put there by hand. */
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { type Member, memberKey } from '../../../src/domain/names.ts';
import { buckets, deliveryConsumer, memberRowKey, streams } from '../../../src/domain/subjects.ts';
import { newUid } from '../../../src/manager/lifecycle.ts';
import { deleteRow, readRow, writeRow } from '../../../src/services/nats/rows.ts';
import type { Mesh } from '../mesh.ts';
import { until } from '../until.ts';

/** Of a request that a test waits for: a broker that is held up for a while is no fault. */
export const PATIENCE = { timeout: 10_000 };

/** Messages in a stream, all of them or those on a subject filter. */
export async function countIn(connection: NatsConnection, stream: string, filter?: string): Promise<number> {
  const body = filter === undefined ? {} : { subjects_filter: filter };
  const reply = await connection.request(`$JS.API.STREAM.INFO.${stream}`, JSON.stringify(body), PATIENCE);
  const { state } = reply.json<{ state: { messages: number; subjects?: Record<string, number> } }>();
  return filter === undefined
    ? state.messages
    : Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
}

export async function owedTo(
  mesh: Mesh,
  connection: NatsConnection,
  member: Member,
): Promise<{ entries: number; copies: number }> {
  const { inbox, dlv } = streams(mesh.space);
  const of = (family: string) => `cotal.${mesh.space}.${family}.${memberKey(member)}.>`;
  return { entries: await countIn(connection, inbox, of('dinbox')), copies: await countIn(connection, dlv, of('dlv')) };
}

/** Changes a member's ACL row as the manager does: by compare-and-set. */
export async function changeAcl(
  mesh: Mesh,
  member: Member,
  change: (row: Record<string, unknown>) => object,
): Promise<void> {
  const connection = await mesh.connect('manager');
  const address = { connection, bucket: buckets(mesh.space).acl, key: memberKey(member) };
  const before = await readRow(address);
  if (before.kind === 'failed') throw new Error(JSON.stringify(before.failure));
  const row =
    before.kind === 'found' ? (JSON.parse(Buffer.from(before.data).toString()) as Record<string, unknown>) : {};
  const written = await writeRow({ ...address, value: change(row), expect: before.revision });
  if (written.kind !== 'stored') throw new Error(JSON.stringify(written));
}

export const retire = (mesh: Mesh, member: Member): Promise<void> =>
  changeAcl(mesh, member, (row) => ({ retired: true, retiredAt: Date.now(), revision: Number(row.revision ?? 0) + 1 }));

/** The ACL row is deleted: what an operator's slip looks like, and not a retirement. */
export async function loseAcl(mesh: Mesh, member: Member): Promise<void> {
  const connection = await mesh.connect('manager');
  const gone = await deleteRow({ connection, bucket: buckets(mesh.space).acl, key: memberKey(member) });
  if (gone.kind !== 'stored') throw new Error(JSON.stringify(gone));
}

/** Members of a channel by their rows alone, without credentials: they are owed and never read. */
export async function addRows(mesh: Mesh, of: { channel: string; count: number; acl: boolean }): Promise<Member[]> {
  const [manager, delivery] = [await mesh.connect('manager'), await mesh.connect('delivery')];
  const members = Array.from(
    { length: of.count },
    (_, i): Member => ({ owner: 'rows', actor: `m${i}`, uid: newUid() }),
  );
  const updatedAt = Date.now();
  for (const member of members) {
    const key = memberKey(member);
    const acl = { name: member.actor, allowSubscribe: ['>'], issuedAllowSubscribe: ['>'], revision: 1, updatedAt };
    if (of.acl) await writeRow({ connection: manager, bucket: buckets(mesh.space).acl, key, value: acl });
    const value = {
      channel: of.channel,
      owner: `${member.owner}.${member.actor}`,
      lifecycleUid: member.uid,
      state: 'active',
      joinCursor: 0,
      generation: 1,
      writerIdentity: 'test',
      updatedAt,
    };
    await writeRow({
      connection: delivery,
      bucket: buckets(mesh.space).members,
      key: memberRowKey(of.channel, member),
      value,
    });
  }
  return members;
}

/** A membership row as it lies in the bucket. */
export async function membershipOf(mesh: Mesh, connection: NatsConnection, channel: string, member: Member) {
  const read = await readRow({ connection, bucket: buckets(mesh.space).members, key: memberRowKey(channel, member) });
  return read.kind === 'found' ? (JSON.parse(Buffer.from(read.data).toString()) as Record<string, unknown>) : undefined;
}

/** The mark of a hand-off is stored: after it, what was handed off is not handed off again. */
export async function hasMark(mesh: Mesh, connection: NatsConnection, member: Member): Promise<boolean> {
  const read = await readRow({ connection, bucket: buckets(mesh.space).lanes, key: memberKey(member) });
  return read.kind === 'found';
}

/**
 * Copies that were taken stay on DLV while their durable counts them as delivered and settled, as a broker that lost the end
 * of the stream leaves them: here by a durable that may deliver once. `replies`: where each taken copy is acknowledged.
 */
export async function passOver(of: {
  space: string;
  member: Member;
  manager: NatsConnection;
  agent: NatsConnection;
  replies: readonly string[];
}): Promise<void> {
  const { consumers } = await jetstreamManager(of.manager, { checkAPI: false });
  const [stream, durable] = [streams(of.space).dlv, deliveryConsumer(of.member)];
  await consumers.update(stream, durable, { max_deliver: 1 });
  for (const reply of of.replies) of.agent.publish(reply, '-NAK');
  await of.agent.flush();
  const next = `$JS.API.CONSUMER.MSG.NEXT.${stream}.${durable}`;
  // The durable lets go of what it may not deliver again when somebody asks it for more; who asks before the NAKs are
  // handled is told that there is nothing, and nothing is let go.
  const answer = await until(async () => {
    const { headers } = await of.agent.request(next, JSON.stringify({ batch: 1, no_wait: true }), PATIENCE);
    if (headers?.code !== 404) return 'something was pending';
    return (await consumers.info(stream, durable)).num_ack_pending === 0 && 'let go';
  }, 'the durable lets the copies go');
  if (answer !== 'let go') throw new Error(answer);
  await consumers.update(stream, durable, { max_deliver: -1 });
}
