import { writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startOf } from '../../src/services/local/processes.ts';
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
const AGAIN = 'delivery daemon running again\n';
const restarting = (cause: string) =>
  `delivery daemon exited (${cause}) while nats-server is running - restarting it\n`;

/** A foreground `up` that has said it is up. */
async function foreground(): Promise<Running> {
  const up = ws.start(UP);
  await ws.said(up, 'the mesh of space main is up');
  return up;
}

/** Waits until a daemon other than `before` is recorded. */
const replaced = (before: number | undefined) =>
  until(
    () => {
      const now = ws.recorded('delivery');
      return now !== before && runs(now) ? now : undefined;
    },
    () => ws.log(),
    40_000,
  );

const kill = (pid: number | undefined, signal: NodeJS.Signals) => process.kill(pid ?? 0, signal);

describe('cotal up', () => {
  it('detached is healthy when the daemon serves; a bare up adopts everything; down leaves nothing, the credential neither', async () => {
    const first = await ws.run([...UP, '--detach', '--json']);
    expect(first.code, first.stderr).toBe(0);
    const { broker, delivery, healthy } = first.json<{
      healthy: boolean;
      broker: { pid: number; durability: string };
      delivery: { pid: number; responder: string };
    }>();
    expect({ healthy, durability: broker.durability, responder: delivery.responder }).toEqual({
      healthy: true,
      durability: 'strict',
      responder: 'bound',
    });
    expect(ws.recorded('delivery')).toBe(delivery.pid);
    expect(ws.recorded('broker')).toBe(broker.pid);

    const second = await ws.run(['up', '--detach', '--json']);
    expect(second.code, second.stderr).toBe(0);
    expect(second.json()).toMatchObject({
      healthy: true,
      broker: { pid: broker.pid },
      delivery: { pid: delivery.pid },
    });

    await until(
      async () => (await ws.run(['doctor', '--json'])).code === 0,
      () => ws.log(),
      60_000,
    );

    const down = await ws.run(['down', '--json']);
    expect(down.code, down.stderr).toBe(0);
    expect(down.json()).toMatchObject({
      stopped: [
        { target: 'delivery', end: 'stopped', pid: delivery.pid },
        { target: 'manager', end: 'absent', pid: null },
        { target: 'broker', end: 'stopped', pid: broker.pid },
      ],
    });
    expect(ws.processes()).toEqual([]);
    expect(ws.recorded('delivery')).toBeUndefined();
    expect(ws.hasCredential()).toBe(false);
    expect(ws.log()).toContain('• delivery: received SIGTERM, exiting (space main, shard 0)\n');
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'in the foreground %s stops daemon and broker, exits 0, and leaves no process (UPD-11)',
    async (signal) => {
      const up = await foreground();
      up.kill(signal);
      expect(await up.ended).toEqual({ code: 0, signal: null });
      expect(ws.processes()).toEqual([]);
      expect(ws.recorded('delivery')).toBeUndefined();
      expect(ws.hasCredential()).toBe(false);
      expect(ws.log()).toContain('• delivery: received SIGTERM, exiting (space main, shard 0)\n');
    },
  );

  it('in the foreground restarts a daemon that was killed, says the two quoted lines, and one process replaces the other', async () => {
    const up = await foreground();
    const before = ws.recorded('delivery');
    kill(before, 'SIGKILL');
    await ws.said(up, AGAIN, 40_000);
    expect(up.stderr()).toContain(restarting('SIGKILL'));
    const now = ws.recorded('delivery');
    expect(now).not.toBe(before);
    expect(ws.processes().filter(({ line }) => line.includes(' deliver '))).toHaveLength(1);
    up.kill('SIGTERM');
    expect((await up.ended).code).toBe(0);
    expect(ws.processes()).toEqual([]);
  });

  it('in the foreground warns of a replacement that does not bind, with the line of a start, and announces it when it does', async () => {
    const up = ws.start(UP, { env: { COTAL_DELIVERY_LAUNCH_PATIENCE_MS: '8000' } });
    await until(async () => (await ws.run(['doctor'])).code === 0, up.stderr, 60_000);
    const { length } = up.stderr();
    const before = ws.recorded('delivery');
    kill(before, 'SIGKILL');
    const replacement = await until(() => {
      const pid = ws.processes().find(({ line, pid }) => line.includes(' deliver ') && pid !== before)?.pid;
      if (pid !== undefined) kill(pid, 'SIGSTOP');
      return pid;
    }, up.stderr);
    const log = ws.file('delivery.KEY.log');
    await ws.said(
      up,
      `! delivery daemon (pid ${replacement}) is running, but its responder is not bound: posts are not copied and no join becomes durable until it is; see ${log}\n`,
    );
    expect(up.stderr().slice(length)).toContain(restarting('SIGKILL'));
    expect(up.stderr().slice(length)).not.toContain(AGAIN);
    kill(replacement, 'SIGCONT');
    await until(() => up.stderr().slice(length).includes(AGAIN), up.stderr, 60_000);
    up.kill('SIGTERM');
    expect((await up.ended).code).toBe(0);
  });

  it('in the foreground goes on with nowhere to write to any more: the daemon is replaced, and a signal stops all of it', async () => {
    const up = await foreground();
    const before = ws.recorded('delivery');
    up.hangUp();
    kill(before, 'SIGKILL');
    await replaced(before);
    await until(
      async () => (await ws.run(['doctor'])).code === 0,
      () => ws.log(),
      60_000,
    );
    up.kill('SIGTERM');
    expect(await up.ended).toEqual({ code: 0, signal: null });
    expect(ws.processes()).toEqual([]);
  });

  it('in the foreground waits for the stop that is running when the broker exits under it (U4)', async () => {
    const up = await foreground();
    const [daemon, broker] = [ws.recorded('delivery'), ws.recorded('broker')];
    kill(daemon, 'SIGSTOP');
    up.kill('SIGINT');
    await until(() => ws.read('delivery.KEY.pid.stopping'), 'no reservation');
    kill(broker, 'SIGKILL');
    await up.ended;
    expect(up.stderr()).toContain(`! delivery (pid ${daemon}) has not exited 3 s after SIGTERM; sending SIGKILL\n`);
    expect(runs(daemon)).toBe(false);
    expect([ws.hasCredential(), ws.recorded('delivery'), ws.recorded('broker')]).toEqual([false, undefined, undefined]);
    expect(ws.processes()).toEqual([]);
  });

  it('is refused at once over the row of a crashed holder, names it, and serves when the row has ended (LSE-02)', async () => {
    // The row outlives a start on a loaded machine.
    const env = { COTAL_DELIVERY_LEASE_TTL_MS: '20000', COTAL_DELIVERY_LEASE_FENCE_MS: '16000' };
    await ws.run([...UP, '--detach'], { env });
    kill(ws.recorded('delivery'), 'SIGKILL');
    const refused = await ws.run(['up', '--detach', '--json'], { env });
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain('the lease of a crashed holder has not expired yet');
    expect(refused.json()).toMatchObject({ healthy: false });
    await until(
      async () => (await ws.run(['up', '--detach'], { env })).code === 0,
      () => ws.log(),
      120_000,
    );
    expect(runs(ws.recorded('delivery'))).toBe(true);
  });

  it('that was killed leaves a mesh which the next up adopts, and which that one restarts and stops (U6)', async () => {
    const killed = await foreground();
    const daemon = ws.recorded('delivery');
    const broker = ws.recorded('broker');
    killed.kill('SIGKILL');
    await killed.ended;
    const up = ws.start(['up']);
    await ws.said(up, 'the mesh of space main is up');
    expect([ws.recorded('delivery'), ws.recorded('broker')]).toEqual([daemon, broker]);
    kill(daemon, 'SIGKILL');
    await ws.said(up, AGAIN, 40_000);
    up.kill('SIGINT');
    expect((await up.ended).code).toBe(0);
    expect(ws.processes()).toEqual([]);
  });

  it('twice at once on one root: one is refused with the pid of the other, and there is one broker and one daemon (UPD-19)', async () => {
    const ran = await Promise.all([ws.run([...UP, '--detach']), ws.run([...UP, '--detach'])]);
    const codes = ran.map(({ code }) => code).sort();
    expect(codes[0], ran.map(({ stderr }) => stderr).join()).toBe(0);
    if (codes[1] === 1) expect(ran.map(({ stderr }) => stderr).join()).toMatch(/another "cotal up" \(process \d+\)/);
    expect(ws.processes().filter(({ line }) => line.includes(' deliver '))).toHaveLength(1);
    expect(ws.processes().filter(({ line }) => line.includes('nats-server.conf'))).toHaveLength(1);
    expect(runs(ws.recorded('delivery')) && runs(ws.recorded('broker'))).toBe(true);
  });

  it('in the foreground ends with the broker: what depends on it is stopped first, and it exits 1', async () => {
    const up = await foreground();
    kill(ws.recorded('broker'), 'SIGKILL');
    expect((await up.ended).code).toBe(1);
    expect(up.stderr()).toContain('nats-server exited (SIGKILL)');
    expect(ws.processes()).toEqual([]);
    expect(ws.hasCredential()).toBe(false);
  });

  it('over a record that names another program works, and signals nobody (UPD-05)', async () => {
    await ws.run([...UP, '--detach']);
    await ws.run(['down']);
    // This very test: alive, with its own start time, and no daemon.
    writeFileSync(ws.file('delivery.KEY.pid'), `${process.pid}\n${startOf(process.pid)}\n`);
    const status = await ws.run(['status', '--json']);
    expect(status.stdout).toContain('is another program');
    const down = await ws.run(['down', 'delivery']);
    expect(down.code, down.stderr).toBe(0);
    expect(down.stderr).toContain('nothing was signalled');
    expect(ws.recorded('delivery')).toBeUndefined();
    expect((await ws.run(['up', '--detach'])).code).toBe(0);
  });

  it('names a port that is in use, and leaves nothing behind', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await until(() => taken.listening, 'the port is not taken');
    const { port } = taken.address() as { port: number };
    const up = await ws.run(['up', '--detach', '--port', port]);
    taken.close();
    expect(up.code).toBe(1);
    expect(up.stderr).toContain(`port ${port} on 127.0.0.1 is in use by another program`);
    expect(ws.processes()).toEqual([]);
  });

  it('refuses to change a store or a running broker by an option, by name, and keeps what an option leaves out (UPD-20)', async () => {
    expect((await ws.run([...UP, '--detach', '--history', 500])).code).toBe(0);
    const differs = await ws.run(['up', '--detach', '--history', 600]);
    expect(differs.code).toBe(1);
    expect(differs.stderr).toContain('stream CHAT_main: max_msgs_per_subject is 500, wanted 600');
    const otherwise = await ws.run(['up', '--detach', '--host', '0.0.0.0']);
    expect(otherwise.code).toBe(1);
    expect(otherwise.stderr).toContain('the broker runs with host 127.0.0.1; 0.0.0.0 was asked for');
    expect((await ws.run(['up', '--detach'])).code).toBe(0);
    expect((await ws.run(['up', '--detach', '--open'])).stderr).toContain('is authenticated, not open');
  });

  it('in open mode runs a broker and nothing else, and says that it is live only', async () => {
    const up = await ws.run([...UP, '--detach', '--open', '--json']);
    expect(up.code, up.stderr).toBe(0);
    expect(up.json()).toMatchObject({ healthy: true, mode: 'open', delivery: null });
    expect(up.stderr).toContain('open mode: live only');
    expect(ws.processes().filter(({ line }) => line.includes(' deliver '))).toEqual([]);
    expect((await ws.run(['down'])).code).toBe(0);
  });

  it('refuses an unknown setting of the environment before anything is started', async () => {
    const up = await ws.run([...UP, '--detach'], { env: { COTAL_DELIVERY_LEASE: '1' } });
    expect(up.code).toBe(64);
    expect(up.stderr).toContain('COTAL_DELIVERY_LEASE is not a setting');
    expect(ws.processes()).toEqual([]);
  });

  it('replaces a daemon that dies again and again, one at a time (UPD-23)', async () => {
    const up = await foreground();
    for (let round = 0; round < 3; round++) {
      const before = ws.recorded('delivery');
      kill(before, 'SIGKILL');
      await replaced(before);
      expect(ws.processes().filter(({ line }) => line.includes(' deliver ')).length).toBeLessThan(2);
    }
    up.kill('SIGTERM');
    expect((await up.ended).code).toBe(0);
    expect(ws.processes()).toEqual([]);
  });
});
