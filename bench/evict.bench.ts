/**
 * Verified eviction of a large family on a real broker by a real daemon: requests, sweeps, and the time a holder, against a
 * family of one request and against one sweep for each holder.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import { evictHolders, managerPorts } from '../src/manager/embed.ts';
import { connectOnce } from '../src/services/nats/connect.ts';
import { startInProcess } from '../test/support/delivery/daemon.ts';
import { startMesh } from '../test/support/mesh.ts';
import type { Bench } from './bench.ts';

const BATCH = 256;
const AT_ONCE = 25;
const SINGLES = 4;

export const bench: Bench = {
  run: async ({ quick, say }) => {
    const count = quick ? 600 : 10_000;
    const live = quick ? 30 : 500;
    const mesh = await startMesh();
    process.env.COTAL_HOME = mesh.root;
    const running = await startInProcess(mesh);
    const { tally } = running.daemon;
    const principal = 'local.bench';
    const credential = await mesh.credsFor('manager', { principal, lifeS: null });
    const connection = await mesh.connect(credential);
    const ports = managerPorts({
      space: mesh.space,
      principal,
      connection: () => connection,
      dial: () => ({ url: mesh.url, name: 'bench', credential }),
      // What is measured begins after the revocation; clients of the bench do not come back.
      revoke: async () => ({ type: 'revoked' }),
    });
    const holders = Array.from({ length: count }, (_, n) => `local.h${String(n).padStart(5, '0')}`);
    let freezes = 0;
    const evict = async (names: readonly string[]) => {
      const [scans, requests] = [tally.get('sweep.scans'), tally.get('sweep.requests')];
      const began = performance.now();
      const freeze = { endpoint: 'bench', instance: `i${freezes++}`, opId: 'op', freezeToken: '1' };
      const outcome = await evictHolders(ports, { ...freeze, holders: names });
      if (outcome.end !== 'verified') throw new Error(outcome.reason);
      return {
        ms: performance.now() - began,
        verified: outcome.verified,
        requests: tally.get('sweep.requests') - requests,
        sweeps: tally.get('sweep.scans') - scans,
      };
    };

    /** Connects an even share of these. */
    const connectSome = async (names: readonly string[], wanted: number): Promise<NatsConnection[]> => {
      const step = Math.floor(names.length / wanted);
      const chosen = names.filter((_, n) => n % step === 0).slice(0, wanted);
      const connections: NatsConnection[] = [];
      for (let from = 0; from < chosen.length; from += AT_ONCE) {
        const opening = chosen.slice(from, from + AT_ONCE).map(async (name) => {
          const own = await mesh.credsFor('session', { principal: name });
          return connectOnce({ url: mesh.url, name: 'holder', credential: own, timeoutMs: 30_000 });
        });
        connections.push(...(await Promise.all(opening)));
      }
      return connections;
    };

    say(`connecting ${live} of ${count} holders`);
    const connections = await connectSome(holders, live);
    say(`evicting ${count} holders`);
    const all = await evict(holders);
    await Promise.all(connections.map((each) => each.closed()));
    say(`evicting ${BATCH} holders, and ${SINGLES} one by one`);
    await connectSome(holders.slice(0, BATCH), Math.ceil((live * BATCH) / count));
    const one = await evict(holders.slice(0, BATCH));
    const began = performance.now();
    for (const name of holders.slice(0, SINGLES)) await evict([name]);
    const singleMs = (performance.now() - began) / SINGLES;
    await ports.close();
    await running.stop();
    await mesh.dispose();
    const round = (value: number) => Number(value.toFixed(3));
    return {
      holders: count,
      liveConnections: live,
      requests: all.requests,
      sweeps: all.sweeps,
      verifiedGone: all.verified,
      msPerHolder: round(all.ms / count),
      msPerHolderOfOneRequest: round(one.ms / BATCH),
      /** Near 1: the time a holder does not grow with the family. The one request has the same share of live connections. */
      ratioToOneRequest: round(all.ms / count / (one.ms / BATCH)),
      /** How many times as long one request, and so one sweep, for each holder would take. */
      ratioOfOneSweepPerHolder: round((singleMs * count) / all.ms),
      totalMs: Math.round(all.ms),
    };
  },
};
