/** The manager's own rail: attach sessions, the gate, and what is asked wrongly; the manager in this process, all else real. */
import { existsSync } from 'node:fs';
import { type NatsConnection, nuid } from '@nats-io/nats-core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { endpointGateKey } from '../../../src/domain/auth-rows.ts';
import { managerSubject, replyPrefix } from '../../../src/domain/subjects.ts';
import { familyRows } from '../../../src/manager/bind-family.ts';
import { type ManagerProcess, openManager } from '../../../src/manager/process.ts';
import { managerIdentity } from '../../../src/services/local/manager-identity.ts';
import { openCreds } from '../../../src/services/local/mint.ts';
import { TestJournal } from '../../support/delivery/daemon.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { type Stand, standOf } from '../../support/manager/stand.ts';
import { until } from '../../support/until.ts';

const suite = deliverySuite();
const KEPT = ['local.manager_goal_writer', 'local.manager_serve', 'local.manager_session_ledger'];
const PATIENT = 60_000;

let manager: ManagerProcess;
let ended: Promise<unknown>;
let journal: TestJournal;
let operator: NatsConnection;
let stand: Stand;
let family: { endpoint: string; instance: string };
beforeEach(async () => {
  const { root, space, url } = suite.mesh;
  journal = new TestJournal();
  manager = await openManager({ root, space, url, journal, env: {} });
  ended = manager.run();
  operator = await suite.mesh.connect('operator');
  stand = await standOf(suite.mesh, { principal: 'local.rival' });
  family = { endpoint: 'manager', instance: (await managerIdentity(suite.mesh)).instance };
  const state = () => JSON.stringify([manager.actor.getSnapshot().value, journal.told.slice(-5)]);
  await until(() => manager.actor.getSnapshot().hasTag('serving'), state, PATIENT);
});
afterEach(async () => {
  manager.stop('SIGTERM');
  await ended;
  await stand.ports.close();
});

interface Reply {
  readonly ok: boolean;
  readonly data?: Record<string, unknown>;
  readonly error?: { code: string; message: string };
}
async function send(body: string): Promise<Reply> {
  const subject = managerSubject(suite.mesh.space, 'local.operator');
  const reply = `${replyPrefix(subject)}${nuid.next()}`;
  return (await operator.request(subject, body, { timeout: PATIENT, noMux: true, reply })).json<Reply>();
}
const ask = (op: string, args: object = {}) => send(JSON.stringify({ op, args }));
const holders = async () => {
  const found = await familyRows(stand.ports, family);
  return found.type === 'rows' ? [...found.rows.values()].map((row) => row.holderPrincipal).sort() : found;
};

describe('attach', () => {
  it('ten sessions add ten holders with a credential each; one has one holder; their ends take all ten away', async () => {
    const sessions = Array.from({ length: 10 }, (_, n) => `s${n}`);
    const files: string[] = [];
    for (const session of sessions) {
      const { ok, data } = await ask('attach', { session });
      expect([ok, data?.principal]).toEqual([true, `local.session_${session}`]);
      files.push(String(data?.creds));
    }
    expect(await holders()).toEqual([...KEPT, ...sessions.map((session) => `local.session_${session}`)]);
    expect((await ask('status')).data).toMatchObject({ sessions });
    expect(await ask('attach', { session: 's3' })).toMatchObject({
      ok: false,
      error: { code: 'manager.session', message: 'session s3: local.session_s3 holds this session already' },
    });
    const [credential] = files.map((path) => openCreds(path));
    if (credential === undefined) throw new Error('the session has no credential');
    const connection = await suite.mesh.connect(credential);

    for (const session of sessions) {
      expect(await ask('detach', { session })).toMatchObject({ ok: true, data: { session, end: 'ended' } });
    }
    expect(await holders()).toEqual(KEPT);
    expect((await ask('status')).data).toMatchObject({ sessions: [] });
    await until(() => connection.isClosed(), 'the end of the session that was connected');
    await expect(suite.mesh.connect(credential)).rejects.toThrow(/authorization/i);
    expect(files.filter((path) => existsSync(path))).toEqual([]);
    expect(await ask('detach', { session: 's3' })).toMatchObject({
      ok: false,
      error: { code: 'manager.session', message: 'session s3: it is not attached' },
    });
    // The session may begin again, with another holder.
    expect(await ask('attach', { session: 's3' })).toMatchObject({ ok: true });
    expect(await ask('detach', { session: 's3' })).toMatchObject({ ok: true, data: { end: 'ended' } });
  });

  it('two at once for one session: one is attached, and the family has one holder of it', async () => {
    const replies = await Promise.all([ask('attach', { session: 'twin' }), ask('attach', { session: 'twin' })]);
    expect(replies.filter(({ ok }) => ok)).toHaveLength(1);
    expect(await holders()).toEqual([...KEPT, 'local.session_twin']);
    await ask('detach', { session: 'twin' });
    expect(await holders()).toEqual(KEPT);
  });
});

describe('the gate', () => {
  it('is reconciled over the rail: open it is left, frozen it is refused by name, nothing is attached, and the manager serves on', async () => {
    const key = endpointGateKey(family.endpoint, family.instance);
    expect(await ask('reconcileGate')).toMatchObject({ ok: true, data: { end: 'not-frozen' } });
    const frozen = { state: 'frozen', generation: 7, processEpoch: 1, op: { opId: 'op0', kind: 'registration' } };
    await stand.put(key, { ...frozen, principal: 'local.rival' });
    expect(await ask('reconcileGate')).toMatchObject({
      ok: true,
      data: { end: 'holder-alive', reason: 'local.rival, which froze it, is connected' },
    });
    expect(await stand.row(key)).toMatchObject({ state: 'frozen', generation: 7 });
    expect(await ask('attach', { session: 'a' })).toMatchObject({
      ok: false,
      error: { code: 'manager.session', message: expect.stringContaining('the gate of the manager is not open') },
    });
    expect(await holders()).toEqual(KEPT);
    // Of a dead one it could be opened, but not by who would be evicted on the way.
    await stand.put(key, { ...frozen, principal: 'local.dead' });
    expect(await ask('reconcileGate')).toMatchObject({
      ok: true,
      data: { end: 'eviction-unverified', reason: expect.stringContaining('restart it, its start repairs the gate') },
    });
    expect(await stand.row(key)).toMatchObject({ state: 'frozen', generation: 7 });
    expect(manager.actor.getSnapshot().hasTag('serving')).toBe(true);
  });
});

it('what is asked wrongly is refused by name, and nothing is changed', async () => {
  const wrong: [body: string, code: string, named: string][] = [
    ['{"op":"att', 'rail.bad-args', 'not a JSON object'],
    ['{"args":{}}', 'rail.bad-args', 'not a JSON object with op and args'],
    ['{"op":"attachAll","args":{}}', 'rail.unknown-op', 'attachAll'],
    ['{"op":"constructor","args":{}}', 'rail.unknown-op', 'constructor'],
    ['{"op":"attach","args":{}}', 'rail.bad-args', 'session'],
    ['{"op":"attach","args":{"session":7}}', 'rail.bad-args', 'session'],
    ['{"op":"attach","args":{"session":"a.b"}}', 'rail.bad-args', 'session'],
    ['{"op":"attach","args":{"session":"../x"}}', 'rail.bad-args', 'session'],
    ['{"op":"detach","args":{"session":""}}', 'rail.bad-args', 'session'],
    [`{"op":"attach","args":{"session":"${'a'.repeat(49)}"}}`, 'rail.bad-args', 'session'],
    ['{"op":"attach","args":{"session":"a","as":"root"}}', 'rail.bad-args', 'as'],
    ['{"op":"reconcileGate","args":{"force":true}}', 'rail.bad-args', 'force'],
    ['{"op":"status","args":{},"from":{"id":"local.root","name":"r"}}', 'rail.bad-args', 'local.root'],
  ];
  for (const [body, code, named] of wrong) {
    expect(await send(body), body).toMatchObject({
      ok: false,
      error: { code, message: expect.stringContaining(named) },
    });
  }
  expect(await holders()).toEqual(KEPT);
  expect((await ask('status')).data).toMatchObject({ sessions: [] });
});
