import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { numbers } from '../../src/domain/numbers.ts';
import { stopOf } from '../../src/launch/stopper.ts';
import { startOf } from '../../src/services/local/processes.ts';
import { TestJournal } from '../support/delivery/daemon.ts';
import { until } from '../support/until.ts';
import { type Running, runs, Workstation } from '../support/workstation.ts';

let ws: Workstation;
beforeEach(() => {
  ws = new Workstation();
});
afterEach(async () => {
  await ws.dispose();
});

const UP = ['up', '--port', 0];
const kill = (pid: number | undefined, signal: NodeJS.Signals) => process.kill(pid ?? 0, signal);
const daemons = () => ws.processes().filter(({ line }) => line.includes(' deliver '));

async function foreground(env: Record<string, string> = {}): Promise<Running> {
  const up = ws.start(UP, { env });
  await ws.said(up, 'the mesh of space main is up');
  return up;
}

/** The daemon stays stopped under an `up` that goes on: longer than any restart would take. */
async function staysStopped(up: Running): Promise<void> {
  await ws.said(up, '• up: delivery ended');
  const again = await ws.run(['status', '--json']);
  expect(again.stdout).toContain('"delivery.process","value":{"record":"none"');
  expect(daemons()).toEqual([]);
  expect(up.stderr().match(/running again/g)).toBeNull();
  expect(runs(up.pid)).toBe(true);
  up.kill('SIGTERM');
  expect((await up.ended).code).toBe(0);
  expect(ws.processes()).toEqual([]);
}

describe('cotal down delivery', () => {
  it('under a foreground up stops the daemon for good (U3)', async () => {
    const up = await foreground();
    const down = await ws.run(['down', 'delivery']);
    expect(down.code, down.stderr).toBe(0);
    expect(ws.hasCredential()).toBe(false);
    await staysStopped(up);
  });

  it('finds a daemon that is giving its lease back to a broker that stands still, and waits for its death', async () => {
    const patient = { COTAL_DELIVERY_STOP_GRACE_MS: '60000', COTAL_DELIVERY_EFFECT_TIMEOUT_MS: '60000' };
    const unheard = { COTAL_DELIVERY_PING_INTERVAL_MS: '60000' };
    const up = await ws.run([...UP, '--detach'], { env: { ...patient, ...unheard } });
    expect(up.code, up.stderr).toBe(0);
    const [broker, daemon] = [ws.recorded('broker'), ws.recorded('delivery')];
    kill(broker, 'SIGSTOP');
    kill(daemon, 'SIGTERM');
    await until(
      () => ws.recorded('delivery') === undefined,
      () => ws.log(),
    );
    const signals = vi.spyOn(process, 'kill');
    let ended: unknown;
    const stop = stopOf({ root: ws.root, space: 'main', numbers, journal: new TestJournal() }, 'delivery');
    void stop.then((outcome) => (ended = outcome));
    const isSent = () => signals.mock.calls.some(([pid, signal]) => pid === daemon && signal === 'SIGTERM');
    await until(
      () => isSent() || ended,
      () => ws.log(),
    );
    expect(ended).toBeUndefined();
    kill(broker, 'SIGCONT');
    expect(await stop).toMatchObject({ end: 'stopped', pid: daemon });
    expect(runs(daemon)).toBe(false);
    expect(ws.hasCredential()).toBe(false);
    expect((await ws.run(['down'])).code).toBe(0);
  });

  it('kills a daemon that does not heed SIGTERM, says so, and it stays stopped (U3, UPD-12)', async () => {
    const up = await foreground();
    const daemon = ws.recorded('delivery');
    kill(daemon, 'SIGSTOP');
    const down = ws.start(['down', 'delivery']);
    await ws.said(down, `! delivery (pid ${daemon}) has not exited 3 s after SIGTERM; sending SIGKILL`);
    await down.ended;
    expect((await down.ended).code, down.stderr()).toBe(0);
    expect(runs(daemon)).toBe(false);
    expect(ws.hasCredential()).toBe(false);
    await staysStopped(up);
  });

  it('keeps the credential as long as the daemon lives (S3)', async () => {
    await ws.run([...UP, '--detach']);
    const daemon = ws.recorded('delivery');
    kill(daemon, 'SIGSTOP');
    const down = ws.start(['down', 'delivery']);
    await until(() => ws.read('delivery.KEY.pid.stopping'), 'no reservation');
    while (runs(daemon)) {
      // Read first: a credential that is gone while the daemon still runs is the fault.
      const kept = ws.hasCredential();
      if (runs(daemon)) expect(kept).toBe(true);
      await until(() => true, '');
    }
    expect((await down.ended).code).toBe(0);
    expect(ws.hasCredential()).toBe(false);
  });

  it('between two attempts of a restart, and while a replacement is starting, stops it for good (UPD-13)', async () => {
    // The row outlives a start on a loaded machine.
    const up = await foreground({ COTAL_DELIVERY_LEASE_TTL_MS: '20000', COTAL_DELIVERY_LEASE_FENCE_MS: '16000' });
    kill(ws.recorded('delivery'), 'SIGKILL');
    // The first replacement meets the row of the one that was killed; the next attempt waits for it.
    await ws.said(up, 'next attempt in');
    const down = await ws.run(['down', 'delivery']);
    expect(down.code, down.stderr).toBe(0);
    await staysStopped(up);
  });

  it('is refused while another stop is under way, with that one’s pid (S1)', async () => {
    await ws.run([...UP, '--detach']);
    const daemon = ws.recorded('delivery');
    kill(daemon, 'SIGSTOP');
    // It waits as long as the daemon sleeps.
    const first = ws.start(['down', 'delivery'], { env: { COTAL_DELIVERY_STOP_GRACE_MS: '60000' } });
    await until(() => ws.read('delivery.KEY.pid.stopping'), 'no reservation');
    const second = await ws.run(['down', 'delivery']);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain(`delivery is being stopped already, by process ${first.pid}`);
    kill(daemon, 'SIGCONT');
    expect((await first.ended).code).toBe(0);
  });

  it('takes over the reservation of a stop that was killed', async () => {
    await ws.run([...UP, '--detach']);
    kill(ws.recorded('delivery'), 'SIGSTOP');
    const first = ws.start(['down', 'delivery']);
    await until(() => ws.read('delivery.KEY.pid.stopping'), 'no reservation');
    first.kill('SIGKILL');
    await first.ended;
    expect((await ws.run(['down', 'delivery'])).code).toBe(0);
    expect(daemons()).toEqual([]);
  });

  it('finds and stops a daemon that is still starting and has no record yet (S6, UPD-18)', async () => {
    await ws.run([...UP, '--detach']);
    await ws.run(['down', 'delivery']);
    // The credential went with it: the daemon by hand waits for the row of another one instead.
    expect((await ws.run(['up', '--detach'])).code).toBe(0);
    const standby = ws.start(['deliver', '--space', 'main', '--standby']);
    await ws.said(standby, 'standing by');
    expect(ws.recorded('delivery')).not.toBe(standby.pid);
    const down = await ws.run(['down', 'delivery']);
    expect(down.code, down.stderr).toBe(0);
    expect((await standby.ended).code).toBe(0);
    expect(daemons()).toEqual([]);
  });

  it.each([
    ['half written', '123'],
    ['no pid', 'hello\nthere\n'],
    ['empty', ''],
    ['from another boot', '1\nffffffff-0000-0000-0000-000000000000 17\n'],
  ])(
    'clears a record that is %s without a signal, and a record that proves nothing keeps the credential',
    async (_, text) => {
      await ws.run([...UP, '--detach']);
      const daemon = ws.recorded('delivery');
      kill(daemon, 'SIGKILL');
      await until(() => !runs(daemon), 'it lives');
      writeFileSync(ws.file('delivery.KEY.pid'), text);
      const down = await ws.run(['down', 'delivery']);
      expect(down.code, down.stderr).toBe(0);
      expect(down.stderr).toContain('nothing was signalled');
      expect(ws.recorded('delivery')).toBeUndefined();
      expect(ws.hasCredential()).toBe(!text.includes('ffffffff'));
    },
  );

  it('trusts a record whose process does not show its command line: it is stopped as the daemon (S5, UPD-10)', async () => {
    mkdirSync(ws.file('space.KEY'), { recursive: true });
    const hidden = spawn(process.execPath, [
      '-e',
      "process.title = ''; process.stdout.write('.'); setInterval(() => {}, 1000)",
    ]);
    const exit = once(hidden, 'exit');
    await once(hidden.stdout, 'data');
    const { pid = 0 } = hidden;
    expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', '')).toBe('');
    writeFileSync(ws.file('delivery.KEY.pid'), `${pid}\n${startOf(pid)}\n`);
    const status = await ws.run(['status', '--json']);
    expect(status.stdout).toContain(`"delivery.process","value":{"pid":${pid}}`);
    const down = await ws.run(['down', 'delivery']);
    expect([down.code, down.stderr]).toEqual([0, '']);
    expect(await exit).toEqual([null, 'SIGTERM']);
    expect(ws.recorded('delivery')).toBeUndefined();
  });

  it('survives a daemon that ends by itself around the SIGKILL (UPD-14)', async () => {
    await ws.run([...UP, '--detach']);
    const daemon = ws.recorded('delivery');
    kill(daemon, 'SIGSTOP');
    const down = ws.start(['down', 'delivery'], { env: { COTAL_DELIVERY_STOP_GRACE_MS: '300' } });
    await ws.said(down, 'sending SIGKILL');
    // Whichever comes first.
    try {
      kill(daemon, 'SIGKILL');
    } catch (error) {
      expect(error).toMatchObject({ code: 'ESRCH' });
    }
    expect((await down.ended).code, down.stderr()).toBe(0);
    expect(ws.recorded('delivery')).toBeUndefined();
  });
});

describe('cotal down broker', () => {
  it('is refused while a daemon may be running, however that was started (UPD-01)', async () => {
    await ws.run([...UP, '--detach']);
    await ws.run(['down', 'delivery']);
    await ws.run(['up', '--detach']);
    const launched = ws.recorded('delivery');
    kill(launched, 'SIGTERM');
    await until(() => !runs(launched), 'it lives');
    // An old record that names nobody: the daemon by hand replaces it by its own.
    writeFileSync(ws.file('delivery.KEY.pid'), `${launched}\n-\n`);
    const byHand = ws.start(['deliver', '--space', 'main']);
    await until(
      () => ws.recorded('delivery') === byHand.pid,
      () => byHand.stderr(),
    );
    const refused = await ws.run(['down', 'broker']);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(`the broker is needed by delivery of space main (process ${byHand.pid})`);
    expect(runs(ws.recorded('broker'))).toBe(true);
    expect((await ws.run(['down'])).code).toBe(0);
    expect((await byHand.ended).code).toBe(0);
    expect(ws.processes()).toEqual([]);
  });

  it('leaves the broker to another space of the root, and touches nothing of that space (UPD-08)', async () => {
    expect((await ws.run([...UP, '--detach', '--space', 'one'])).code).toBe(0);
    const two = await ws.run(['up', '--detach', '--space', 'two']);
    expect(two.code, two.stderr).toBe(0);
    const kept = ws.recorded('delivery', 'two');
    const down = await ws.run(['down', '--space', 'one']);
    expect(down.code, down.stderr).toBe(0);
    expect(down.stdout).toContain('broker keeps running: delivery of space two');
    expect(runs(kept)).toBe(true);
    await until(
      async () => (await ws.run(['doctor', '--space', 'two'])).code === 0,
      () => ws.log('two'),
      60_000,
    );
    expect((await ws.run(['down', '--space', 'two'])).code).toBe(0);
    expect(ws.processes()).toEqual([]);
  });

  it('from another directory works on the same root by the same rule (UPD-04)', async () => {
    expect((await ws.run([...UP, '--detach'])).code).toBe(0);
    const below = `${ws.root}/.cotal/space.6d61696e`;
    const status = await ws.run(['status', '--json'], { cwd: below });
    expect(status.stdout).toContain(`"pid":${ws.recorded('delivery')}`);
    const nowhere = await ws.run(['down'], { cwd: ws.folder });
    expect(nowhere.code).toBe(1);
    expect(nowhere.stderr).toContain(ws.folder);
    expect((await ws.run(['down'], { cwd: below })).code).toBe(0);
    expect(ws.processes()).toEqual([]);
  });
});
