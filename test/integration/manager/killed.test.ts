/** A manager that dies by SIGKILL in the middle of its eviction, and one whose window is too short for all of it. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { endpointGateKey } from '../../../src/domain/auth-rows.ts';
import { clearedKey, cursorKey } from '../../../src/domain/eviction.ts';
import { LEASE_KEY, railSubjects } from '../../../src/domain/subjects.ts';
import { register, repairGate } from '../../../src/manager/embed.ts';
import { managerIdentity } from '../../../src/services/local/manager-identity.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { type Asked, fakeDaemon, giveHolders, provesAll, standOf } from '../../support/manager/stand.ts';
import { until } from '../../support/until.ts';

const suite = deliverySuite();
const children = new Set<ChildProcess>();
afterEach(() => {
  for (const child of children) child.kill('SIGKILL');
  children.clear();
});
const namesOf = (count: number) => Array.from({ length: count }, (_, n) => `local.h${String(n).padStart(4, '0')}`);

/** A manager process; killed at its n-th record, or else serving until it is stopped. */
function manager(killAtRecord?: number) {
  const { root, space, url } = suite.mesh;
  const child = fork(
    fileURLToPath(new URL('../../support/manager/manager-child.ts', import.meta.url)),
    [root, space, url],
    {
      execArgv: ['--conditions=plane3-source'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, ...(killAtRecord === undefined ? {} : { KILL_AT_RECORD: String(killAtRecord) }) },
    },
  );
  children.add(child);
  let said = '';
  child.stderr?.on('data', (data: Buffer) => {
    said += data.toString();
  });
  return { child, said: () => said, ended: once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]> };
}

it('killed after each of two records, the next manager goes on after it; everybody is asked for once, and it serves', async () => {
  const stand = await standOf(suite.mesh);
  const { instance } = await managerIdentity(suite.mesh);
  const family = { endpoint: 'manager', instance };
  const holders = namesOf(600);
  await giveHolders(stand, family, holders);
  const spy = await suite.mesh.connect('delivery');
  const asked: string[][] = [];
  spy.subscribe(railSubjects(suite.mesh.space, 'delivery-admin'), {
    callback: (_, message) => {
      const { op, args } = message.json<Asked>();
      if (op === 'evictPrincipals') asked.push(args.principals);
    },
  });
  await spy.flush();
  const gate = () => stand.row(endpointGateKey('manager', instance));
  const cursor = () => stand.row(cursorKey('manager', instance));

  for (const verified of [256, 512]) {
    const killed = manager(1);
    expect(await killed.ended, killed.said()).toEqual([null, 'SIGKILL']);
    expect(await cursor()).toMatchObject({ count: verified });
    expect(await gate()).toMatchObject({ state: 'frozen' });
    // Its lease ends by itself within ten seconds; here at once.
    await stand.ports.rows.remove({ bucket: 'manager', key: LEASE_KEY });
  }
  const last = manager();
  const serving = once(last.child, 'message');
  await Promise.race([serving, last.ended]);
  expect(await gate(), last.said()).toMatchObject({ state: 'open', processEpoch: 1 });
  // They came on a connection of their own.
  await spy.flush();
  expect(asked.map((names) => names.length)).toEqual([256, 256, 88]);
  expect(asked.flat()).toEqual(holders);
  expect(await cursor()).toBeUndefined();
  expect(await stand.row(clearedKey('manager', instance))).toBeUndefined();
  last.child.kill('SIGTERM');
  expect(await last.ended, last.said()).toEqual([0, null]);
  await stand.ports.close();
}, 240_000);

it('a window that is over after two requests ends in a registration on the second try, and the next one verifies everybody again (EVC-05)', async () => {
  await suite.running.stop();
  const family = { endpoint: 'manager', instance: 'i1' };
  const holders = namesOf(700);
  let answers = 2;
  const asked: string[] = [];
  const daemon = await fakeDaemon(suite.mesh, (question) => {
    if (question.op !== 'evictPrincipals') return provesAll(question);
    if (answers-- <= 0) return undefined;
    asked.push(...question.args.principals);
    return provesAll(question);
  });
  const attempt = async (nth: number) => {
    const executorWindowMs = nth === 0 ? 4_000 : 60_000;
    const numbers = { executorWindowMs, railWaitMs: 60_000, railAttemptMs: 60_000 };
    const stand = await standOf(suite.mesh, { principal: `local.manager_${nth}`, numbers });
    if (nth === 0) await giveHolders(stand, family, holders);
    answers = 1_000;
    const repair = await repairGate(stand.ports, family);
    answers = nth < 2 ? 2 : 1_000;
    const { end } = await register(stand.ports, { ...family, incarnation: `run${nth}` });
    const gate = await stand.row(endpointGateKey('manager', 'i1'));
    await stand.ports.close();
    await until(() => stand.connection.close().then(() => true), 'the end of the connection');
    return [repair.end, end, gate?.state];
  };
  expect(await attempt(0)).toEqual(['no-gate', 'cut-short', 'frozen']);
  expect(await attempt(1)).toEqual(['repaired', 'registered', 'open']);
  expect([...asked].sort()).toEqual(holders);
  asked.length = 0;
  expect(await attempt(2)).toEqual(['not-frozen', 'registered', 'open']);
  expect([...asked].sort()).toEqual(holders);
  await daemon.stop();
});
