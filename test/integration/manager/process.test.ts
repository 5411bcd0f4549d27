/** The manager process, in this process, against a real daemon and a real broker. */
import { rmSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Msg } from '@nats-io/nats-core';
import { expect, it } from 'vitest';
import { endpointGateKey } from '../../../src/domain/auth-rows.ts';
import { inboxPrefix } from '../../../src/domain/permissions.ts';
import { managerSubject, replyPrefix } from '../../../src/domain/subjects.ts';
import { familyRows } from '../../../src/manager/bind-family.ts';
import { openManager } from '../../../src/manager/process.ts';
import { managerIdentity } from '../../../src/services/local/manager-identity.ts';
import { credsPath, keepCreds, mint, openCreds } from '../../../src/services/local/mint.ts';
import { GatedBroker } from '../../../src/services/nats/gated-broker.ts';
import { natsLeaseRows } from '../../../src/services/nats/lease-rows.ts';
import { TcpProxy } from '../../../src/torture/proxy.ts';
import { TestJournal } from '../../support/delivery/daemon.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { standOf } from '../../support/manager/stand.ts';
import { until } from '../../support/until.ts';

const suite = deliverySuite();
const PATIENT = 60_000;

async function started(env: Record<string, string> = {}) {
  const journal = new TestJournal();
  const { root, space, url } = suite.mesh;
  const manager = await openManager({ root, space, url, journal, env });
  const ended = manager.run();
  const state = () => JSON.stringify([manager.actor.getSnapshot().value, journal.lines()]);
  return { manager, journal, ended, state };
}
async function serving(env: Record<string, string> = {}) {
  const one = await started(env);
  await until(() => one.manager.actor.getSnapshot().hasTag('serving'), one.state, PATIENT);
  return one;
}
const holders = async () => {
  const stand = await standOf(suite.mesh);
  const { instance } = await managerIdentity(suite.mesh);
  const found = await familyRows(stand.ports, { endpoint: 'manager', instance });
  await stand.ports.close();
  return found.type === 'rows' ? [...found.rows.values()].map(({ holderPrincipal }) => holderPrincipal).sort() : found;
};

it('ten restarts add no holder, and each is an epoch later', async () => {
  for (let epoch = 1; epoch <= 10; epoch++) {
    const { manager, journal, ended, state } = await serving();
    expect(journal.told.find(({ name }) => name === 'manager.registered')?.facts, state()).toMatchObject({
      processEpoch: epoch,
      holders: epoch === 1 ? 0 : 3,
      requests: epoch === 1 ? 0 : 1,
    });
    manager.stop('SIGTERM');
    expect(await ended).toMatchObject({ end: 'stopped', code: 0 });
  }
  expect(await holders()).toEqual(['local.manager_goal_writer', 'local.manager_serve', 'local.manager_session_ledger']);
}, 240_000);

it('says ready only when its rail answers: on a slow line too, whoever asks at that moment is answered', async () => {
  const { root, space, url } = suite.mesh;
  const proxy = await TcpProxy.to(url);
  proxy.slow(100);
  const operator = await suite.mesh.connect('operator');
  const subject = managerSubject(space, 'local.operator');
  const journal = new TestJournal();
  const manager = await openManager({ root, space, url: proxy.url, journal, env: {} });
  const answered = new Promise((resolve, reject) => {
    const looking = manager.actor.subscribe((snapshot) => {
      if (!snapshot.hasTag('serving')) return;
      looking.unsubscribe();
      const reply = `${replyPrefix(subject)}one`;
      const body = '{"op":"status","args":{}}';
      operator.request(subject, body, { timeout: PATIENT, noMux: true, reply }).then(resolve, reject);
    });
  });
  const ended = manager.run();
  expect(((await answered) as Msg).json()).toMatchObject({ ok: true });
  manager.stop('SIGTERM');
  await ended;
  await proxy.close();
});

it('whose rail is cut off says so in its lease row, and says ready again when the rail is bound again', async () => {
  const { root, space, url } = suite.mesh;
  let serve: Socket | undefined;
  const proxy = await TcpProxy.to(url, (client) => {
    client.on('data', (bytes) => {
      if (bytes.includes('"name":"manager-serve"')) serve = client;
    });
  });
  const journal = new TestJournal();
  const manager = await openManager({ root, space, url: proxy.url, journal, env: {} });
  const ended = manager.run();
  const state = () => JSON.stringify([manager.actor.getSnapshot().value, journal.told.slice(-5)]);
  await until(() => manager.actor.getSnapshot().hasTag('serving'), state, PATIENT);

  const credential = await suite.mesh.credsFor('manager', { principal: 'local.rival' });
  const connection = await suite.mesh.connect(credential);
  const broker = new GatedBroker({
    connection,
    inboxPrefix: inboxPrefix(credential.publicKey),
    gate: () => undefined,
    timeoutMs: PATIENT,
  });
  const said: (boolean | undefined)[] = [];
  const watch = natsLeaseRows({ broker, space, whose: 'manager' }).watch({
    bound: () => said.push(undefined),
    row: ({ row }) => said.push(row?.ready),
    gone: () => {},
    lost: () => {},
  });
  await until(() => said.length > 0, 'the watch');
  serve?.destroy();
  await until(
    () => said.includes(false) && said.at(-1) === true,
    () => `${said}: ${state()}`,
    PATIENT,
  );
  await until(() => manager.actor.getSnapshot().hasTag('serving'), state, PATIENT);
  expect(journal.told.filter(({ name }) => name === 'manager.doubt').map(({ facts }) => facts.why)).toEqual([
    'its connection was lost',
  ]);
  await watch.stop();
  manager.stop('SIGTERM');
  await ended;
  await proxy.close();
});

it('a second one is refused by the lease, and the first one serves on', async () => {
  const first = await serving();
  const second = await started();
  expect(await second.ended).toMatchObject({ end: 'lease-refused', code: 1 });
  expect(first.manager.actor.getSnapshot().hasTag('serving')).toBe(true);
  first.manager.stop('SIGTERM');
  await first.ended;
});

it('a gate that a live one holds frozen refuses the start with its name and the command (RAIL-09); a dead one is repaired at boot', async () => {
  const stand = await standOf(suite.mesh, { principal: 'local.other_manager' });
  const { instance } = await managerIdentity(suite.mesh);
  const gate = endpointGateKey('manager', instance);
  const frozen = { state: 'frozen', generation: 4, processEpoch: 2, op: { opId: 'op0', kind: 'registration' } };
  await stand.put(gate, { ...frozen, principal: 'local.other_manager' });
  const refused = await started();
  expect(await refused.ended).toMatchObject({
    end: 'repair-refused',
    code: 2,
    message: expect.stringMatching(
      /holder-alive: local\.other_manager, which froze it, is connected.*cotal reconcile-gate/,
    ),
  });
  expect(await stand.row(gate)).toMatchObject({ state: 'frozen', generation: 4 });
  await stand.put(gate, { ...frozen, principal: 'local.dead_manager' });
  const { manager, journal, ended } = await serving();
  expect(journal.lines()).toContain('✓ manager: the frozen gate was repaired');
  expect(await stand.row(gate)).toMatchObject({ state: 'open', generation: 6, processEpoch: 3 });
  manager.stop('SIGTERM');
  await ended;
  await stand.ports.close();
});

it('without an evictor a start with nobody to verify serves; one with somebody is refused by the name of the file, until it is there (EVC-07)', async () => {
  const { root, space } = suite.mesh;
  const path = credsPath(root, space, 'evictor');
  rmSync(path);
  const first = await serving();
  first.manager.stop('SIGTERM');
  await first.ended;
  const { ended } = await started();
  expect(await ended).toMatchObject({
    end: 'registration',
    message: expect.stringContaining('evictor.creds is missing'),
  });
  keepCreds(path, await suite.mesh.credsFor('evictor'));
  const last = await serving();
  expect(last.journal.lines()).toContain('✓ manager: the frozen gate was repaired');
  last.manager.stop('SIGTERM');
  await last.ended;
});

it('a standing credential past half of its life is signed again with its own key, and offered to the daemon', async () => {
  const { root, space, keys, operator } = suite.mesh;
  const path = credsPath(root, space, 'delivery');
  const before = openCreds(path);
  if (before === undefined) throw new Error('there is no delivery credential');
  // Half over at once: it lives two seconds from its second.
  const short = await mint(
    { operator, space: keys },
    { profile: { profile: 'delivery', space }, name: 'local.delivery', pair: before.pair, lifeS: 1 },
  );
  keepCreds(path, short);
  const { manager, journal, ended, state } = await serving({ COTAL_MANAGER_RENEWAL_RETRY_MS: '60000' });
  const told = await until(() => journal.told.find(({ name }) => name === 'manager.renewal'), state, PATIENT);
  expect(told.facts).toMatchObject({ names: 'delivery', outcome: 'adopted' });
  const after = openCreds(path);
  expect(after?.publicKey).toBe(before.publicKey);
  expect(after?.claims.exp).toBeGreaterThan(Date.now() / 1000 + 3_600);
  manager.stop('SIGTERM');
  await ended;
});

it('where the daemon re-reads another store it serves, says so, and renews nothing', async () => {
  const { root, space } = suite.mesh;
  const path = credsPath(root, space, 'delivery');
  const before = openCreds(path);
  keepCreds(path, await suite.mesh.credsFor('delivery', { lifeS: 1 }));
  const { manager, journal, ended } = await serving();
  expect(journal.names()).toContain('manager.not-owner');
  expect(manager.actor.getSnapshot().context.mayRenew).toBe(false);
  manager.stop('SIGTERM');
  await ended;
  expect(journal.names()).not.toContain('manager.renewal');
  if (before !== undefined) keepCreds(path, before);
});
