/**
 * Verified eviction with its cursor, over a real store; the daemon's answers are the test's, or a real daemon's. Longer than
 * 300 lines: one stand serves eviction, registration and repair.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endpointGateKey, endpointLedgerKey, registrationKey } from '../../../src/domain/auth-rows.ts';
import { cursorKey } from '../../../src/domain/eviction.ts';
import { evictHolders, register, repairGate } from '../../../src/manager/embed.ts';
import { startInProcess } from '../../support/delivery/daemon.ts';
import {
  type Asked,
  fakeDaemon,
  giveHolders,
  gone,
  provesAll,
  type Stand,
  standOf,
  TroubledRows,
} from '../../support/manager/stand.ts';
import { secondServer } from '../../support/manager/system-user.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

const INSTANCE = { endpoint: 'manager', instance: 'i1' };
const FREEZE = { ...INSTANCE, opId: 'op1', freezeToken: '7' };
const CURSOR = cursorKey('manager', 'i1');
const GATE = endpointGateKey('manager', 'i1');
const namesOf = (count: number) => Array.from({ length: count }, (_, n) => `local.h${String(n).padStart(4, '0')}`);

let mesh: Mesh;
let stand: Stand;
beforeEach(async () => {
  mesh = await startMesh();
  process.env.COTAL_HOME = mesh.root;
  stand = await standOf(mesh);
});
afterEach(async () => {
  await stand.ports.close();
  await mesh.dispose();
});
const verifiedNow = async () => {
  const cursor = (await stand.row(CURSOR)) as { count: number; beyond: string[] } | undefined;
  return (cursor?.count ?? 0) + (cursor?.beyond.length ?? 0);
};

describe('eviction', () => {
  it('1,000 holders are four requests of at most 256, each recorded before the next leaves', async () => {
    const recorded: number[] = [];
    const daemon = await fakeDaemon(mesh, async (asked) => {
      recorded.push(await verifiedNow());
      return provesAll(asked);
    });
    const outcome = await evictHolders(stand.ports, { ...FREEZE, holders: namesOf(1_000) });
    expect(outcome).toMatchObject({ end: 'verified', verified: 1_000, requests: 4 });
    expect(daemon.asked.map(({ args }) => args.principals.length)).toEqual([256, 256, 256, 232]);
    expect(recorded).toEqual([0, 256, 512, 768]);
  });

  it('cut short after each record, it goes on after the last one, and asks for nobody twice (EVC-05)', async () => {
    const asked: string[] = [];
    let stop = new AbortController();
    await fakeDaemon(mesh, async (question, nth) => {
      // The attempt is given up when its next request has left: what was answered before is recorded.
      if (nth % 2 === 0) {
        stop.abort(new Error('the window is over'));
        return undefined;
      }
      asked.push(...question.args.principals);
      return provesAll(question);
    });
    const holders = namesOf(700);
    const ends: unknown[] = [];
    for (let attempt = 0; attempt < 5 && ends.at(-1) !== 'verified'; attempt++) {
      stop = new AbortController();
      const run = evictHolders(stand.ports, { ...FREEZE, holders }, { signal: stop.signal });
      ends.push(await run.then(({ end }) => end).catch(({ message }: Error) => message));
    }
    expect(ends).toEqual(['the window is over', 'the window is over', 'verified']);
    expect(asked).toEqual(holders);
  });

  it('a set of 100,000 is recorded in a row that does not grow, and goes on from there', async () => {
    // Larger requests than a daemon takes, so that it is about the row and not about their number.
    const large = await standOf(mesh, { principal: 'local.other', numbers: { evictionBatch: 4_000 } });
    const holders = namesOf(100_000);
    const stop = new AbortController();
    await fakeDaemon(mesh, (question, nth) => {
      if (nth !== 13) return provesAll(question);
      stop.abort(new Error('the window is over'));
      return undefined;
    });
    await expect(evictHolders(large.ports, { ...FREEZE, holders }, { signal: stop.signal })).rejects.toThrow();
    expect(await verifiedNow()).toBe(48_000);
    expect(JSON.stringify(await stand.row(CURSOR)).length).toBeLessThan(300);
    expect(await evictHolders(large.ports, { ...FREEZE, holders })).toMatchObject({ end: 'verified', requests: 13 });
    expect(await verifiedNow()).toBe(100_000);
    await large.ports.close();
  });

  it.each<[string, (asked: Asked) => object | string, string]>([
    ['truncated', () => '{"ok":true,"data":{"results":[', 'cannot be read'],
    ['of another shape', () => ({ ok: true, data: { results: 'all of them' } }), 'cannot be read'],
    [
      'of another length',
      ({ args }) => ({ ok: true, data: { results: args.principals.slice(1).map(gone) } }),
      '3 principals were asked for, 2 were answered',
    ],
    [
      'in another order',
      ({ args }) => ({ ok: true, data: { results: [...args.principals].reverse().map(gone) } }),
      'local.h0000 was asked for, local.h0002 was answered',
    ],
    [
      'with a negative count',
      ({ args }) => ({
        ok: true,
        data: { results: args.principals.map((name) => ({ ...gone(name), remaining: -1 })) },
      }),
      'cannot be read',
    ],
    [
      'gone by an incomplete sweep',
      ({ args }) => ({
        ok: true,
        data: { results: args.principals.map((name) => ({ ...gone(name), scanComplete: false })) },
      }),
      'contradicts itself about local.h0000',
    ],
    [
      'a refusal: the daemon does not have the verb',
      () => ({ ok: false, error: { code: 'rail.unknown-op', message: 'evictPrincipals is not known' } }),
      'evictPrincipals is not known',
    ],
  ])('a reply that is %s verifies nobody, with the reason', async (_, reply, reason) => {
    await fakeDaemon(mesh, reply);
    const outcome = await evictHolders(stand.ports, { ...FREEZE, holders: namesOf(3) });
    expect(outcome).toMatchObject({ end: 'unverified', verified: 0, reason: expect.stringContaining(reason) });
    expect(await verifiedNow()).toBe(0);
  });

  it.each([
    [
      'of another freeze',
      { v: 2, opId: 'op0', freezeToken: '7', through: '', count: 0, digest: '', beyond: [] },
      'another freeze (operation op0)',
    ],
    [
      'of the same operation in an earlier freeze',
      { v: 2, opId: 'op1', freezeToken: '6', through: '', count: 0, digest: '', beyond: [] },
      'another freeze (operation op1)',
    ],
    ['that cannot be read', { v: 2 }, 'cannot be read'],
    [
      'that contradicts itself',
      { v: 2, opId: 'op1', freezeToken: '7', through: 'local.b', count: 1, digest: '', beyond: ['local.a'] },
      'cannot be read',
    ],
  ])('a cursor %s is left as it is, and nobody is asked for', async (_, cursor, reason) => {
    await stand.put(CURSOR, cursor);
    const daemon = await fakeDaemon(mesh, provesAll);
    const outcome = await evictHolders(stand.ports, { ...FREEZE, holders: namesOf(3) });
    expect(outcome).toMatchObject({ end: 'unverified', reason: expect.stringContaining(reason) });
    expect(await stand.row(CURSOR)).toEqual(cursor);
    expect(daemon.asked).toEqual([]);
  });
});

describe('registration', () => {
  it('freezes, evicts, commits and reopens; the next one is an epoch and a generation later, and adds no holder', async () => {
    await giveHolders(stand, INSTANCE, namesOf(300));
    const daemon = await fakeDaemon(mesh, async (asked) => {
      expect(await stand.row(GATE)).toMatchObject({
        state: 'frozen',
        principal: 'local.executor',
        op: { kind: 'registration' },
      });
      return provesAll(asked);
    });
    const of = { ...INSTANCE, incarnation: 'one' };
    expect(await register(stand.ports, of)).toMatchObject({
      end: 'registered',
      processEpoch: 1,
      holders: 300,
      requests: 2,
    });
    expect(await stand.row(GATE)).toMatchObject({ state: 'open', generation: 1, processEpoch: 1 });
    expect(await stand.row(CURSOR)).toBeUndefined();
    expect(await register(stand.ports, of)).toMatchObject({ end: 'registered', processEpoch: 2, holders: 300 });
    expect(await stand.row(GATE)).toMatchObject({ state: 'open', generation: 2, processEpoch: 2 });
    expect(daemon.asked).toHaveLength(4);
  });

  it('a daemon that does not have the verb leaves the gate frozen, and says so', async () => {
    await giveHolders(stand, INSTANCE, ['local.h0']);
    await fakeDaemon(mesh, ({ op }) => ({
      ok: false,
      error: { code: 'rail.unknown-op', message: `${op} is not known` },
    }));
    const outcome = await register(stand.ports, { ...INSTANCE, incarnation: 'one' });
    expect(outcome).toMatchObject({ end: 'unverified', reason: 'evictPrincipals is not known' });
    expect(await stand.row(GATE)).toMatchObject({ state: 'frozen' });
    expect(await register(stand.ports, { ...INSTANCE, incarnation: 'two' })).toMatchObject({
      end: 'frozen',
      reason: expect.stringContaining('"cotal reconcile-gate" repairs it'),
    });
  });

  it('a ledger row that cannot be read leaves the gate frozen, and is named', async () => {
    await stand.put(endpointLedgerKey('manager', 'i1', 'Ux'), { state: 'lost' });
    await fakeDaemon(mesh, provesAll);
    expect(await register(stand.ports, { ...INSTANCE, incarnation: 'one' })).toMatchObject({
      end: 'unverified',
      reason: 'the ledger row epcred.manager.i1.Ux cannot be read',
    });
    expect(await stand.row(GATE)).toMatchObject({ state: 'frozen' });
  });

  it.each(['lost', 'unanswered'] as const)(
    'a commit whose write is %s ends in one registration and an open gate (EVC-06)',
    async (trouble) => {
      await fakeDaemon(mesh, provesAll);
      let left = 1;
      const rows = new TroubledRows({ space: mesh.space, connection: () => stand.connection }, (key) =>
        key.startsWith('epreg.') && left-- > 0 ? trouble : undefined,
      );
      const outcome = await register({ ...stand.ports, rows }, { ...INSTANCE, incarnation: 'one', opId: 'op1' });
      expect(outcome).toMatchObject({ end: 'registered', processEpoch: 1 });
      expect(await stand.row(registrationKey('manager', 'i1'))).toMatchObject({ opId: 'op1', processEpoch: 1 });
      expect(await stand.row(GATE)).toMatchObject({ state: 'open', generation: 1, processEpoch: 1 });
    },
  );

  it('two at once: one registers, and the gate is never open under the other', async () => {
    await giveHolders(stand, INSTANCE, ['local.h0']);
    const other = await standOf(mesh, { principal: 'local.rival' });
    const daemon = await fakeDaemon(mesh, provesAll);
    const ends = await Promise.all([
      register(stand.ports, { ...INSTANCE, incarnation: 'one' }),
      register(other.ports, { ...INSTANCE, incarnation: 'two' }),
    ]);
    expect(ends.map(({ end }) => end).filter((end) => end === 'registered').length).toBeGreaterThan(0);
    expect(ends.every(({ end }) => ['registered', 'frozen', 'raced'].includes(end))).toBe(true);
    const gate = await stand.row(GATE);
    expect(gate).toMatchObject({ state: 'open' });
    expect(daemon.asked.length).toBe(ends.filter(({ requests }) => requests > 0).length);
    await other.ports.close();
  });
});

describe('a real daemon', () => {
  it('revokes before it kicks, verifies gone, and a live one that was not revoked keeps the gate frozen', async () => {
    const running = await startInProcess(mesh);
    const stale = await mesh.credsFor('manager', { principal: 'local.stale' });
    const connection = await mesh.connect(stale);
    await stand.put(endpointLedgerKey('manager', 'i1', stale.publicKey), {
      credentialId: stale.publicKey,
      holderPrincipal: 'local.stale',
      lifecycleUid: 'a'.repeat(26),
      state: 'active',
      exp: null,
      sourceChain: [],
    });
    const outcome = await register(stand.ports, { ...INSTANCE, incarnation: 'one', waitMs: 30_000 });
    expect(outcome).toMatchObject({ end: 'registered', holders: 1, requests: 1 });
    expect(await stand.row(endpointLedgerKey('manager', 'i1', stale.publicKey))).toMatchObject({ state: 'revoked' });
    await expect(mesh.connect(stale)).rejects.toThrow();
    await until(() => connection.isClosed(), 'the end of the connection that was revoked');

    // Its row says revoked, its key is another one: who is connected under that name is seen, and stays.
    const newer = await mesh.connect(await mesh.credsFor('manager', { principal: 'local.stale' }));
    const again = await register(stand.ports, { ...INSTANCE, incarnation: 'two', waitMs: 30_000 });
    expect(again).toMatchObject({
      end: 'unverified',
      reason: expect.stringContaining('local.stale is not verified gone'),
    });
    expect(await stand.row(GATE)).toMatchObject({ state: 'frozen' });
    await newer.close();
    await running.stop();
  });

  it('a page of connections that never comes leaves the gate frozen, and so does the repair after it', async () => {
    const running = await startInProcess(mesh);
    await giveHolders(stand, INSTANCE, ['local.h0']);
    const { publicKey, jwt } = await mesh.credsFor('session');
    const connections = [{ cid: 9, authorized_user: publicKey, jwt }];
    await secondServer(mesh, ({ offset }) =>
      offset === 0 ? { server: { id: 'NSECOND' }, data: { offset, total: 1_025, connections } } : undefined,
    );
    expect(await register(stand.ports, { ...INSTANCE, incarnation: 'one', waitMs: 30_000 })).toMatchObject({
      end: 'unverified',
      reason: 'local.h0 is not verified gone: the sweep was incomplete; server NSECOND still owes a page',
    });
    expect(await stand.row(GATE)).toMatchObject({ state: 'frozen' });
    await stand.ports.close();
    await stand.connection.close();
    const other = await standOf(mesh, { principal: 'local.other' });
    expect(await repairGate(other.ports, { ...INSTANCE, waitMs: 30_000 })).toMatchObject({
      end: 'holder-unknown',
      reason: expect.stringContaining('NSECOND still owes a page'),
    });
    expect(await other.row(GATE)).toMatchObject({ state: 'frozen' });
    await other.ports.close();
    await running.stop();
  });

  it('repairs the gate of a manager that is gone, and refuses that of one that is there (EVC-03)', async () => {
    const running = await startInProcess(mesh);
    const frozen = { state: 'frozen', generation: 3, processEpoch: 5, op: { opId: 'op9', kind: 'registration' } };
    const instance = { ...INSTANCE, waitMs: 30_000 };
    await stand.put(GATE, { ...frozen, principal: 'local.executor' });
    expect(await repairGate(stand.ports, instance)).toMatchObject({
      end: 'holder-alive',
      reason: 'local.executor, which froze it, is connected',
    });
    expect(await stand.row(GATE)).toMatchObject({ state: 'frozen' });
    await stand.put(GATE, { ...frozen, principal: 'local.dead' });
    expect(await repairGate(stand.ports, instance)).toMatchObject({ end: 'repaired' });
    expect(await stand.row(GATE)).toMatchObject({ state: 'open', generation: 4, processEpoch: 5 });
    await running.stop();
  });
});

describe('gate repair', () => {
  const frozen = (more: object = {}) => ({
    state: 'frozen',
    generation: 3,
    processEpoch: 5,
    principal: 'local.dead',
    op: { opId: 'op9', kind: 'registration' },
    ...more,
  });

  it('completes a registration whose commit had landed', async () => {
    await stand.put(GATE, frozen());
    await stand.put(registrationKey('manager', 'i1'), {
      opId: 'op9',
      processEpoch: 6,
      incarnation: 'x',
      committedAt: 1,
    });
    await fakeDaemon(mesh, provesAll);
    expect(await repairGate(stand.ports, INSTANCE)).toMatchObject({ end: 'completed' });
    expect(await stand.row(GATE)).toMatchObject({ state: 'open', generation: 4, processEpoch: 6 });
  });

  it.each([
    ['no-gate', undefined],
    ['not-frozen', { state: 'open', generation: 1 }],
    ['wrong-op-kind', frozen({ op: { opId: 'op9', kind: 'takeover' } })],
    ['holder-unknown', frozen({ principal: undefined })],
    ['store', { state: 'ajar' }],
  ])('refuses as %s and changes nothing', async (end, gate) => {
    if (gate !== undefined) await stand.put(GATE, gate);
    const before = await stand.row(GATE);
    await fakeDaemon(mesh, provesAll);
    expect(await repairGate(stand.ports, INSTANCE)).toMatchObject({ end });
    expect(await stand.row(GATE)).toEqual(before);
  });

  it('refuses with the blocker of the lease when nobody answers for the holder', async () => {
    await stand.put(GATE, frozen());
    expect(await repairGate(stand.ports, { ...INSTANCE, waitMs: 500 })).toMatchObject({
      end: 'liveness-unestablishable',
      reason: expect.stringContaining('nobody holds the delivery lease'),
    });
  });

  it('refuses as raced when the gate moves under it', async () => {
    await stand.put(GATE, frozen());
    await fakeDaemon(mesh, async (asked) => {
      if (asked.op === 'principalLiveness')
        await stand.put(GATE, frozen({ op: { opId: 'op10', kind: 'registration' } }));
      return provesAll(asked);
    });
    expect(await repairGate(stand.ports, INSTANCE)).toMatchObject({ end: 'raced' });
    expect(await stand.row(GATE)).toMatchObject({ state: 'frozen', op: { opId: 'op10' } });
  });
});
