/** `cotal up` with its manager, and everything that goes through it, as a person does it. */
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { endpointGateKey, gateSchema } from '../../src/domain/auth-rows.ts';
import { LEASE_KEY, managerSubject } from '../../src/domain/subjects.ts';
import { openWorkstation } from '../../src/manager/embed.ts';
import { managerIdentity } from '../../src/services/local/manager-identity.ts';
import { mint } from '../../src/services/local/mint.ts';
import { connectOnce } from '../../src/services/nats/connect.ts';
import { until } from '../support/until.ts';
import { runs, Workstation } from '../support/workstation.ts';

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
  expect(ws.read('space.KEY/agents/local.alice.creds')).toBeUndefined();
  expect(ws.read('space.KEY/agents/local.sam.creds')).toContain('USER JWT');
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

interface Told {
  readonly name: string;
  readonly value: { starting?: number[] } | null;
  readonly ok: boolean | null;
}
/** What doctor says of the manager, with its exit code. */
async function doctor() {
  const done = await ws.run(['doctor', '--json']);
  const { facts } = done.json<{ facts: Told[] }>();
  const manager = facts.filter(({ name }) => name.startsWith('manager.'));
  const ok = Object.fromEntries(manager.map((fact) => [fact.name, fact.ok]));
  return { code: done.code, stderr: done.stderr, manager, ok };
}
type Doctor = Awaited<ReturnType<typeof doctor>>;
/** Asked again: what a busy machine did not answer in time is unknown. */
async function doctorSays(code: number, is: (ok: Doctor['ok']) => boolean): Promise<Doctor> {
  let last: Doctor | undefined;
  return until(
    async () => {
      last = await doctor();
      return last.code === code && is(last.ok) && last;
    },
    () => last,
    WAIT_MS,
  );
}
const FACTS = ['manager.process', 'manager.lease', 'manager.rail'];
const all = (wanted: boolean) => (ok: Doctor['ok']) => FACTS.every((name) => ok[name] === wanted);

it('one that ended by itself, or runs and does not answer, is named by doctor with exit 1; where none is wanted, none is asked for', async () => {
  expect((await ws.run(['up', '--detach', '--port', 0])).code).toBe(0);
  await doctorSays(0, all(true));
  const ended = ws.recorded('manager') ?? 0;
  process.kill(ended, 'SIGTERM');
  await until(() => !runs(ended), 'it lives', WAIT_MS);
  expect(ws.recorded('manager')).toBeUndefined();
  expect((await doctorSays(1, all(false))).stderr).toContain('→ start the manager with "cotal up"');

  expect((await ws.run(['up', '--detach'])).code).toBe(0);
  await doctorSays(0, all(true));
  const frozen = ws.recorded('manager') ?? 0;
  process.kill(frozen, 'SIGSTOP');
  const silent = await doctorSays(1, (ok) => ok['manager.process'] === true && ok['manager.rail'] === false);
  expect(silent.stderr).toContain('→ the manager does not serve (yet)');
  process.kill(frozen, 'SIGKILL');
  await until(() => !runs(frozen), 'it lives', WAIT_MS);

  expect((await ws.run(['down', 'manager'])).code).toBe(0);
  const stopped = await ws.run(['doctor']);
  expect(stopped.code).toBe(1);
  expect(stopped.stdout).toMatch(/✗ manager\.process +was stopped with "cotal down"/);
  expect((await ws.run(['up', '--detach', '--no-manager'])).code).toBe(0);
  await doctorSays(0, (ok) => Object.keys(ok).length === 0);
});

it('one that has begun and waits is named by doctor, also where none is wanted', async () => {
  await ws.run(['up', '--detach', '--port', 0, '--no-manager']);
  await ws.run(['down', 'delivery']);
  const waiting = ws.start(['manager'], { env: { COTAL_MANAGER_RAIL_WAIT_MS: '600000' } });
  const began = () => ws.read(`manager.KEY.starting.${waiting.pid}`) !== undefined;
  await until(began, waiting.stderr, WAIT_MS);
  const said = await doctor();
  expect(said.ok).toMatchObject({ 'manager.process': false });
  expect(said.manager[0]?.value?.starting, waiting.stderr()).toEqual([waiting.pid]);
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

it('the answer that an agent is retired leaves the credential that a successor has by then', async () => {
  const up = await ws.run(['up', '--detach', '--port', 0, '--no-manager', '--json']);
  const { url } = up.json<{ broker: { url: string } }>().broker;
  const added = await ws.run(['agent', 'add', 'bob', '--json']);
  expect(added.code, added.stderr).toBe(0);
  const kept = ws.read('space.KEY/agents/local.bob.creds');
  // A manager in all but its work: it says of the lifecycle before that it is retired.
  const station = await openWorkstation({ root: ws.root, space: 'main', url });
  const lease = await station.ports.rows.write({ bucket: 'manager', key: LEASE_KEY, value: {}, expect: 0 });
  expect(lease).toMatchObject({ type: 'written' });
  const serve = { profile: 'serve', space: 'main', principal: 'local.serve' } as const;
  const credential = await mint(station.keys, { profile: serve, name: 'local.serve' });
  const connection = await connectOnce({ url, name: 'serve', credential });
  const gone = { principal: 'local.bob', end: 'retired', reason: '', uid: 'b'.repeat(26) };
  const data = { ...gone, durables: 1, memberships: 0, marks: 0 };
  connection.subscribe(managerSubject('main', '*.*'), {
    callback: (_, message) => void message.respond(JSON.stringify({ ok: true, data })),
  });
  await connection.flush();
  const retired = await ws.run(['agent', 'retire', 'bob', '--json']);
  expect(retired.json(), retired.stderr).toMatchObject({ state: 'retired', lifecycleUid: 'b'.repeat(26) });
  expect(kept).toContain('USER JWT');
  expect(ws.read('space.KEY/agents/local.bob.creds')).toBe(kept);
  await connection.close();
  await station.close();
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
