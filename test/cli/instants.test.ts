/**
 * A daemon that a foreground `up` keeps is killed, frozen beyond its lease and its window, or stopped for good at random
 * instants of its start. A daemon serves again within one life of the lease and 5 s, by the broker's own clock, and one at a
 * time held the row. `INSTANTS_SEED` repeats a run; `npm run -s test:instants` has more instants and the default bounds.
 */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { numbers } from '../../src/domain/numbers.ts';
import { spaceKeys } from '../../src/services/local/auth-store.ts';
import { portsOf } from '../../src/services/local/broker.ts';
import { Random } from '../../src/torture/random.ts';
import { connectAsAnybody, LeaseHistory } from '../support/lease-history.ts';
import { until } from '../support/until.ts';
import { runs, Workstation } from '../support/workstation.ts';

const isWhole = process.env.INSTANTS_BOUNDS === 'default';
const ttlMs = isWhole ? numbers.leaseTtlMs : 2_000;
const freezeMs = isWhole ? 40_000 : 3_500;
const REPEATS = isWhole ? 5 : 1;
const QUICK = {
  COTAL_DELIVERY_LEASE_TTL_MS: '2000',
  COTAL_DELIVERY_LEASE_RENEW_MS: '300',
  COTAL_DELIVERY_LEASE_FENCE_MS: '1500',
  COTAL_DELIVERY_RESTART_WAIT_MS: '2000',
  COTAL_DELIVERY_BROKER_GONE_MS: '1500',
};
/** Instants lie this long at most after the process was begun, or after its first write of the row. */
const LONGEST_MS = { begin: 1_500, row: 400 };
const PLAN = [
  ['SIGKILL', 'begin'],
  ['SIGKILL', 'row'],
  ['SIGSTOP', 'begin'],
  ['SIGSTOP', 'row'],
] as const;
/** A daemon serves this long after the row is free … */
const PROMISED_MS = 5_000;
/** … or in as many times what the whole `up` took, on a machine where already that takes long. */
const STARTS = 2;

const seed = Number(process.env.INSTANTS_SEED ?? 20_261_130);
process.stdout.write(`INSTANTS_SEED=${seed}\n`);
const random = new Random(seed);

let ws: Workstation;
beforeEach(() => {
  ws = isWhole ? new Workstation({}, { scaled: false }) : new Workstation(QUICK);
});
afterEach(async () => {
  await ws.dispose();
});

/** Throws where there is no such process. */
const kill = (pid: number | undefined, signal: NodeJS.Signals) => {
  if (pid === undefined) throw new Error('no process');
  process.kill(pid, signal);
};
const daemons = () => ws.processes().filter(({ line }) => line.includes(' deliver '));
const passed = async (ms: number) => {
  const began = performance.now();
  await until(() => performance.now() - began >= ms, '', ms + 30_000);
};

it('killed, frozen or stopped at random instants of its start: a daemon serves in time, no record lies, one at a time held the row', async () => {
  const began = performance.now();
  const up = ws.start(['up', '--port', 0]);
  await ws.said(up, 'the mesh of space main is up');
  const marginMs = Math.max(PROMISED_MS, STARTS * (performance.now() - began));
  const keys = await spaceKeys({ root: ws.root, space: 'main', create: false });
  const connection = await connectAsAnybody({ url: portsOf(ws.root, ws.recorded('broker') ?? 0) ?? '', keys });
  const history = await LeaseHistory.follow({ connection, space: 'main' });
  const told = () => `${JSON.stringify(history.writes.slice(-20))}\n${up.stderr()}\n${ws.log()}`;

  /** One that is just starting is hit; the daemon that served before is killed for it. Answers when. */
  const hit = async (signal: NodeJS.Signals, from: 'begin' | 'row') => {
    const before = daemons().map(({ pid }) => pid);
    const { length } = history.writes;
    kill(ws.recorded('delivery'), 'SIGKILL');
    const isNew = ({ pid }: { pid: number }) => !before.includes(pid);
    await until(
      () => (from === 'begin' ? daemons().some(isNew) : history.writes.length > length),
      told,
      ttlMs + 60_000,
    );
    const afterMs = random.below(LONGEST_MS[from]);
    await passed(afterMs);
    // One that met the row of the one before ends by itself; then it is the next one.
    const hitOne = () => {
      const pid = daemons().find(isNew)?.pid;
      kill(pid, signal);
      return pid;
    };
    const victim = await until(hitOne, told, ttlMs + 60_000);
    process.stdout.write(`${signal} ${afterMs} ms after its ${from}`);
    return { victim, atMs: Date.now() };
  };
  /** A daemon says on the row that it serves, later than this and in time. */
  const servesAfter = async (atMs: number) => {
    const ready = await until(
      () => history.writes.find((write) => write.ready && write.atMs > atMs),
      told,
      ttlMs + 90_000,
    );
    process.stdout.write(`: served after ${ready.atMs - atMs} ms (at most ${ttlMs} + ${Math.round(marginMs)})\n`);
    expect(ready.atMs - atMs, told()).toBeLessThanOrEqual(ttlMs + marginMs);
    await until(() => runs(ws.recorded('delivery')), told);
  };

  for (const [signal, from] of Array.from({ length: REPEATS }, () => PLAN).flat()) {
    const { victim, atMs } = await hit(signal, from);
    if (signal === 'SIGKILL') {
      await servesAfter(atMs);
      expect(ws.recorded('delivery')).not.toBe(victim);
    } else {
      await passed(freezeMs);
      const wokenMs = Date.now();
      kill(victim, 'SIGCONT');
      await servesAfter(wokenMs);
    }
    expect(daemons(), told()).toHaveLength(1);
  }
  expect(up.stderr()).toContain('delivery daemon exited (SIGKILL) while nats-server is running - restarting it\n');

  // One that is asked to stop stays stopped; the next one, by hand, serves in time.
  const { atMs } = await hit('SIGTERM', 'row');
  await ws.said(up, '• up: delivery ended');
  const byHand = ws.start(['deliver', '--space', 'main']);
  await servesAfter(atMs);
  await until(() => ws.recorded('delivery') === byHand.pid, told);
  const holders = history.holders();
  expect(new Set(holders).size, holders.join(' ')).toBe(holders.length);

  await connection.close();
  up.kill('SIGTERM');
  expect((await up.ended).code).toBe(0);
  expect(ws.processes()).toEqual([]);
}, 1_800_000);
