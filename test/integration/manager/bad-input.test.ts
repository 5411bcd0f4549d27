/**
 * What a manager's start makes of answers and rows that it cannot trust: it ends with the reason in its log and its exit, and the
 * gate is as closed as it was. The manager in this process over a real store; the daemon is the test.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endpointGateKey, endpointLedgerKey, registrationKey } from '../../../src/domain/auth-rows.ts';
import { cursorKey } from '../../../src/domain/eviction.ts';
import { openManager } from '../../../src/manager/process.ts';
import { managerIdentity } from '../../../src/services/local/manager-identity.ts';
import { TestJournal } from '../../support/delivery/daemon.ts';
import {
  type Asked,
  fakeHolder,
  giveHolders,
  gone,
  provesAll,
  type Stand,
  standOf,
} from '../../support/manager/stand.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';

const HOLDERS = ['local.h0', 'local.h1', 'local.h2'];
let mesh: Mesh;
let stand: Stand;
let instance: string;
let gate: string;
beforeEach(async () => {
  mesh = await startMesh();
  stand = await standOf(mesh);
  instance = (await managerIdentity(mesh)).instance;
  gate = endpointGateKey('manager', instance);
  await giveHolders(stand, { endpoint: 'manager', instance }, HOLDERS);
});
afterEach(async () => {
  await stand.ports.close();
  await mesh.dispose();
});

/** The wait for the rail scaled down, for a daemon that stays silent. */
const SHORT = { COTAL_MANAGER_RAIL_WAIT_MS: '6000', COTAL_MANAGER_RAIL_ATTEMPT_MS: '1000' };

/** A start of the manager to its end. */
async function start(env: Record<string, string> = {}) {
  const journal = new TestJournal();
  const { root, space, url } = mesh;
  const manager = await openManager({ root, space, url, journal, env });
  const ended = await manager.run();
  return { ...ended, log: journal.lines().join('\n') };
}
const frozenBy = (principal: string) => ({
  state: 'frozen',
  generation: 3,
  processEpoch: 2,
  principal,
  op: { opId: 'op9', kind: 'registration' },
});
const results = (give: (principals: string[]) => object) => (asked: Asked) => ({
  ok: true,
  data: { results: give(asked.args.principals) },
});

describe('an answer to evictPrincipals that is', () => {
  it.each<[string, (asked: Asked, nth: number) => object | string | undefined, string]>([
    [
      'truncated',
      () => '{"ok":true,"data":{"results":[',
      'the reply to evictPrincipals on ctl.delivery-admin cannot be read',
    ],
    ['of another shape', results(() => ({ all: true })), 'cannot be read'],
    ['of another length', results((names) => names.slice(1).map(gone)), '3 principals were asked for, 2 were answered'],
    [
      'in another order',
      results((names) => [...names].reverse().map(gone)),
      'local.h0 was asked for, local.h2 was answered',
    ],
    [
      'of a sweep to which a page is owed',
      results((names) => names.map((name) => ({ ...gone(name), verifiedGone: false, scanComplete: false }))),
      'the sweep was incomplete',
    ],
    [
      'a refusal: an old daemon',
      ({ op }) => ({ ok: false, error: { code: 'rail.unknown-op', message: `${op} is not served` } }),
      'evictPrincipals is not served',
    ],
    ['silence', () => undefined, 'nobody answered evictPrincipals on ctl.delivery-admin within 6 s'],
  ])('%s leaves the gate frozen, and the reason is in log and exit', async (_, reply, reason) => {
    await fakeHolder(mesh, reply);
    const { end, code, message, log } = await start(SHORT);
    expect([end, code]).toEqual(['registration', 1]);
    expect(message).toContain(reason);
    expect(log).toContain(reason);
    expect(await stand.row(gate)).toMatchObject({ state: 'frozen', op: { kind: 'registration' } });
    expect(await stand.row(registrationKey('manager', instance))).toBeUndefined();
  });

  it('late, after its attempt was given up, counts for nothing', async () => {
    let again = () => {};
    const late = new Promise<void>((resolve) => {
      again = resolve;
    });
    let asked = 0;
    await fakeHolder(mesh, async (question) => {
      if (++asked > 1) {
        again();
        return undefined;
      }
      await late;
      return provesAll(question);
    });
    expect(await start(SHORT)).toMatchObject({
      end: 'registration',
      message: expect.stringContaining('nobody answered'),
    });
    expect(asked).toBeGreaterThan(1);
    expect(await stand.row(gate)).toMatchObject({ state: 'frozen' });
    expect(await stand.row(cursorKey('manager', instance))).toMatchObject({ count: 0, beyond: [] });
  });
});

describe('a responder', () => {
  it.each<[string, object, string]>([
    [
      'that is not the holder of the lease',
      { incarnation: 'another' },
      'answered by fake, but the lease is held by local.delivery, another',
    ],
    [
      'whose key is not the one of the lease row',
      { proofKey: `U${'A'.repeat(55)}` },
      'not signed by the key of the lease row',
    ],
    ['beside a lease row that cannot be read', { incarnation: 7 }, 'the lease row cannot be read'],
  ])('%s is not believed: nothing is begun, and the reason is in log and exit', async (_, row, reason) => {
    const daemon = await fakeHolder(mesh, provesAll, row);
    const { end, code, message, log } = await start();
    expect([end, code]).toEqual(['rail', 1]);
    expect(message).toContain(reason);
    expect(log).toContain(reason);
    expect(await stand.row(gate)).toBeUndefined();
    expect(daemon.asked.every(({ op }) => op === 'reloadStoreIdentity')).toBe(true);
  });
});

describe('a row', () => {
  it.each<[string, () => string, object, string]>([
    ['of the gate', () => gate, { state: 'ajar' }, 'the gate cannot be read'],
    ['of the ledger', () => endpointLedgerKey('manager', instance, 'Ux'), { state: 'lost' }, 'cannot be read'],
    ['of the cursor', () => cursorKey('manager', instance), { v: 9 }, 'the repair cursor cannot be read'],
    [
      'of the cursor of another freeze',
      () => cursorKey('manager', instance),
      { v: 2, opId: 'op1', freezeToken: '1', through: '', count: 0, digest: '', beyond: [] },
      'the repair cursor belongs to another freeze (operation op1)',
    ],
  ])('%s that cannot be used refuses the repair, and stays as it is', async (_, key, row, reason) => {
    await fakeHolder(mesh, provesAll);
    await stand.put(gate, frozenBy('local.dead'));
    await stand.put(key(), row);
    const before = [await stand.row(gate), await stand.row(key())];
    const { end, code, message, log } = await start();
    expect([end, code]).toEqual(['repair-refused', 2]);
    expect(message).toContain(reason);
    expect(log).toContain(reason);
    expect([await stand.row(gate), await stand.row(key())]).toEqual(before);
  });
});

it('what a probe of the holder says that is no liveness refuses the repair (holder-unknown)', async () => {
  await fakeHolder(mesh, (asked) =>
    asked.op === 'principalLiveness'
      ? { ok: true, data: { liveness: 'unknown', note: 'a page is owed' } }
      : provesAll(asked),
  );
  await stand.put(gate, frozenBy('local.dead'));
  const { end, message } = await start();
  expect(end).toBe('repair-refused');
  expect(message).toMatch(/holder-unknown: whether local\.dead is gone cannot be told: a page is owed/);
  expect(await stand.row(gate)).toEqual(frozenBy('local.dead'));
});
