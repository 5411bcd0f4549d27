import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { buckets, LEASE_KEY } from '../../../src/domain/subjects.ts';
import { createDaemon } from '../../../src/main.ts';
import { ServingPeriod } from '../../../src/services/delivery/period.ts';
import { recordMesh } from '../../../src/services/local/mesh-registry.ts';
import { readRow } from '../../../src/services/nats/rows.ts';
import { Agent, texts } from '../../support/delivery/agent.ts';
import { type DaemonProcess, startProcess, TestJournal } from '../../support/delivery/daemon.ts';
import { startStored } from '../../support/delivery/stored.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

const QUICK = {
  COTAL_DELIVERY_LEASE_TTL_MS: '2000',
  COTAL_DELIVERY_LEASE_RENEW_MS: '300',
  COTAL_DELIVERY_LEASE_FENCE_MS: '1500',
  COTAL_DELIVERY_STANDBY_PROBE_MS: '50',
};
async function open(leaseTtlMs = 2_000): Promise<Mesh> {
  const mesh = await startMesh({ leaseTtlMs });
  onTestFinished(() => mesh.dispose());
  return mesh;
}
async function daemonOf(mesh: Mesh, standby = false, env: Record<string, string> = QUICK) {
  const running = await startStored(mesh, { credential: await mesh.credsFor('delivery'), env, standby });
  onTestFinished(async () => void (await running.stop()));
  return running;
}

describe('a daemon', () => {
  it('that meets a fault after the lease says where it came from, gives the lease back, and ends with 1 (D3)', async () => {
    const mesh = await open();
    const planted = vi.spyOn(ServingPeriod.prototype, 'open').mockRejectedValue(new Error('planted'));
    onTestFinished(() => planted.mockRestore());
    const running = await daemonOf(mesh);
    expect(await running.ended).toMatchObject({ end: 'faulted', code: 1 });
    const [line = ''] = running.journal.lines().filter((each) => each.includes('openStores failed'));
    expect(line).toMatch(/^✗ delivery: openStores failed: Error: planted\n {4}at .+daemon\.test\.ts/);
    const row = await readRow({
      connection: await mesh.connect('delivery'),
      bucket: buckets(mesh.space).delivery,
      key: LEASE_KEY,
    });
    expect(row.kind).toBe('absent');
  });

  it('that stands by says whom it waits for once for each holder, and takes over when that one is gone', async () => {
    // The row outlives every stall of a busy machine: it changes hands because it is given back.
    const mesh = await open(20_000);
    const patient = { ...QUICK, COTAL_DELIVERY_LEASE_TTL_MS: '20000', COTAL_DELIVERY_LEASE_FENCE_MS: '16000' };
    const first = await daemonOf(mesh, false, patient);
    await first.started();
    const standby = await daemonOf(mesh, true, patient);
    await until(
      () => standby.journal.count('lease.waiting') === 1,
      () => standby.state(),
    );
    // Many probes later it has said it once.
    const row = async () =>
      readRow({ connection: await mesh.connect('delivery'), bucket: buckets(mesh.space).delivery, key: LEASE_KEY });
    const seen = await row();
    const revision = seen.kind === 'found' ? seen.revision : 0;
    await until(
      async () => {
        const now = await row();
        return now.kind === 'found' && now.revision >= revision + 3;
      },
      () => standby.state(),
    );
    expect(standby.journal.count('lease.waiting')).toBe(1);
    expect(standby.journal.lines()).toContain('• delivery: standing by, the lease is held by local.delivery');
    const third = await daemonOf(mesh, true, patient);
    await until(
      () => third.journal.count('lease.waiting') === 1,
      () => third.state(),
    );
    await first.stop();
    await until(
      () => standby.daemon.actor.getSnapshot().hasTag('serving') !== third.daemon.actor.getSnapshot().hasTag('serving'),
      () => `${standby.state()}\n${third.state()}`,
    );
    const loser = standby.daemon.actor.getSnapshot().hasTag('serving') ? third : standby;
    await until(
      () => loser.journal.count('lease.waiting') === 2,
      () => loser.state(),
    );
  });

  it('that has ended is asked to stop in vain, and nobody is told of it', async () => {
    const daemon = createDaemon({ space: 'main', root: '/nonexistent', journal: new TestJournal(), signals: false });
    expect((await daemon.run()).end).toBe('refused');
    const warned = vi.spyOn(console, 'warn');
    daemon.stop();
    expect(warned).not.toHaveBeenCalled();
  });

  it('with an injected store needs no .cotal, and never asks the registry of the machine', async () => {
    const mesh = await open();
    const home = join(mesh.root, 'home');
    recordMesh({
      home,
      record: {
        space: mesh.space,
        root: '/nowhere',
        url: 'nats://127.0.0.1:1',
        durability: 'relaxed',
        accountKey: mesh.keys.account.publicKey,
        updatedAt: 1,
      },
    });
    vi.stubEnv('COTAL_HOME', home);
    onTestFinished(() => void vi.unstubAllEnvs());
    const running = await daemonOf(mesh);
    await running.started();
    expect((await running.stop()).end).toBe('stopped');
  });

  /** No file of the process may grow: the kernel refuses its writes as it does on a full disk. */
  const fillDisk = ({ process }: DaemonProcess) =>
    execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=0:0']);
  const filesOf = (mesh: Mesh) => readdirSync(join(mesh.root, '.cotal')).filter((file) => file.startsWith('delivery'));

  it('whose own disk is full does not start: it names the file that it could not write, and claims and leaves nothing', async () => {
    const mesh = await open();
    const daemon = startProcess(mesh, { env: { ...QUICK, COTAL_HOME: mesh.root } });
    onTestFinished(() => daemon.kill());
    daemon.process.kill('SIGSTOP');
    fillDisk(daemon);
    daemon.process.kill('SIGCONT');
    expect(await daemon.exit).toBe(1);
    const path = join(mesh.root, '.cotal', 'delivery.6d61696e.starting.');
    expect(daemon.stderr()).toContain(`✗ delivery: ${path}${daemon.process.pid} cannot be written: EFBIG\n`);
    expect(filesOf(mesh)).toEqual([]);
    const connection = await mesh.connect('delivery');
    const row = await readRow({ connection, bucket: buckets(mesh.space).delivery, key: LEASE_KEY });
    expect(row).toEqual({ kind: 'absent', revision: 0, deleted: false });
  });

  it('whose own disk is full while it serves goes on serving, and removes its record when it stops', async () => {
    const mesh = await open();
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    const daemon = startProcess(mesh, { env: { ...QUICK, COTAL_HOME: mesh.root } });
    onTestFinished(() => daemon.kill());
    await daemon.serving();
    fillDisk(daemon);
    await bob.join('team');
    await alice.post('team', { text: 'no room' });
    expect(texts(await bob.read(1, 20_000))).toEqual(['no room']);
    expect(await daemon.stop()).toBe(0);
    expect(filesOf(mesh).filter((file) => file.includes('.pid'))).toEqual([]);
  });
});
