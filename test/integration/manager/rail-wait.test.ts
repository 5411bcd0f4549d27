/** Waiting for the rail, over a real broker; who answers is the test. */
import { createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createActor, SimulatedClock } from 'xstate';
import { managerNumbers, railWaitBounds } from '../../../src/domain/manager-numbers.ts';
import { bindRailWait } from '../../../src/manager/bind-rail.ts';
import { waitForRail } from '../../../src/manager/embed.ts';
import { ADMIN_RAIL, RailLine } from '../../../src/manager/rail-line.ts';
import { TcpProxy } from '../../../src/torture/proxy.ts';
import { Callers } from '../../support/callers.ts';
import { type Asked, fakeDaemon, type Stand, standOf } from '../../support/manager/stand.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

let mesh: Mesh;
let stand: Stand;
beforeEach(async () => {
  mesh = await startMesh();
  stand = await standOf(mesh);
});
afterEach(async () => {
  await stand.ports.close();
  await mesh.dispose();
});

const identity = ({ args }: Asked) => ({
  ok: true,
  data: { identity: { kind: 'fs', root: '/x' }, challenge: args.challenge, incarnation: 'i', signature: 's' },
});

it('a daemon that binds late in the wait is found (RAIL-04)', async () => {
  const waiting = waitForRail(stand.ports, { waitMs: 30_000 });
  const spy = await mesh.connect('manager');
  await spy.flush();
  const daemon = await fakeDaemon(mesh, identity);
  expect(await waiting).toMatchObject({ type: 'wait.answered', data: { incarnation: 'i' } });
  expect(daemon.asked).toHaveLength(1);
});

it('one that hears and stays silent is asked again, and its answer to a later attempt counts', async () => {
  stand = await standOf(mesh, { numbers: { railAttemptMs: 100 } });
  const daemon = await fakeDaemon(mesh, (asked, nth) => (nth < 3 ? undefined : identity(asked)));
  expect(await waitForRail(stand.ports, { waitMs: 30_000 })).toMatchObject({ type: 'wait.answered' });
  expect(daemon.asked.length).toBeGreaterThanOrEqual(3);
});

it.each([
  [
    'a refusal',
    () => ({ ok: false, error: { code: 'rail.not-wired', message: 'there is no store' } }),
    { type: 'wait.refused', code: 'rail.not-wired', message: 'there is no store' },
  ],
  ['a truncated reply', () => '{"ok":true,"data":{"ident', { type: 'wait.unreadable' }],
  ['a reply of another shape', () => ({ ok: true, data: { identity: 7 } }), { type: 'wait.unreadable' }],
  ['a refusal without a reason', () => ({ ok: false }), { type: 'wait.unreadable' }],
])('%s ends the wait at once', async (_, reply, outcome) => {
  const daemon = await fakeDaemon(mesh, reply);
  expect(await waitForRail(stand.ports, { waitMs: 60_000 })).toMatchObject(outcome);
  expect(daemon.asked).toHaveLength(1);
});

it('silence to the end names the rail, the operation and the last reason (RAIL-05)', async () => {
  const outcome = await waitForRail(stand.ports, { waitMs: 2_000 });
  expect(outcome).toMatchObject({ type: 'wait.silent' });
  expect('message' in outcome && outcome.message).toMatch(
    /^nobody answered reloadStoreIdentity on ctl\.delivery-admin within 2 s \(last: (no responder is bound|it timed out)\)$/,
  );
});

it('it ends also while a dial hangs, and nothing is sent after it', async () => {
  const sockets: Socket[] = [];
  let bytes = 0;
  const mute = createServer((socket) => {
    sockets.push(socket);
    socket.on('data', (data) => {
      bytes += data.length;
    });
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  const { port } = mute.address() as { port: number };
  const muted = await standOf(mesh, { url: `nats://127.0.0.1:${port}` });
  const outcome = await waitForRail(muted.ports, { waitMs: 500 });
  expect(outcome).toMatchObject({ type: 'wait.silent' });
  await until(() => sockets.length > 0, 'a dial');
  await until(() => sockets.every((socket) => socket.destroyed || socket.readableEnded), 'the sockets to end');
  expect(bytes).toBe(0);
  for (const socket of sockets) socket.destroy();
  await new Promise((resolve) => mute.close(resolve));
});

it('one that is cancelled rejects with the reason, and asks nobody any more', async () => {
  stand = await standOf(mesh, { numbers: { railAttemptMs: 50 } });
  const stop = new AbortController();
  const daemon = await fakeDaemon(mesh, () => undefined);
  const waiting = waitForRail(stand.ports, { waitMs: 60_000 }, { signal: stop.signal });
  await until(() => daemon.asked.length >= 2, 'two attempts');
  stop.abort(new Error('somebody pressed Ctrl-C'));
  await expect(waiting).rejects.toThrow('somebody pressed Ctrl-C');
  // What it had sent has arrived when another one's attempt has; then nothing more comes.
  const other = await standOf(mesh, { principal: 'local.other', numbers: { railAttemptMs: 50 } });
  await waitForRail(other.ports, { waitMs: 300 });
  const own = () => daemon.asked.filter(({ from }) => from.id === 'local.executor').length;
  const before = own();
  await waitForRail(other.ports, { waitMs: 300 });
  expect(own()).toBe(before);
  expect(await waitForRail(stand.ports, { waitMs: 200 }, { signal: stop.signal }).catch(String)).toContain('Ctrl-C');
});

it('a broker whose greeting comes after the end is told nothing any more', async () => {
  const callers = new Callers();
  const proxy = await TcpProxy.to(mesh.url, callers.look);
  const held = await standOf(mesh, { url: proxy.url });
  proxy.hold('toClient');
  expect(await waitForRail(held.ports, { waitMs: 500 })).toMatchObject({ type: 'wait.silent' });
  proxy.release();
  const daemon = await fakeDaemon(mesh, identity);
  const other = await standOf(mesh, { principal: 'local.other', url: proxy.url });
  expect(await waitForRail(other.ports, { waitMs: 30_000 })).toMatchObject({ type: 'wait.answered' });
  expect(new Set(callers.presented.map(({ jwt }) => jwt))).toEqual(new Set([other.credential.jwt]));
  expect(daemon.asked.every(({ from }) => from.id === 'local.other')).toBe(true);
  await other.ports.close();
  await held.ports.close();
  await proxy.close();
});

it('a reply that comes after its attempt was given up answers nobody', async () => {
  stand = await standOf(mesh, { numbers: { railAttemptMs: 200 } });
  let second = () => {};
  const late = new Promise<void>((resolve) => {
    second = resolve;
  });
  const daemon = await fakeDaemon(mesh, async (asked, nth) => {
    if (nth > 1) return second();
    await late;
    return identity(asked);
  });
  expect(await waitForRail(stand.ports, { waitMs: 2_000 })).toMatchObject({ type: 'wait.silent' });
  expect(daemon.asked.length).toBeGreaterThan(1);
});

describe('the wait of 60 s over a real broker, a hundred times slower, with a clock that the test turns', () => {
  const SLOWER = 100;
  const STEP_MS = 25;

  /** Turns the clock until the wait has ended and `untilMs` has passed; whoever is to come, comes at his time. */
  async function waited(of: { untilMs: number; at: number; come: () => Promise<void> }) {
    const clock = new SimulatedClock();
    const { credential } = stand;
    const line = new RailLine({
      space: mesh.space,
      principal: 'local.executor',
      dial: () => ({ url: mesh.url, timeoutMs: 5_000, name: 'manager', credential }),
      clock: { now: () => ({ monotonicMs: clock.now(), wallMs: clock.now() }) },
    });
    const usual = railWaitBounds(managerNumbers);
    const bounds = {
      waitMs: usual.waitMs * SLOWER,
      firstGapMs: usual.firstGapMs * SLOWER,
      gapLimitMs: usual.gapLimitMs * SLOWER,
      gapFloorMs: usual.gapFloorMs * SLOWER,
      attemptMs: usual.attemptMs * SLOWER,
    };
    const args = { challenge: 'c'.repeat(32) };
    const input = { ...bounds, rail: ADMIN_RAIL, op: 'reloadStoreIdentity', args };
    const actor = createActor(bindRailWait({ line }), { clock, input });
    const isAtRest = () => {
      const snapshot = actor.getSnapshot();
      return snapshot.status !== 'active' || !snapshot.matches({ Waiting: 'Asking' });
    };
    const rest = () => until(isAtRest, () => [clock.now(), actor.getSnapshot().value, actor.getSnapshot().context]);
    let [endedAt, hasCome] = [Number.NaN, false];
    actor.start();
    await rest();
    for (let at = 0; at < of.untilMs; at += STEP_MS) {
      if (!hasCome && at >= of.at) {
        hasCome = true;
        await of.come();
      }
      clock.increment(STEP_MS * SLOWER);
      await rest();
      if (Number.isNaN(endedAt) && actor.getSnapshot().status === 'done') endedAt = at + STEP_MS;
    }
    await line.close();
    return { outcome: actor.getSnapshot().output, endedAt };
  }

  it.each([500, 30_000, 59_000, 59_900])(
    'a daemon that binds at %i ms is found, and asked once (RAIL-04)',
    async (at) => {
      let asked: Asked[] = [];
      const come = async () => {
        asked = (await fakeDaemon(mesh, identity)).asked;
      };
      const { outcome, endedAt } = await waited({ untilMs: 60_000, at, come });
      expect(outcome).toMatchObject({ type: 'wait.answered', data: { incarnation: 'i' } });
      expect(endedAt).toBeGreaterThan(at);
      expect(asked).toHaveLength(1);
    },
  );

  it('without one it ends at 60 s, and whoever binds then is sent nothing in the minute after it', async () => {
    let asked: Asked[] = [];
    const come = async () => {
      asked = (await fakeDaemon(mesh, identity)).asked;
    };
    const { outcome, endedAt } = await waited({ untilMs: 120_000, at: 60_000, come });
    expect(outcome).toMatchObject({ type: 'wait.silent', message: expect.stringContaining('no responder is bound') });
    expect(endedAt).toBe(60_000);
    // What it had sent would have come before this.
    await waitForRail((await standOf(mesh, { principal: 'local.other' })).ports, { waitMs: 30_000 });
    expect(asked.map(({ from }) => from.id)).toEqual(['local.other']);
  });
});
