/** What each profile is for works with its rights and the ordinary clients: no right is missing. */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  buckets,
  chatSubject,
  copySubject,
  entriesOf,
  entrySubject,
  FANOUT_CONSUMER,
  railSubject,
  railSubjects,
  replyPrefix,
  streams,
} from '../../src/domain/subjects.ts';
import type { AddedAgent } from '../../src/manager/lifecycle.ts';
import { publishOne } from '../../src/services/nats/batch.ts';
import { readGuardedRow, readRow, writeRow } from '../../src/services/nats/rows.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';

let mesh: Mesh;
let alice: AddedAgent;
beforeAll(async () => {
  mesh = await startMesh();
  alice = await mesh.addAgent({ name: 'alice', read: ['team.>'], post: ['team.>'] });
});
afterAll(() => mesh?.dispose());

const stream = streams('main');
const bucket = buckets('main');

describe('the delivery credential', () => {
  it('takes posts from the fan-out consumer and acknowledges them', async () => {
    const agent = await mesh.connect(alice.credential);
    await jetstream(agent).publish(chatSubject('main', alice.principal, 'team.a'), 'x');
    const consumer = await jetstream(await mesh.connect('delivery')).consumers.get(stream.chat, FANOUT_CONSUMER);
    const post = await consumer.next({ expires: 10_000 });
    expect(await post?.ackAck()).toBe(true);
  });

  it('makes the fan-out consumer again from a sequence', async () => {
    const manager = await jetstreamManager(await mesh.connect('delivery'), { checkAPI: false });
    const { config } = await manager.consumers.info(stream.chat, FANOUT_CONSUMER);
    await manager.consumers.delete(stream.chat, FANOUT_CONSUMER);
    await manager.consumers.add(stream.chat, { ...config, deliver_policy: 'by_start_sequence', opt_start_seq: 1 });
  });

  it('watches each bucket that it reads', async () => {
    const kvm = new Kvm(await mesh.connect('delivery'));
    for (const name of [bucket.acl, bucket.members, bucket.lanes, bucket.channels, bucket.delivery]) {
      const kv = await kvm.open(name);
      const watch = await kv.watch();
      watch.stop();
    }
    const acl = await (await kvm.open(bucket.acl)).watch();
    for await (const row of acl) {
      expect(row.key).toBe(`${alice.principal}.${alice.member.uid}`);
      break;
    }
  });

  it('reads entries in batches by direct get, removes one, and purges up to a sequence', async () => {
    const connection = await mesh.connect('delivery');
    const manager = await jetstreamManager(connection, { checkAPI: false });
    for (const body of ['1', '2', '3']) {
      await jetstream(connection).publish(entrySubject('main', alice.member, 'team.a'), body);
    }
    const read: string[] = [];
    const filter = entriesOf('main', alice.member);
    for await (const entry of await manager.direct.getBatch(stream.inbox, {
      seq: 1,
      batch: 10,
      next_by_subj: filter,
    })) {
      read.push(entry.string());
    }
    expect(read).toEqual(['1', '2', '3']);
    expect(await manager.streams.deleteMessage(stream.inbox, 1, false)).toBe(true);
    expect((await manager.streams.purge(stream.inbox, { filter, seq: 3 })).purged).toBe(1);
    const info = await manager.streams.info(stream.inbox, { subjects_filter: filter });
    expect(Object.values(info.state.subjects ?? {})).toEqual([1]);
  });

  it("hears a member's confirmation as a sample", async () => {
    const daemon = await mesh.connect('delivery');
    const metrics = daemon.subscribe(`$JS.EVENT.METRIC.CONSUMER.ACK.${stream.dlv}.>`, { max: 1 });
    await daemon.flush();
    const stored = await jetstream(daemon).publish(copySubject('main', alice.member, 'team.a'), 'copy');
    const agent = jetstream(await mesh.connect(alice.credential));
    const name = `dlv_local-alice-${alice.member.uid}`;
    const copy = await (await agent.consumers.get(stream.dlv, name)).next({ expires: 10_000 });
    await copy?.ackAck();
    for await (const metric of metrics) {
      expect(metric.json<{ stream_seq: number }>().stream_seq).toBe(stored.seq);
    }
  });

  it('answers a request on the rail, under the subject that the agent chose below its own', async () => {
    const daemon = await mesh.connect('delivery');
    daemon.subscribe(railSubjects('main', 'delivery'), { callback: (_, message) => void message.respond('answer') });
    await daemon.flush();
    const agent = await mesh.connect(alice.credential);
    const subject = railSubject('main', 'delivery', alice.principal);
    const reply = await agent.request(subject, 'question', {
      timeout: 10_000,
      noMux: true,
      reply: `${replyPrefix(subject)}one`,
    });
    expect(reply.string()).toBe('answer');
  });

  it('arms a timer that the broker fires', async () => {
    const connection = await mesh.connect('delivery');
    const armed = await publishOne({
      connection,
      message: {
        subject: 'cotal.main.ept.e.i.1.t.armed',
        data: new Uint8Array(),
        headers: {
          'Nats-Schedule': `@at ${new Date(Date.now() + 1_000).toISOString()}`,
          'Nats-Schedule-Target': 'cotal.main.ept.e.i.1.t.fire',
        },
        expectLastSubjectSeq: 0,
      },
      timeoutMs: 10_000,
    });
    expect(armed).toEqual({ kind: 'stored', seq: 1 });
  });
});

describe('the agent credential', () => {
  it('reads the class of a channel and the lease row, and tells its presence', async () => {
    const agent = await mesh.connect(alice.credential);
    const of = (name: string, key: string) => ({ connection: agent, bucket: name, key });
    expect(await readRow(of(bucket.channels, '=defaults'))).toEqual({ kind: 'absent', revision: 0, deleted: false });
    expect((await readRow(of(bucket.delivery, 'lease.0'))).kind).toBe('absent');
    const presence = { ...of(bucket.presence, alice.principal), value: { status: 'here' } };
    expect((await writeRow(presence)).kind).toBe('stored');
  });
});

describe('the manager credential', () => {
  it('reads what it wrote into the auth bucket, which nobody reads directly', async () => {
    const connection = await mesh.connect('manager');
    const row = { connection, bucket: bucket.auth, key: `uid.${alice.member.uid}` };
    expect((await readGuardedRow(row)).kind).toBe('found');
    expect(await readRow(row)).toMatchObject({ kind: 'failed', failure: { kind: 'denied' } });
    expect((await readGuardedRow({ ...row, key: 'uid.nobody' })).kind).toBe('absent');
  });

  it('watches its buckets', async () => {
    const kvm = new Kvm(await mesh.connect('manager'));
    for (const name of [bucket.auth, bucket.acl, bucket.members, bucket.lanes, bucket.manager]) {
      const watch = await (await kvm.open(name)).watch();
      watch.stop();
    }
  });
});

describe('the provisioner credential', () => {
  it('sets the class of a channel', async () => {
    const connection = await mesh.connect('provisioner');
    const row = { connection, bucket: bucket.channels, key: 'team.a' };
    const written = await writeRow({ ...row, value: { deliveryClass: 'live' }, expect: 0 });
    expect(written.kind).toBe('stored');
    expect(await writeRow({ ...row, value: { deliveryClass: 'durable' }, expect: 0 })).toEqual({ kind: 'conflict' });
    expect(await readRow(row)).toMatchObject({ kind: 'found' });
  });
});

describe('the observer credential', () => {
  it('lists the connections of its account, by the key of who is connected', async () => {
    await mesh.connect(alice.credential);
    const observer = await mesh.connect('observer');
    const reply = await observer.request(
      `$SYS.REQ.ACCOUNT.${mesh.keys.account.publicKey}.CONNZ`,
      JSON.stringify({ auth: true, subscriptions: false, offset: 0, limit: 1024 }),
      { timeout: 10_000 },
    );
    const page = reply.json<{ data: { connections: { authorized_user?: string }[] } }>();
    expect(page.data.connections.map((each) => each.authorized_user)).toContain(alice.credential.publicKey);
  });
});
