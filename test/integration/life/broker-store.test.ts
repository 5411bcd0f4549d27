/** What becomes of a daemon when its broker stores nothing: lame duck mode, a store that is not up yet, a full disk. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { describe, it } from 'vitest';
import { brokerLog } from '../../../src/services/local/broker.ts';
import { Agent, texts } from '../../support/delivery/agent.ts';
import { endsAsGone, type Ground, open, passed, QUICK, serving } from '../../support/delivery/outage.ts';
import { storeless } from '../../support/storeless.ts';
import { until } from '../../support/until.ts';
import { runs } from '../../support/workstation.ts';

describe.concurrent('a broker that goes into lame duck mode', () => {
  /** What `nats-server --signal ldm` sends. */
  const goLame = ({ mesh }: Ground) => process.kill(mesh.pid(), 'SIGUSR2');

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
    const quiesced = running.journal.count('daemon.quiesced');
    goLame(ground);
    await until(
      () => running.journal.count('daemon.quiesced') > quiesced,
      () => running.state(),
    );
    // Its streams stop one after the other: the row of the lease may be gone and that of posts still be there.
    const log = () => readFileSync(brokerLog(ground.mesh.root, ground.mesh.space), 'utf8');
    await until(() => /JetStream Shutdown$/m.test(log()), log);
    await context.expect(alice.post('team', { text: 'meanwhile' })).rejects.toThrow();
    await until(
      () => !runs(lame),
      () => running.state(),
      60_000,
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
