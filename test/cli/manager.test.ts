/** `cotal up` with its manager, and everything that goes through it, as a person does it. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { endpointGateKey, gateSchema } from '../../src/domain/auth-rows.ts';
import { openWorkstation } from '../../src/manager/embed.ts';
import { managerIdentity } from '../../src/services/local/manager-identity.ts';
import { until } from '../support/until.ts';
import { Workstation } from '../support/workstation.ts';

const WAIT_MS = 90_000;

let ws: Workstation;
beforeEach(() => {
  ws = new Workstation({ COTAL_MANAGER_EXECUTOR_WINDOW_MS: '60000' }, { manager: true });
});
afterEach(async () => {
  await ws.run(['down']);
  await ws.dispose();
});

const ledger = async () => (await ws.run(['agent', 'list', '--json'])).stdout;

it('up starts it; agents are added, granted and retired by it; killed, the next up brings another epoch', async () => {
  const up = await ws.run(['up', '--detach', '--port', 0, '--json']);
  expect(up.code, up.stderr).toBe(0);
  const first = up.json<{ healthy: boolean; manager: { pid: number } }>();
  expect(first).toMatchObject({ healthy: true, manager: { pid: expect.any(Number) } });
  const log = () => ws.read('manager.KEY.log') ?? '';
  expect(log()).toContain('• manager: store proof matched');
  expect(log()).toContain('• manager: registered, epoch 1 (0 holders verified gone with 0 requests)');

  const added = await ws.run(['agent', 'add', 'alice', '--read', 'team.>', '--post', 'team.>', '--json']);
  expect(added.json()).toMatchObject({ principal: 'local.alice', lifecycleUid: expect.any(String) });
  const twice = await ws.run(['agent', 'add', 'Alice', '--json']);
  expect([twice.code, twice.json<{ error: { code: string } }>().error.code]).toEqual([1, 'agent.exists']);
  await ws.run(['agent', 'add', 'sam', '--post', 'team.>']);
  expect((await ws.run(['join', 'team.a', '--as', 'alice', '--json'])).json()).toMatchObject({ state: 'durable' });
  await ws.run(['post', 'team.a', 'taken back', '--as', 'sam']);
  const granted = await ws.run(['agent', 'grant', 'alice', '--read', 'team.b', '--json']);
  expect(granted.json(), granted.stderr).toMatchObject({ read: ['team.b'], post: ['team.>'], effect: 'withdrawn' });
  const inbox = await ws.run(['inbox', '--as', 'alice', '--json', '--wait', 200]);
  expect([inbox.code, inbox.stdout], inbox.stderr).toEqual([0, '']);
  const retired = await ws.run(['agent', 'retire', 'alice', '--json']);
  expect(retired.json(), retired.stderr).toMatchObject({ state: 'retired', already: false, memberships: 1 });
  expect((await ws.run(['agent', 'retire', 'alice', '--json'])).json()).toMatchObject({
    already: true,
    memberships: 0,
  });
  expect(await ledger()).toContain('"state":"retired"');
  expect((await ws.run(['reconcile-gate', '--json'])).json()).toMatchObject({ end: 'not-frozen' });

  process.kill(first.manager.pid, 'SIGKILL');
  const again = await ws.run(['up', '--detach', '--json']);
  expect(again.json(), again.stderr).toMatchObject({ healthy: true });
  expect(again.json<{ manager: { pid: number } }>().manager.pid).not.toBe(first.manager.pid);
  // Its three kept identities are the family: verified gone with one request, and no holder is added.
  expect(log()).toContain('• manager: registered, epoch 2 (3 holders verified gone with 1 requests)');
  expect((await ws.run(['down'])).code).toBe(0);
  expect(ws.recorded('manager')).toBeUndefined();
  expect(log()).toContain('• manager: received SIGTERM, exiting (space main)');
});

it('its port says that it is alive and ready, and its recording is replayed to the same', async () => {
  await ws.run(['up', '--detach', '--port', 0, '--no-manager']);
  const file = join(ws.folder, 'manager.jsonl');
  const manager = ws.start(['manager', '--http', 0, '--record', file]);
  const url = await until(() => /manager: metrics at (\S+)/.exec(manager.stderr())?.[1], manager.stderr, WAIT_MS);
  await until(async () => (await fetch(`${url}/readyz`)).status === 200, manager.stderr, WAIT_MS);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  expect(metrics).toMatch(/^plane3_ready 1$/m);
  expect(metrics).toMatch(/^plane3_lease_held 1$/m);
  expect(metrics).toMatch(/^plane3_actors\{machine="manager",state="\S+"\} 1$/m);
  manager.kill('SIGTERM');
  expect((await manager.ended).code, manager.stderr()).toBe(0);
  const replayed = await ws.run(['replay', file, '--json']);
  expect(replayed.code, replayed.stdout).toBe(0);
  expect((await ws.run(['manager', '--record', file])).code).not.toBe(0);
});

it('without a daemon it waits for the rail, and its log names it (RAIL-05)', async () => {
  await ws.run(['up', '--detach', '--port', 0, '--no-manager']);
  await ws.run(['down', 'delivery']);
  const env = { COTAL_MANAGER_RAIL_WAIT_MS: '1500' };
  const alone = await ws.run(['manager'], { env });
  expect(alone.code).toBe(1);
  expect(alone.stderr).toContain('nobody answered reloadStoreIdentity on ctl.delivery-admin within 1.5 s');
  expect(ws.read('manager.KEY.log')).toContain('ctl.delivery-admin');
});

it('without a manager the gate of a dead one is opened by reconcile-gate; where that cannot be told it says why, exits 2, and leaves it (EVC-03)', async () => {
  const up = await ws.run(['up', '--detach', '--port', 0, '--no-manager', '--json']);
  const { root } = ws;
  const { url } = up.json<{ broker: { url: string } }>().broker;
  const station = await openWorkstation({ root, space: 'main', url });
  const { instance } = await managerIdentity({ root, space: 'main' });
  const key = endpointGateKey('manager', instance);
  const { rows } = station.ports;
  const gate = async () => {
    const read = await rows.read({ key, schema: gateSchema });
    return read.type === 'found' ? { state: read.row.state, generation: read.row.generation } : read;
  };
  const freeze = async () => {
    const { revision = 0 } = (await rows.read({ key, schema: gateSchema })) as { revision?: number };
    const op = { opId: 'op0', kind: 'registration' };
    const value = { state: 'frozen', generation: 4, principal: 'local.dead', op };
    expect(await rows.write({ key, value, expect: revision })).toMatchObject({ type: 'written' });
  };
  await freeze();
  const opened = await ws.run(['reconcile-gate', '--json']);
  expect([opened.code, opened.json<{ end: string }>().end], opened.stderr).toEqual([0, 'repaired']);
  expect(await gate()).toEqual({ state: 'open', generation: 5 });
  await freeze();
  await ws.run(['down', 'delivery']);
  const refused = await ws.run(['reconcile-gate', '--json'], { env: { COTAL_MANAGER_RAIL_WAIT_MS: '1500' } });
  expect([refused.code, refused.json<{ end: string }>().end]).toEqual([2, 'liveness-unestablishable']);
  expect(refused.stderr).toContain('nobody holds the delivery lease');
  expect(await gate()).toEqual({ state: 'frozen', generation: 4 });
  await station.close();
});
