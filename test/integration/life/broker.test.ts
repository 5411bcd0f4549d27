/**
 * What becomes of a daemon when something is wrong with its broker: the table of docs/operations.md, row by row. What is wrong
 * with the broker's store is in broker-store.test.ts.
 */
import { describe, it } from 'vitest';
import { Agent, texts } from '../../support/delivery/agent.ts';
import { startProcess } from '../../support/delivery/daemon.ts';
import {
  BACKSTOP_MS,
  endsAsGone,
  type Ground,
  open,
  passed,
  QUICK,
  serving,
  WINDOW_MS,
} from '../../support/delivery/outage.ts';
import { startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

const PAST =
  '✗ delivery: broker connection unavailable past backstop (broker unreachable), exiting (coupled to the broker)';

const process = ({ mesh, proxy, ends }: Ground, env: Record<string, string> = {}) => {
  const daemon = startProcess({ ...mesh, url: proxy.url }, { env: { ...QUICK, ...env, COTAL_HOME: mesh.root } });
  ends.push(() => daemon.kill());
  return daemon;
};
describe.concurrent('a broker', () => {
  it('that is killed and stays away: the daemon ends by the window, with the line', async (context) => {
    const ground = await open(context);
    const running = await serving(ground);
    const began = performance.now();
    await ground.mesh.killBroker();
    await endsAsGone(running, context, began);
  });

  it('that is stopped and stays away: the same', async (context) => {
    const ground = await open(context);
    const running = await serving(ground);
    const began = performance.now();
    await ground.mesh.stopBroker();
    await endsAsGone(running, context, began);
  });

  it('that is killed and back within the window: the daemon serves on, and says nothing', async (context) => {
    const ground = await open(context);
    const bob = await Agent.add(ground.mesh, 'bob');
    const running = await serving(ground, { ...QUICK, COTAL_DELIVERY_BROKER_GONE_MS: '30000' });
    await ground.mesh.killBroker();
    await until(
      () => !running.daemon.actor.getSnapshot().hasTag('serving'),
      () => running.state(),
    );
    await ground.mesh.startBroker();
    await running.started();
    context.expect((await bob.asked('pendingCount', {})).pending).toBe(0);
    context.expect(running.journal.lines().filter((line) => line.startsWith('✗'))).toEqual([]);
  });

  it('that stops answering without closing the socket: noticed by unanswered pings, then the window (WDG-04)', async (context) => {
    const ground = await open(context);
    const running = await serving(ground);
    ground.mesh.freeze();
    await endsAsGone(running, context);
  });

  it('that answers nobody for a while, shorter than the window: the daemon serves on', async (context) => {
    const ground = await open(context);
    const [alice, bob] = [await Agent.add(ground.mesh, 'alice'), await Agent.add(ground.mesh, 'bob')];
    const running = await serving(ground, { ...QUICK, COTAL_DELIVERY_BROKER_GONE_MS: '30000' });
    await bob.join('team');
    ground.mesh.freeze();
    await passed(1_500);
    ground.mesh.thaw();
    await running.started();
    await alice.post('team', { text: 'after the freeze' });
    context.expect(texts(await bob.read(1, 10_000))).toEqual(['after the freeze']);
  });

  it("that is another account's in its place: nothing is done there, and the daemon ends by the window", async (context) => {
    const ground = await open(context);
    const running = await serving(ground);
    const other = await startMesh();
    ground.ends.push(() => other.dispose());
    ground.proxy.redirect(other.url);
    ground.proxy.cut();
    await endsAsGone(running, context);
    const inbox = await (await other.connect('delivery')).request(
      `$JS.API.STREAM.INFO.KV_cotal_delivery_${other.space}`,
    );
    context.expect(inbox.json<{ state: { messages: number } }>().state.messages).toBe(0);
  });

  it('behind a link that swallows everything: noticed by unanswered pings, then the window', async (context) => {
    const ground = await open(context);
    const running = await serving(ground);
    ground.proxy.hold('toBroker', 'toClient');
    await endsAsGone(running, context);
  });

  it('behind a link that swallows for a while: nothing is said of anybody else, and the burst does no harm (WDG-06)', async (context) => {
    const ground = await open(context);
    const [alice, bob] = [await Agent.add(ground.mesh, 'alice'), await Agent.add(ground.mesh, 'bob')];
    const running = await serving(ground, { ...QUICK, COTAL_DELIVERY_BROKER_GONE_MS: '30000' });
    await bob.join('team');
    ground.proxy.hold('toClient');
    await alice.post('team', { text: 'meanwhile' });
    await passed(1_500);
    ground.proxy.release();
    context.expect(texts(await bob.read(1, 20_000))).toEqual(['meanwhile']);
    context.expect(running.daemon.tally.get('entries.retired')).toBe(0);
    context.expect(running.daemon.tally.get('entries.refused')).toBe(0);
  });

  it('that is two seconds away: everything takes longer, nothing ends, with the bounds as they are by default', async (context) => {
    const ground = await open(context);
    const [alice, bob] = [await Agent.add(ground.mesh, 'alice'), await Agent.add(ground.mesh, 'bob')];
    const running = await serving(ground, {});
    await bob.join('team');
    ground.proxy.slow(1_000);
    await alice.post('team', { text: 'slowly' });
    context.expect(texts(await bob.read(1, 60_000))).toEqual(['slowly']);
    context.expect(running.daemon.actor.getSnapshot().hasTag('serving')).toBe(true);
    context.expect(running.journal.count('daemon.quiesced')).toBe(0);
  });
});

describe.concurrent('a daemon that does not get to run', () => {
  it('while its broker is there survives, however long, also when the connection was cut just before (B7, WDG-01)', async (context) => {
    const ground = await open(context);
    const bob = await Agent.add(ground.mesh, 'bob');
    const daemon = process(ground);
    await daemon.serving();
    ground.proxy.cut();
    daemon.process.kill('SIGSTOP');
    await passed(WINDOW_MS + 1_000);
    daemon.process.kill('SIGCONT');
    await until(
      () => bob.asked('pendingCount', {}).then(({ pending }) => pending === 0),
      () => daemon.stderr(),
    );
    context.expect(daemon.process.exitCode).toBeNull();
    context.expect(daemon.stderr()).not.toContain('✗');
  });

  it('while its broker is gone ends past the backstop, by the clock, with that line (B3)', async (context) => {
    const ground = await open(context);
    // The window leaves a busy machine the time to stop it within.
    const daemon = process(ground, { COTAL_DELIVERY_BROKER_GONE_MS: '5000' });
    await daemon.serving();
    await ground.mesh.killBroker();
    await until(
      () => daemon.stderr().includes('the connection to the broker was lost'),
      () => daemon.stderr(),
    );
    daemon.process.kill('SIGSTOP');
    await passed(BACKSTOP_MS + 500);
    daemon.process.kill('SIGCONT');
    context.expect(await daemon.exit).toBe(1);
    context.expect(daemon.stderr()).toContain(PAST);
  });
});
