/**
 * A daemon is killed, stopped for good, or frozen beyond its lease and its window at twenty random instants of its start.
 * Each time a standby that comes afterwards serves in time, no record lies, and never did two daemons have effects at a
 * time: said by the broker, of what it stored and when. `INSTANTS_SEED` repeats a run; `npm run -s test:instants` has the
 * bounds as they are by default, with a freeze of 40 s.
 */
import { readFileSync } from 'node:fs';
import { describe, it } from 'vitest';
import { numbers } from '../../../src/domain/numbers.ts';
import { recordPath } from '../../../src/services/local/process-record.ts';
import { Random } from '../../../src/torture/random.ts';
import { Agent, texts } from '../../support/delivery/agent.ts';
import { startInProcess, startProcess } from '../../support/delivery/daemon.ts';
import { connectAsAnybody, LeaseHistory } from '../../support/lease-history.ts';
import { startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

const SCALED = {
  ttlMs: 2_000,
  freezeMs: 3_500,
  env: {
    COTAL_DELIVERY_LEASE_TTL_MS: '2000',
    COTAL_DELIVERY_LEASE_RENEW_MS: '300',
    COTAL_DELIVERY_LEASE_FENCE_MS: '1500',
    COTAL_DELIVERY_STANDBY_PROBE_MS: '100',
    COTAL_DELIVERY_BROKER_GONE_MS: '1000',
  },
};
const DEFAULT = { ttlMs: numbers.leaseTtlMs, freezeMs: 40_000, env: {} };
const { ttlMs, freezeMs, env } = process.env.INSTANTS_BOUNDS === 'default' ? DEFAULT : SCALED;

/** Meshes at a time, and rounds on each: twenty instants. */
const LANES = [0, 1, 2, 3];
const ROUNDS = 5;
/** Instants lie this long at most after the process was begun, or, in every other round, after its first write of the row. */
const LONGEST_MS = { begin: 1_200, row: 400 };
const SIGNALS = ['SIGKILL', 'SIGTERM', 'SIGSTOP'] as const;
/** A standby serves this long after the row is free, or after it was started. */
const PROMISED_MS = 2_000;
/** … or in as many of its own starts as this, on a machine where already an undisturbed one takes long. */
const STARTS = 5;

const seed = Number(process.env.INSTANTS_SEED ?? 20_261_130);
process.stdout.write(`INSTANTS_SEED=${seed}\n`);

describe.concurrent('a daemon that is killed, stopped or frozen at random instants of its start', () => {
  it.for(LANES)(
    'leaves a space that a standby serves in time, no record lies, one at a time had effects (mesh %i)',
    { timeout: 600_000 },
    async (lane, { expect, onTestFinished }) => {
      const random = new Random(seed + lane);
      const mesh = await startMesh({ leaseTtlMs: ttlMs });
      process.env.COTAL_HOME = mesh.root;
      const ends: (() => unknown)[] = [() => mesh.dispose()];
      onTestFinished(async () => {
        for (const end of ends.reverse()) await end();
      });
      const everything = await connectAsAnybody({ url: mesh.url, keys: mesh.keys });
      ends.push(() => everything.close());
      const history = await LeaseHistory.follow({ connection: everything, space: mesh.space });
      const serve = async () => {
        const beganMs = Date.now();
        const daemon = await startInProcess(mesh, env, { standby: true });
        ends.push(() => daemon.daemon.actor.getSnapshot().status === 'active' && daemon.stop());
        const ready = await until(
          () => history.readyOf(daemon.daemon.incarnation),
          () => daemon.state(),
        );
        return { ...daemon, beganMs, ready, stalledMs: daemon.daemon.exhibit.stalledMs() };
      };
      const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
      const first = await serve();
      await bob.join('team');
      await first.stop();
      const marginMs = Math.max(PROMISED_MS, STARTS * (first.ready.atMs - first.beganMs));

      for (let round = 0; round < ROUNDS; round++) {
        const n = lane * ROUNDS + round;
        const from = n % 2 === 0 ? 'begin' : 'row';
        const [signal = 'SIGKILL', afterMs] = [SIGNALS[n % SIGNALS.length], random.below(LONGEST_MS[from])];
        await alice.post('team', { text: `${round}` });
        const victim = startProcess(mesh, { env: { ...env, COTAL_HOME: mesh.root } });
        ends.push(() => victim.kill());
        const { length } = history.writes;
        await until(
          () => from === 'begin' || history.writes.length > length,
          () => victim.stderr(),
        );
        const began = performance.now();
        await until(() => performance.now() - began >= afterMs, '');
        victim.process.kill(signal);
        const signalledMs = Date.now();
        if (signal !== 'SIGSTOP') await victim.exit;
        const heir = await serve();

        const told = `mesh ${lane} round ${round}: ${signal} ${afterMs} ms after its ${from}\n${victim.stderr()}\n${JSON.stringify(history.writes)}`;
        const claimed = history.writes.find(({ incarnation }) => incarnation === heir.daemon.incarnation);
        const freeMs = history.freeBefore(claimed ?? heir.ready, ttlMs);
        const tookMs = heir.ready.atMs - Math.max(freeMs, heir.beganMs);
        process.stdout.write(
          `mesh ${lane}: ${signal} ${afterMs} ms after its ${from}${freeMs > heir.beganMs ? ' with the row' : ''}, served ${tookMs} ms after it could (at most ${marginMs})\n`,
        );
        expect(claimed?.atMs, told).toBeGreaterThanOrEqual(freeMs);
        // While the process that it is in did not get to run, it could not.
        expect(tookMs, told).toBeLessThanOrEqual(marginMs + heir.stalledMs);
        if (signal === 'SIGSTOP') {
          // Frozen beyond its lease and its window; the broker's clock says so.
          await until(() => (history.writes.at(-1)?.atMs ?? 0) > signalledMs + freezeMs, told, freezeMs + 30_000);
          victim.process.kill('SIGCONT');
          expect(await until(() => victim.process.exitCode, told, 60_000), told).toBe(1);
        }
        const record = readFileSync(recordPath({ root: mesh.root, what: 'delivery', space: mesh.space }), 'utf8');
        expect(Number(record.split('\n')[0]), told).toBe(process.pid);
        expect((await heir.stop()).end, told).toBe('stopped');
      }
      const last = await serve();
      await alice.post('team', { text: 'last' });

      const all = [...Array.from({ length: ROUNDS }, (_, round) => `${round}`), 'last'];
      expect(texts(await bob.read(all.length, 30_000))).toEqual(all);
      await last.stop();
      const [holders, writers] = [history.holders(), history.writers()];
      expect(new Set(holders).size, holders.join(' ')).toBe(holders.length);
      // Who copied held the row, one after the other in the same order.
      expect(holders.filter((holder) => writers.includes(holder))).toEqual(writers);
    },
  );
});
