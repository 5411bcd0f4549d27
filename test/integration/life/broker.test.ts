/**
 * What becomes of a daemon when something is wrong with its broker: the table of docs/operations.md, row by row. The bounds
 * are scaled down (a window of 2 s, a backstop of 6 s), but for the slow broker, which is met with the defaults.
 */
import { execFileSync } from 'node:child_process';
import { describe, it, type TestContext } from 'vitest';
import { Agent, texts } from '../../support/delivery/agent.ts';
import { startProcess } from '../../support/delivery/daemon.ts';
import { type Stored, startStored } from '../../support/delivery/stored.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';
import { TcpProxy } from '../../support/proxy.ts';
import { storeless } from '../../support/storeless.ts';
import { until } from '../../support/until.ts';
import { runs } from '../../support/workstation.ts';

const WINDOW_MS = 2_000;
const BACKSTOP_MS = 6_000;
const QUICK = {
  COTAL_DELIVERY_BROKER_GONE_MS: String(WINDOW_MS),
  COTAL_DELIVERY_BROKER_GONE_BACKSTOP_MS: String(BACKSTOP_MS),
  COTAL_DELIVERY_PING_INTERVAL_MS: '300',
};
/** The lease outlives every outage here: what is looked at is the broker. */
const GONE = '✗ delivery: broker connection unavailable (broker unreachable), exiting (coupled to the broker)';
const PAST =
  '✗ delivery: broker connection unavailable past backstop (broker unreachable), exiting (coupled to the broker)';

interface Ground {
  readonly mesh: Mesh;
  readonly proxy: TcpProxy;
  readonly ends: (() => unknown)[];
}
async function open({ onTestFinished }: TestContext): Promise<Ground> {
  const ends: (() => unknown)[] = [];
  onTestFinished(async () => {
    for (const end of ends.reverse()) await end();
  });
  const mesh = await startMesh();
  ends.push(() => mesh.dispose());
  const proxy = await TcpProxy.to(mesh.url);
  ends.push(() => proxy.close());
  return { mesh, proxy, ends };
}
async function serving({ mesh, proxy, ends }: Ground, env: Record<string, string> = QUICK): Promise<Stored> {
  const running = await startStored(mesh, { credential: await mesh.credsFor('delivery'), server: proxy.url, env });
  ends.push(() => running.stop());
  await running.started();
  return running;
}
const process = ({ mesh, proxy, ends }: Ground) => {
  const daemon = startProcess({ ...mesh, url: proxy.url }, { env: { ...QUICK, COTAL_HOME: mesh.root } });
  ends.push(() => daemon.kill());
  return daemon;
};
const passed = async (ms: number) => {
  const began = performance.now();
  await until(() => performance.now() - began > ms, '');
};
/** It ends by the window, with the one line, and not before. */
async function endsAsGone(running: Stored, context: TestContext): Promise<void> {
  const { expect } = context;
  const began = performance.now();
  expect(await running.ended).toMatchObject({ end: 'broker-gone', code: 1 });
  expect(performance.now() - began).toBeGreaterThanOrEqual(WINDOW_MS - 200);
  expect(running.journal.lines().filter((line) => line.startsWith('✗'))).toEqual([GONE]);
}

describe.concurrent('a broker', () => {
  it('that is killed and stays away: the daemon ends by the window, with the line', async (context) => {
    const ground = await open(context);
    const running = await serving(ground);
    await ground.mesh.killBroker();
    await endsAsGone(running, context);
  });

  it('that is stopped and stays away: the same', async (context) => {
    const ground = await open(context);
    const running = await serving(ground);
    await ground.mesh.stopBroker();
    await endsAsGone(running, context);
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

describe.concurrent('a broker that goes into lame duck mode', () => {
  /** What `nats-server --signal ldm` sends. */
  const goLame = ({ mesh }: Ground) => globalThis.process.kill(mesh.pid(), 'SIGUSR2');

  it('and is started again stores nothing from then on: nobody is served, what was confirmed to its sender comes afterwards', async (context) => {
    const ground = await open(context);
    const [alice, bob] = [await Agent.add(ground.mesh, 'alice'), await Agent.add(ground.mesh, 'bob')];
    const running = await serving(ground, {
      ...QUICK,
      COTAL_DELIVERY_BROKER_GONE_MS: '60000',
      COTAL_DELIVERY_LEASE_RENEW_MS: '300',
      COTAL_DELIVERY_EFFECT_TIMEOUT_MS: '1000',
    });
    await bob.join('team');
    await alice.post('team', { text: 'before' });
    const lame = ground.mesh.pid();
    goLame(ground);
    await until(
      () => running.journal.count('daemon.quiesced') > 0,
      () => running.state(),
    );
    await context.expect(alice.post('team', { text: 'meanwhile' })).rejects.toThrow();
    await until(
      () => !runs(lame),
      () => running.state(),
    );
    await ground.mesh.stopBroker();
    await ground.mesh.startBroker();
    await running.started();
    await alice.post('team', { text: 'afterwards' });
    context.expect(texts(await bob.read(2, 20_000))).toEqual(['before', 'afterwards']);
    context.expect(running.journal.lines().filter((line) => line.startsWith('✗'))).toEqual([]);
  });

  it('and stays away: the daemon ends by the window, with the line', async (context) => {
    const ground = await open(context);
    const running = await serving(ground);
    goLame(ground);
    await endsAsGone(running, context);
  });
});

describe('a broker whose store is not up yet', () => {
  it('answers that nobody is there: nothing is given up and nobody is served, and everything goes on when it is, timers too (RAIL-06)', async (context) => {
    const ground = await open(context);
    const [alice, bob] = [await Agent.add(ground.mesh, 'alice'), await Agent.add(ground.mesh, 'bob')];
    const running = await serving(ground, {
      ...QUICK,
      COTAL_DELIVERY_BROKER_GONE_MS: '60000',
      COTAL_DELIVERY_TIMER_RETRY_MS: '200',
    });
    await bob.join('team');
    // The same accounts on a broker without a store: it takes the connection, and nobody answers for JetStream.
    const without = await storeless(ground.mesh);
    ground.ends.push(() => without.stop());
    ground.proxy.redirect(without.url);
    const { accepted } = ground.proxy;
    ground.proxy.cut();
    await alice.post('team', { text: 'meanwhile' });
    await until(
      () => ground.proxy.accepted > accepted,
      () => running.state(),
    );
    // Long enough to have asked for the lease several times.
    await passed(2_000);
    context.expect(running.daemon.actor.getSnapshot().hasTag('serving')).toBe(false);
    ground.proxy.redirect(ground.mesh.url);
    ground.proxy.cut();
    context.expect(texts(await bob.read(1, 20_000))).toEqual(['meanwhile']);
    await until(
      () => running.daemon.actor.system.get('timer-writer')?.getSnapshot().hasTag('serving'),
      () => running.state(),
    );
    context.expect(running.daemon.tally.get('lanes.given-up')).toBe(0);
    context.expect(running.journal.lines().filter((line) => line.startsWith('✗'))).toEqual([]);
  });
});

describe('a broker whose disk is full', () => {
  it('stores nothing any more: the daemon serves nobody and says so, and serves on when the broker is back with room', async (context) => {
    const ground = await open(context);
    const [alice, bob] = [await Agent.add(ground.mesh, 'alice'), await Agent.add(ground.mesh, 'bob')];
    const running = await serving(ground, {
      ...QUICK,
      COTAL_DELIVERY_BROKER_GONE_MS: '60000',
      COTAL_DELIVERY_BROKER_GONE_BACKSTOP_MS: '120000',
      COTAL_DELIVERY_LEASE_RENEW_MS: '300',
      COTAL_DELIVERY_EFFECT_TIMEOUT_MS: '1000',
    });
    await bob.join('team');
    await alice.post('team', { text: 'before' });
    context.expect(texts(await bob.read(1, 20_000))).toEqual(['before']);
    // No file of the broker may grow beyond one byte: the kernel refuses its writes as it does on a full disk.
    execFileSync('prlimit', ['--pid', String(ground.mesh.pid()), '--fsize=1:1']);
    await until(
      () => running.journal.count('daemon.quiesced') > 0,
      () => running.state(),
    );
    await ground.mesh.killBroker();
    await ground.mesh.startBroker();
    await running.started();
    await alice.post('team', { text: 'after' });
    // The confirmation of the first one may not have reached the disk: then it comes once more.
    await until(
      async () => texts(await bob.read(1, 1_000)).includes('after'),
      () => running.state(),
    );
    context.expect(running.journal.lines().filter((line) => line.startsWith('✗'))).toEqual([]);
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
    const daemon = process(ground);
    await daemon.serving();
    await ground.mesh.killBroker();
    await passed(300);
    daemon.process.kill('SIGSTOP');
    await passed(BACKSTOP_MS + 500);
    daemon.process.kill('SIGCONT');
    context.expect(await daemon.exit).toBe(1);
    context.expect(daemon.stderr()).toContain(PAST);
  });
});
