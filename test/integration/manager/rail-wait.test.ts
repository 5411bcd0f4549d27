/** Waiting for the rail, over a real broker; who answers is the test. */
import { createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { waitForRail } from '../../../src/manager/embed.ts';
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
