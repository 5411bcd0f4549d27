/** What a daemon meets that nobody should have written: a lease row of any kind, and a clock that jumps. */
import { describe, it, type TestContext } from 'vitest';
import { buckets, LEASE_KEY } from '../../../src/domain/subjects.ts';
import { systemClock } from '../../../src/services/local/clock.ts';
import { readRow, writeRow } from '../../../src/services/nats/rows.ts';
import type { Clock } from '../../../src/services/ports.ts';
import { Agent, texts } from '../../support/delivery/agent.ts';
import { startStored } from '../../support/delivery/stored.ts';
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
