import { encodeUser } from '@nats-io/jwt';
import { afterEach, describe, expect, it } from 'vitest';
import { permissionsOf } from '../../../src/domain/permissions.ts';
import { buckets, FANOUT_CONSUMER, keySubject, LEASE_KEY, streams } from '../../../src/domain/subjects.ts';
import { createDaemon } from '../../../src/main.ts';
import { credsText, newPair } from '../../../src/services/credential.ts';
import { deleteRow, readRow, writeRow } from '../../../src/services/nats/rows.ts';
import type { SecretStore } from '../../../src/services/ports.ts';
import { TcpProxy } from '../../../src/torture/proxy.ts';
import { Agent, texts } from '../../support/delivery/agent.ts';
import {
  type DaemonProcess,
  type InProcess,
  startInProcess,
  startProcess,
  TestJournal,
} from '../../support/delivery/daemon.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

type Env = Readonly<Record<string, string>>;
/** A renewal that is not answered is soon in doubt, long before the lease expires. */
const DOUBTS_SOON: Env = {
  COTAL_DELIVERY_LEASE_TTL_MS: '10000',
  COTAL_DELIVERY_LEASE_RENEW_MS: '300',
  COTAL_DELIVERY_LEASE_FENCE_MS: '8000',
  COTAL_DELIVERY_EFFECT_TIMEOUT_MS: '2000',
};
/** The lease of a holder that is paused soon expires. */
const EXPIRES_SOON: Env = {
  COTAL_DELIVERY_LEASE_TTL_MS: '4000',
  COTAL_DELIVERY_LEASE_RENEW_MS: '300',
  COTAL_DELIVERY_LEASE_FENCE_MS: '3200',
};

describe('the lease: one daemon serves a space', () => {
  const ends: (() => Promise<unknown>)[] = [];
  /** A mesh for daemons with these numbers. */
  const open = async ({ COTAL_DELIVERY_LEASE_TTL_MS: ttl }: Env = {}) => {
    const mesh = await startMesh(ttl === undefined ? {} : { leaseTtlMs: Number(ttl) });
    process.env.COTAL_HOME = mesh.root;
    ends.push(() => mesh.dispose());
    return mesh;
  };
  const inProcess = async (mesh: Mesh): Promise<InProcess> => {
    const running = await startInProcess(mesh);
    ends.push(() => running.stop());
    return running;
  };
  const asProcess = (mesh: Mesh, of: Parameters<typeof startProcess>[1] = {}): DaemonProcess => {
    const daemon = startProcess(mesh, of);
    ends.push(() => daemon.kill());
    return daemon;
  };
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
  });
  const row = async (mesh: Mesh) => {
    const read = await readRow({
      connection: await mesh.connect('delivery'),
      bucket: buckets(mesh.space).delivery,
      key: LEASE_KEY,
    });
    if (read.kind === 'failed') throw new Error(JSON.stringify(read.failure));
    return read.kind === 'found'
      ? {
          ...(JSON.parse(Buffer.from(read.data).toString()) as { incarnation: string; ready: boolean }),
          revision: read.revision,
        }
      : undefined;
  };
  /** The daemon over a store of the test's own. */
  const overStore = async (mesh: Mesh, of: { creds: string; server?: string; env?: Env }) => {
    const { creds, server = mesh.url, env = {} } = of;
    const [observer, evictor] = await Promise.all([mesh.credsFor('observer'), mesh.credsFor('evictor')]);
    const texts: Record<string, string> = {
      delivery: creds,
      observer: credsText(observer),
      evictor: credsText(evictor),
    };
    const store: SecretStore = {
      identity: () => ({ kind: 'injected', coordinate: 'test' }),
      read: async (name) => texts[name],
    };
    const journal = new TestJournal();
    const daemon = createDaemon({ space: mesh.space, server, store, journal, env, signals: false });
    return { daemon, journal, ended: daemon.run() };
  };

  it('a second daemon does not bind, says whose the lease is, and leaves the first its record', async () => {
    const mesh = await open();
    const first = asProcess(mesh);
    await first.serving();
    const before = await row(mesh);
    const second = asProcess(mesh);
    expect(await second.exit).toBe(1);
    expect(second.stderr()).toContain('lease');
    const { readFileSync } = await import('node:fs');
    const { recordPath } = await import('../../../src/services/local/process-record.ts');
    expect(
      readFileSync(recordPath({ root: mesh.root, what: 'delivery', space: mesh.space }), 'utf8').split('\n')[0],
    ).toBe(String(first.process.pid));
    expect((await row(mesh))?.incarnation).toBe(before?.incarnation);
  });

  it('a write that the credential may not make is a denial with subject and operation, never another holder (LSE-03)', async () => {
    const mesh = await open();
    const pair = newPair('user');
    const subject = keySubject(buckets(mesh.space).delivery, LEASE_KEY);
    const rights = permissionsOf({ profile: 'delivery', space: mesh.space }, pair.publicKey);
    const publish = rights.publish.filter((line) => line !== keySubject(buckets(mesh.space).delivery, 'lease.*'));
    const jwt = await encodeUser(
      'local.delivery',
      pair,
      mesh.keys.account,
      { pub: { allow: publish, deny: [] }, sub: { allow: [...rights.subscribe], deny: [] } },
      { signer: mesh.keys.signing },
    );
    const { ended } = await overStore(mesh, { creds: credsText({ jwt, pair }) });
    const { end, message, code } = await ended;
    expect({ end, message, code }).toEqual({
      end: 'lease-denied',
      message: `publish on ${subject} was denied`,
      code: 1,
    });
    expect(await row(mesh)).toBeUndefined();
  });

  it('a renewal whose answer is lost is read back and carried on with (LSE-07)', async () => {
    const mesh = await open(DOUBTS_SOON);
    const proxy = await TcpProxy.to(mesh.url);
    ends.push(() => proxy.close());
    const creds = credsText(await mesh.credsFor('delivery'));
    const { daemon, ended } = await overStore(mesh, { creds, server: proxy.url, env: DOUBTS_SOON });
    await until(() => daemon.actor.getSnapshot().hasTag('serving'), 'serving');
    const before = await row(mesh);
    proxy.hold('toClient');
    await until(async () => ((await row(mesh))?.revision ?? 0) > (before?.revision ?? 0), 'a renewal that lands');
    await until(() => !daemon.actor.getSnapshot().hasTag('serving'), 'a doubt');
    proxy.release();
    await until(() => daemon.actor.getSnapshot().hasTag('serving'), 'serving again');
    expect((await row(mesh))?.incarnation).toBe(before?.incarnation);
    daemon.stop();
    expect((await ended).end).toBe('stopped');
  });

  it('in doubt it answers nobody and copies nothing; once it knows, it goes on (LSE-06)', async () => {
    const mesh = await open(DOUBTS_SOON);
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    const proxy = await TcpProxy.to(mesh.url);
    ends.push(() => proxy.close());
    const creds = credsText(await mesh.credsFor('delivery'));
    const { daemon, ended } = await overStore(mesh, { creds, server: proxy.url, env: DOUBTS_SOON });
    await until(() => daemon.actor.getSnapshot().hasTag('serving'), 'serving');
    await until(() => bob.join('team'), 'a join');
    proxy.hold('toBroker', 'toClient');
    await until(() => !daemon.actor.getSnapshot().hasTag('serving'), 'a doubt');
    await alice.post('team', { text: 'meanwhile' });
    await expect(bob.ask('pendingCount', {}, { timeoutMs: 300 })).rejects.toThrow();
    expect(daemon.tally.get('copies.stored')).toBe(0);
    proxy.release();
    expect(texts(await bob.read(1, 10_000))).toEqual(['meanwhile']);
    daemon.stop();
    await ended;
  });

  it('another writer on the row takes it: the loser ends without touching it again', async () => {
    const mesh = await open();
    const running = await inProcess(mesh);
    const connection = await mesh.connect('delivery');
    const address = { connection, bucket: buckets(mesh.space).delivery, key: LEASE_KEY };
    const theirs = {
      holder: 'local.other',
      incarnation: 'other',
      since: 1,
      acquiredAt: 1,
      ready: true,
      proofKey: '',
      proofAttestation: '',
    };
    const written = await writeRow({ ...address, value: theirs });
    expect(await running.ended).toMatchObject({ end: 'lease-taken', code: 1 });
    const after = await readRow(address);
    expect(after).toMatchObject({ kind: 'found', revision: written.kind === 'stored' ? written.revision : 0 });
  });

  it('a row that is gone with nobody else on it is made again, and serving goes on (LSE-12, LSE-15)', async () => {
    const mesh = await open();
    const bob = await Agent.add(mesh, 'bob');
    const running = await inProcess(mesh);
    await deleteRow({
      connection: await mesh.connect('delivery'),
      bucket: buckets(mesh.space).delivery,
      key: LEASE_KEY,
    });
    await until(
      () => running.journal.count('daemon.quiesced') === 1,
      () => running.state(),
    );
    await until(
      () => running.daemon.actor.getSnapshot().hasTag('serving'),
      () => running.state(),
    );
    expect((await row(mesh))?.incarnation).toBe(running.daemon.incarnation);
    expect((await bob.asked('pendingCount', {})).pending).toBe(0);
  });

  it('a daemon that is paused past its lease makes it again when it wakes, if nobody took it', async () => {
    const mesh = await open(EXPIRES_SOON);
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    const daemon = asProcess(mesh, { env: EXPIRES_SOON });
    await daemon.serving();
    await until(() => bob.join('team'), daemon.stderr);
    const before = await row(mesh);
    daemon.process.kill('SIGSTOP');
    await until(async () => (await row(mesh)) === undefined, 'the row expires', 20_000);
    daemon.process.kill('SIGCONT');
    await alice.post('team', { text: 'after the pause' });
    expect(texts(await bob.read(1, 15_000))).toEqual(['after the pause']);
    expect((await row(mesh))?.incarnation).toBe(before?.incarnation);
  });

  it('a paused holder whose lease was taken ends when it wakes, and has no effect before', async () => {
    const mesh = await open(EXPIRES_SOON);
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    const first = asProcess(mesh, { env: EXPIRES_SOON });
    await first.serving();
    await until(() => bob.join('team'), first.stderr);
    first.process.kill('SIGSTOP');
    const second = asProcess(mesh, { env: EXPIRES_SOON, standby: true });
    await second.serving();
    await alice.post('team', { text: 'one' });
    expect(texts(await bob.read(1, 10_000))).toEqual(['one']);
    first.process.kill('SIGCONT');
    expect(await first.exit).toBe(1);
    await alice.post('team', { text: 'two' });
    expect(texts(await bob.read(1, 10_000))).toEqual(['two']);
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
  });

  it('what daemons in a row had in hand when they died is copied at once by the next one, whatever was settled in between', async () => {
    const mesh = await open();
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    const connection = await mesh.connect('delivery');
    const { chat } = streams(mesh.space);
    /** A post is delivered to somebody who dies with it: the broker waits a minute for the acknowledgement. */
    const heldByADeadOne = async (text: string) => {
      await alice.post('team', { text });
      const pull = JSON.stringify({ batch: 1, no_wait: true });
      const next = `$JS.API.CONSUMER.MSG.NEXT.${chat}.${FANOUT_CONSUMER}`;
      const held = await connection.request(next, pull, { noMux: true, timeout: 5_000 });
      expect(held.string()).toContain(text);
    };
    const first = await inProcess(mesh);
    await bob.join('team');
    await first.stop();
    await heldByADeadOne('one');
    const second = await inProcess(mesh);
    await alice.post('team', { text: 'two' });
    expect(texts(await bob.read(2, 10_000))).toEqual(['one', 'two']);
    await second.stop();
    await heldByADeadOne('three');
    await inProcess(mesh);
    expect(texts(await bob.read(1, 10_000))).toEqual(['three']);
  });
});
