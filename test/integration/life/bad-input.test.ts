/** What a daemon meets that nobody should have made: a lease row of any kind, a bucket for it, and a clock that jumps. */
import { jetstreamManager, type StreamConfig } from '@nats-io/jetstream';
import { describe, it, type TestContext } from 'vitest';
import { bucketStream, buckets, LEASE_KEY } from '../../../src/domain/subjects.ts';
import { systemClock } from '../../../src/services/local/clock.ts';
import { readRow, writeRow } from '../../../src/services/nats/rows.ts';
import type { Clock } from '../../../src/services/ports.ts';
import { TcpProxy } from '../../../src/torture/proxy.ts';
import { Agent, texts } from '../../support/delivery/agent.ts';
import { startStored } from '../../support/delivery/stored.ts';
import { connectAsAnybody } from '../../support/lease-history.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

const QUICK = {
  COTAL_DELIVERY_LEASE_TTL_MS: '10000',
  COTAL_DELIVERY_LEASE_RENEW_MS: '300',
  COTAL_DELIVERY_LEASE_FENCE_MS: '2500',
  COTAL_DELIVERY_STANDBY_PROBE_MS: '100',
};
async function open({ onTestFinished }: TestContext): Promise<Mesh> {
  // Longer than a start takes on a busy machine.
  const mesh = await startMesh({ leaseTtlMs: 10_000 });
  onTestFinished(() => mesh.dispose());
  return mesh;
}
async function daemonOf(mesh: Mesh, context: TestContext, more: { standby?: boolean; clock?: Clock } = {}) {
  const running = await startStored(mesh, { credential: await mesh.credsFor('delivery'), env: QUICK, ...more });
  context.onTestFinished(async () => void (await running.stop()));
  return running;
}

describe.concurrent('a lease row', () => {
  const row = {
    holder: 'local.delivery',
    incarnation: 'another',
    since: 1,
    acquiredAt: 1,
    ready: true,
    proofKey: '',
    proofAttestation: '',
  };
  const future = Date.now() + 365 * 24 * 3_600_000;
  it.for([
    ['of somebody else', row, 'local.delivery'],
    ['that is dated in the future', { ...row, since: future, acquiredAt: future }, 'local.delivery'],
    ['that is no row', { holder: 7 }, '(an unreadable row)'],
  ] as const)(
    '%s is not touched, and is taken over when the broker has let it end',
    async ([, value, holder], context) => {
      const { expect } = context;
      const mesh = await open(context);
      const connection = await mesh.connect('delivery');
      const address = { connection, bucket: buckets(mesh.space).delivery, key: LEASE_KEY };
      const written = await writeRow({ ...address, value });
      const refused = await daemonOf(mesh, context);
      const { end, message, code } = await refused.ended;
      expect([end, code]).toEqual(['lease-refused', 1]);
      expect(message).toMatch(
        new RegExp(`^the lease is held by ${holder.replace(/[()]/g, '\\$&')} and can last \\d+ s$`),
      );
      const after = await readRow(address);
      if (after.kind === 'found') expect(after.revision).toBe(written.kind === 'stored' ? written.revision : 0);
      const standby = await daemonOf(mesh, context, { standby: true });
      await standby.serving();
    },
  );
});

describe.concurrent('a bucket of the lease', () => {
  const bucket = (mesh: Mesh) => bucketStream(buckets(mesh.space).delivery);
  /** The bucket as somebody else made it. */
  async function remade(mesh: Mesh, context: TestContext, change: Partial<StreamConfig>): Promise<void> {
    const connection = await connectAsAnybody({ url: mesh.url, keys: mesh.keys });
    context.onTestFinished(() => connection.close());
    const manager = await jetstreamManager(connection, { checkAPI: false });
    const { config } = await manager.streams.info(bucket(mesh));
    await manager.streams.delete(bucket(mesh));
    await manager.streams.add({ ...config, ...change });
  }

  it.for([
    ['never end', 0, 'its rows never end'],
    ['end too late', 3_600_000, 'its rows end after 3600 s, and a lease lives 10 s'],
    [
      'end before their holder’s own fence',
      2_500,
      'its rows end after 2.5 s, and a holder goes by its lease for 2.5 s',
    ],
  ] as const)(
    'whose rows %s is refused by name before the lease, and nothing is written (LSE-11)',
    async ([, ageMs, why], context) => {
      const { expect } = context;
      const mesh = await open(context);
      await remade(mesh, context, {
        max_age: ageMs * 1_000_000,
        duplicate_window: Math.min(2_000, ageMs || 2_000) * 1_000_000,
      });
      const refused = await daemonOf(mesh, context);
      const { end, message, code } = await refused.ended;
      expect([end, code]).toEqual(['refused', 1]);
      expect(message).toBe(
        `the store of this space is not usable: the lease cannot be held in ${bucket(mesh)}: ${why}`,
      );
      const address = {
        connection: await mesh.connect('delivery'),
        bucket: buckets(mesh.space).delivery,
        key: LEASE_KEY,
      };
      expect(await readRow(address)).toEqual({ kind: 'absent', revision: 0, deleted: false });
    },
  );

  it('that says nothing when a row ends: the holder knows by its own clock, makes it again, and serves on (LSE-12, LSE-15)', async (context) => {
    const { expect } = context;
    const mesh = await startMesh({ leaseTtlMs: 2_000 });
    context.onTestFinished(() => mesh.dispose());
    await remade(mesh, context, { allow_msg_ttl: false, subject_delete_marker_ttl: 0 });
    const proxy = await TcpProxy.to(mesh.url);
    context.onTestFinished(() => proxy.close());
    const env = {
      ...QUICK,
      COTAL_DELIVERY_LEASE_TTL_MS: '2000',
      COTAL_DELIVERY_LEASE_FENCE_MS: '1500',
      COTAL_DELIVERY_EFFECT_TIMEOUT_MS: '1000',
    };
    const running = await startStored(mesh, { credential: await mesh.credsFor('delivery'), env, server: proxy.url });
    context.onTestFinished(async () => void (await running.stop()));
    await running.started();
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    await bob.join('team');
    proxy.hold('toBroker', 'toClient');
    const connection = await mesh.connect('delivery');
    await until(
      async () =>
        (await readRow({ connection, bucket: buckets(mesh.space).delivery, key: LEASE_KEY })).kind === 'absent',
      () => running.state(),
    );
    await until(
      () => !running.daemon.actor.getSnapshot().hasTag('serving'),
      () => running.state(),
    );
    await alice.post('team', { text: 'meanwhile' });
    proxy.release();
    expect(texts(await bob.read(1, 20_000))).toEqual(['meanwhile']);
    expect(running.journal.lines().filter((line) => line.startsWith('✗'))).toEqual([]);
  });
});

describe.concurrent('a clock that jumps', () => {
  it.for([
    ['an hour ahead', 3_600_000],
    ['an hour back', -3_600_000],
  ] as const)('%s: what it doubts it asks about, and it serves on', async ([, jumpMs], context) => {
    const { expect } = context;
    const mesh = await open(context);
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    let jumped = 0;
    const clock: Clock = {
      now: () => {
        const { monotonicMs, wallMs } = systemClock.now();
        return { monotonicMs, wallMs: wallMs + jumped };
      },
    };
    const running = await daemonOf(mesh, context, { clock });
    await running.started();
    await bob.join('team');
    jumped = jumpMs;
    await alice.post('team', { text: 'after the jump' });
    expect(texts(await bob.read(1, 20_000))).toEqual(['after the jump']);
    await until(
      () => running.daemon.actor.getSnapshot().hasTag('serving'),
      () => running.state(),
    );
    expect(running.journal.lines().filter((line) => line.startsWith('✗'))).toEqual([]);
  });
});
