import { expect, it, onTestFinished } from 'vitest';
import { Agent, texts } from '../../support/delivery/agent.ts';
import { startStored } from '../../support/delivery/stored.ts';
import { startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

const POSTS = 150;

it('a broker that is killed and back within the window while posts flow: every one comes, once, and nothing stays half alive (WDG-05)', async () => {
  const mesh = await startMesh();
  onTestFinished(() => mesh.dispose());
  const running = await startStored(mesh, {
    credential: await mesh.credsFor('delivery'),
    env: { COTAL_DELIVERY_BROKER_GONE_MS: '60000', COTAL_DELIVERY_PING_INTERVAL_MS: '300' },
  });
  onTestFinished(async () => void (await running.stop()));
  await running.started();
  const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
  await bob.join('team');

  const all = Array.from({ length: POSTS }, (_, n) => `${n}`);
  let posted = 0;
  /** The same id again until the broker has confirmed it. */
  const flow = async () => {
    for (const text of all) {
      await until(async () => (await alice.post('team', { id: text, text })) > 0, `post ${text}`, 60_000);
      posted++;
    }
  };
  const flowing = flow();
  await until(
    () => posted > POSTS / 3,
    () => `${posted}`,
  );
  await mesh.killBroker();
  await mesh.startBroker();
  await flowing;

  expect(texts(await bob.read(POSTS, 60_000)), running.state()).toEqual(all);
  await until(
    async () => (await bob.asked('pendingCount', {})).pending === 0,
    () => running.state(),
  );
  await until(
    () => running.daemon.actor.system.get('timer-writer')?.getSnapshot().hasTag('serving'),
    () => running.state(),
  );
  expect(running.journal.lines().filter((line) => line.startsWith('✗'))).toEqual([]);
});
