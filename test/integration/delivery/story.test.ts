import { afterEach, describe, expect, it } from 'vitest';
import { Agent, texts } from '../../support/delivery/agent.ts';
import { type DaemonProcess, startInProcess, startProcess } from '../../support/delivery/daemon.ts';
import { hasMark } from '../../support/delivery/store.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

const TTL_MS = 2_000;
const FAST = {
  COTAL_DELIVERY_LEASE_TTL_MS: String(TTL_MS),
  COTAL_DELIVERY_LEASE_RENEW_MS: '500',
  COTAL_DELIVERY_LEASE_FENCE_MS: '1500',
};
const CHANNEL = 'team.general';

describe('a post reaches a member that was away', () => {
  const meshes: Mesh[] = [];
  const processes: DaemonProcess[] = [];
  const open = async (of: { leaseTtlMs?: number } = { leaseTtlMs: TTL_MS }) => {
    const mesh = await startMesh(of);
    meshes.push(mesh);
    process.env.COTAL_HOME = mesh.root;
    return mesh;
  };
  const start = (mesh: Mesh, killAt?: string) => {
    const daemon = startProcess(mesh, { env: FAST, ...(killAt === undefined ? {} : { killAt }) });
    processes.push(daemon);
    return daemon;
  };
  /** A lease that a killed daemon left is free after its time: the next one waits for it. */
  const startOverDead = async (mesh: Mesh): Promise<DaemonProcess> => {
    const daemon = startProcess(mesh, { env: FAST, standby: true });
    processes.push(daemon);
    await daemon.serving();
    return daemon;
  };
  afterEach(async () => {
    await Promise.all(processes.splice(0).map((daemon) => daemon.kill()));
    await Promise.all(meshes.splice(0).map((mesh) => mesh.dispose()));
  });

  it('it reads each post once when it comes back, in order', async () => {
    const mesh = await open({});
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    const { daemon, stop } = await startInProcess(mesh);
    expect(await bob.join(CHANNEL)).toMatchObject({ durable: true, generation: 1 });
    for (const text of ['one', 'two', 'three']) await alice.post(CHANNEL, { text });
    expect(texts(await bob.read(3))).toEqual(['one', 'two', 'three']);
    await until(
      async () => (await bob.asked('pendingCount', {})).pending === 0,
      () => daemon.tally.all(),
    );
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
    await stop();
  });

  // Named points of the daemon's work; at each it is killed with SIGKILL, and in half of the runs the broker is restarted too.
  const points = [
    'before entries',
    'after entries',
    'before copies',
    'after copies',
    'before marks',
    'after marks',
    'before removal',
    'after removal',
  ];
  for (const broker of ['runs on', 'is restarted', 'is killed'] as const) {
    it.each(points)(`the daemon dies %s and the broker ${broker}: nothing is lost`, async (point) => {
      const mesh = await open();
      const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
      const dying = start(mesh, point);
      await dying.serving();
      await until(() => bob.join(CHANNEL), dying.stderr);
      for (const text of ['one', 'two', 'three']) await alice.post(CHANNEL, { text });
      const read = point.endsWith('removal') ? await bob.read(3, 20_000) : [];
      expect(await dying.exit, dying.stderr()).toBe('SIGKILL');
      if (broker === 'is restarted') await mesh.restartBroker();
      if (broker === 'is killed') {
        await mesh.killBroker();
        await mesh.startBroker();
      }
      const last = await startOverDead(mesh);
      const seen = new Set(texts(read));
      await until(
        async () => {
          for (const { text, message } of await bob.take(3, 1_000)) {
            seen.add(text);
            await message.ackAck();
          }
          return seen.size === 3 && (await bob.asked('pendingCount', {})).pending === 0;
        },
        async () => JSON.stringify([[...seen], await last.tally(), await bob.asked('pendingCount', {})]),
        20_000,
      );
      expect([...seen].sort()).toEqual(['one', 'three', 'two']);
    });
  }

  it('a copy taken and not confirmed when the daemon dies surfaces once more, and is then gone', async () => {
    const mesh = await open();
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    const dying = start(mesh);
    await dying.serving();
    await until(() => bob.join(CHANNEL), dying.stderr);
    await alice.post(CHANNEL, { text: 'one' });
    const [taken] = await bob.take(1, 20_000);
    // Without its mark a copy that is confirmed while nobody listens would be handed off again.
    const manager = await mesh.connect('manager');
    await until(() => hasMark(mesh, manager, bob.member), 'the mark of the hand-off');
    await dying.kill();
    const daemon = await startOverDead(mesh);
    expect(await taken?.message.ackAck()).toBe(true);
    await until(
      async () => (await bob.asked('pendingCount', {})).pending === 0,
      () => daemon.tally(),
    );
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
  });
});
