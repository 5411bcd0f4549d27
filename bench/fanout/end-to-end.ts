/** Posts until every member has confirmed them, against bare consume and acknowledge on a stream configured like DLV. */
import { jetstream } from '@nats-io/jetstream';
import { encodeUser } from '@nats-io/jwt';
import type { NatsConnection } from '@nats-io/nats-core';
import type { Member } from '../../src/domain/names.ts';
import { inboxPrefix } from '../../src/domain/permissions.ts';
import { copySubject, deliveryConsumer, streams } from '../../src/domain/subjects.ts';
import { credsText, newPair, readCreds } from '../../src/services/credential.ts';
import type { Outgoing } from '../../src/services/nats/batch.ts';
import { until } from '../../test/support/until.ts';
import { startDaemon } from '../child.ts';
import { rounded } from '../figures.ts';
import { addMembers, type BenchSpace, openSpace, posts, storeAll } from '../space.ts';
import type { Durability } from './copies.ts';

const CHANNEL = 'bench.general';

export async function measureEndToEnd(of: {
  durability: Durability;
  reading: number;
  readPosts: number;
  say: (line: string) => void;
}) {
  const total = of.reading * of.readPosts;
  const raw = await bare(of.durability, of.reading, of.readPosts);
  of.say(`${of.durability}: ${Math.round(raw)} messages/s by bare consume and acknowledge, ${of.reading} consumers`);
  const space = await openSpace({ durability: of.durability });
  try {
    const members = await addMembers(space, { channel: CHANNEL, count: of.reading, durables: true });
    const sender = await space.mesh.addAgent({ name: 'sender', post: ['>'] });
    const posting = await space.mesh.connect(sender.credential);
    const daemon = await startDaemon(space.mesh);
    const stop = await readAll(space, members, total);
    const started = performance.now();
    await storeAll(
      posting,
      posts(space.mesh.space, { channel: CHANNEL, count: of.readPosts, bytes: 200, from: 'local.sender' }),
    );
    await stop.done;
    const confirmed = performance.now();
    // Settled is more than confirmed: nothing is owed any more.
    await until(
      async () => ((await daemon.ask()).tally['entries.settled'] ?? 0) >= total,
      async () => (await daemon.ask()).tally,
      300_000,
    );
    const settled = performance.now();
    const { rss } = await daemon.ask();
    await daemon.stop();
    const endToEndPerSecond = total / ((settled - started) / 1000);
    of.say(`${of.durability}: ${Math.round(endToEndPerSecond)} copies/s from post to settled`);
    return {
      members: of.reading,
      copies: total,
      endToEndPerSecond: Math.round(endToEndPerSecond),
      confirmedPerSecond: Math.round(total / ((confirmed - started) / 1000)),
      bareConsumePerSecond: Math.round(raw),
      ratioEndToEnd: rounded(endToEndPerSecond / raw),
      daemonRssMiB: Math.round(rss / 2 ** 20),
    };
  } finally {
    await space.mesh.dispose();
  }
}

/** The same messages put on DLV by hand, and nothing but their members reading them. */
async function bare(durability: Durability, reading: number, readPosts: number): Promise<number> {
  const space = await openSpace({ durability });
  try {
    const total = reading * readPosts;
    const members = await addMembers(space, { channel: CHANNEL, count: reading, durables: true });
    const copies = Array.from({ length: total }, (_, i): Outgoing => {
      const member = members[i % reading] ?? { owner: 'x', actor: 'x', uid: 'x' };
      return { subject: copySubject(space.mesh.space, member, CHANNEL), data: new Uint8Array(300).fill(120) };
    });
    await storeAll(space.delivery, copies);
    const started = performance.now();
    const stop = await readAll(space, members, total);
    await stop.done;
    await until(
      async () => (await held(space)) === 0,
      async () => `${await held(space)} left`,
      300_000,
    );
    return total / ((performance.now() - started) / 1000);
  } finally {
    await space.mesh.dispose();
  }
}

async function held({ delivery, mesh }: BenchSpace): Promise<number> {
  const info = await delivery.request(`$JS.API.STREAM.INFO.${streams(mesh.space).dlv}`, '{}');
  return info.json<{ state: { messages: number } }>().state.messages;
}

/** Every member reads its durable and acknowledges what it gets, over a few connections. */
async function readAll(space: BenchSpace, members: readonly Member[], total: number): Promise<{ done: Promise<void> }> {
  let acknowledged = 0;
  let settle: () => void = () => {};
  const done = new Promise<void>((resolve) => {
    settle = resolve;
  });
  const connections = await Promise.all(Array.from({ length: 4 }, () => openReader(space)));
  await Promise.all(
    members.map(async (member, i) => {
      const connection = connections[i % connections.length];
      if (connection === undefined) return;
      const consumer = await jetstream(connection).consumers.get(
        streams(space.mesh.space).dlv,
        deliveryConsumer(member),
      );
      await consumer.consume({
        max_messages: 256,
        callback: (message) => {
          message.ack();
          if (++acknowledged === total) settle();
        },
      });
    }),
  );
  return { done };
}

/** An agent's rights are one member's; the bench reads for all of them, with rights of its own. */
async function openReader({ mesh }: BenchSpace): Promise<NatsConnection> {
  const pair = newPair('user');
  const allowed = (allow: string[]) => ({ allow, deny: [] });
  const inbox = `${inboxPrefix(pair.publicKey)}.>`;
  const jwt = await encodeUser(
    'bench.reader',
    pair,
    mesh.keys.account,
    { pub: allowed(['$JS.API.CONSUMER.>', '$JS.ACK.>']), sub: allowed([inbox]) },
    { signer: mesh.keys.signing },
  );
  return mesh.connect(readCreds(credsText({ jwt, pair }), 'the bench'));
}
