/** Renewal of standing credentials against a real daemon and a real broker, over files and over an injected store. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { RenewalPorts } from '../../../src/manager/bind-renewal.ts';
import { proveStore, renewCredentials, standingCredentials } from '../../../src/manager/embed.ts';
import { type ManagerOptions, openManager } from '../../../src/manager/process.ts';
import { type Credential, credsText, fingerprintOf, newPair, readCreds } from '../../../src/services/credential.ts';
import { operatorKeys, spaceKeys } from '../../../src/services/local/auth-store.ts';
import { fsStore } from '../../../src/services/local/fs-store.ts';
import { credsPath, keepCreds, mint } from '../../../src/services/local/mint.ts';
import type { WritableStore } from '../../../src/services/ports.ts';
import { TcpProxy } from '../../../src/torture/proxy.ts';
import { type InProcess, startInProcess, TestJournal } from '../../support/delivery/daemon.ts';
import { injectedStore } from '../../support/manager/injected-store.ts';
import { standOf } from '../../support/manager/stand.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

const PATIENT = 60_000;
let mesh: Mesh;
let daemon: InProcess | undefined;
beforeEach(async () => {
  mesh = await startMesh();
  process.env.COTAL_HOME = mesh.root;
});
afterEach(async () => {
  await daemon?.stop();
  daemon = undefined;
  await mesh.dispose();
});

const keys = () => ({ operator: mesh.operator, space: mesh.keys });
/**
 * An injected store with the three standing credentials; the files of the root are none of its business. The one of the daemon
 * ends at another time than a renewal does: signed in the same second they would be one and the same.
 */
async function vault(delivery?: Credential): Promise<WritableStore> {
  const [observer, evictor] = [await mesh.credsFor('observer'), await mesh.credsFor('evictor')];
  return injectedStore('vault/main', {
    delivery: credsText(delivery ?? (await mesh.credsFor('delivery', { lifeS: 7_200 }))),
    observer: credsText(observer),
    evictor: credsText(evictor),
  });
}
const deliveryIn = async (store: WritableStore): Promise<Credential> =>
  readCreds((await store.read('delivery')) ?? '', 'delivery.creds');
/** Half of its life is over at once. */
const makeDue = async (store: WritableStore): Promise<void> => {
  const { pair } = await deliveryIn(store);
  await store.write('delivery', credsText(await mesh.credsFor('delivery', { pair, lifeS: 1 })));
};

/** The daemon's credential, signed by a key that the broker does not know; `sign` puts it into the store. */
async function strangelySigned(store: WritableStore) {
  const strange = { ...keys(), space: { ...mesh.keys, signing: newPair('account') } };
  const profile = { profile: 'delivery', space: mesh.space } as const;
  const { pair } = await deliveryIn(store);
  const credential = await mint(strange, { profile, name: 'local.delivery', pair });
  const sign: RenewalPorts['sign'] = async () => {
    await store.write('delivery', credsText(credential));
    return [{ name: 'delivery', credential }];
  };
  return { jwt: credential.jwt, pair, sign };
}

async function renewer(
  of: { store: WritableStore; principal: string } & Partial<Pick<RenewalPorts, 'sign' | 'standing'>>,
) {
  const { store, principal, ...more } = of;
  const stand = await standOf(mesh, { principal, numbers: { railWaitMs: PATIENT } });
  const journal = new TestJournal();
  const stop = new AbortController();
  const standing = standingCredentials({ keys: keys(), space: mesh.space, store });
  const ports = { ...stand.ports, holder: principal, journal, ...standing, ...more };
  const ended = renewCredentials(ports, {}, { signal: stop.signal }).catch(({ message }: Error) => message);
  return {
    journal,
    passes: () => journal.told.filter(({ name }) => name === 'manager.renewal').map(({ facts }) => facts),
    end: async () => {
      stop.abort(new Error('the test is over'));
      expect(await ended).toBe('the test is over');
      await stand.ports.close();
    },
  };
}

async function managing(more: Partial<ManagerOptions> = {}) {
  const journal = new TestJournal();
  const { root, space, url } = mesh;
  const manager = await openManager({ root, space, url, journal, env: {}, ...more });
  const ended = manager.run();
  const state = () => JSON.stringify([manager.actor.getSnapshot().value, journal.told.slice(-6)]);
  await until(() => manager.actor.getSnapshot().hasTag('serving'), state, PATIENT);
  return {
    journal,
    state,
    stop: async () => {
      manager.stop('SIGTERM');
      await ended;
    },
  };
}

it('the manager renews in an injected store what the daemon re-reads there, and the daemon adopts exactly that; no file is touched', async () => {
  const store = await vault();
  const file = fsStore({ root: mesh.root, space: mesh.space });
  const before = await file.read('delivery');
  daemon = await startInProcess(mesh, {}, { store });
  await makeDue(store);
  const { pair } = await deliveryIn(store);
  const { journal, state, stop } = await managing({ store });
  const told = await until(() => journal.told.find(({ name }) => name === 'manager.renewal'), state, PATIENT);
  const renewed = await deliveryIn(store);
  expect(told.facts).toMatchObject({ outcome: 'adopted', names: 'delivery', fingerprint: fingerprintOf(renewed.jwt) });
  expect(renewed.publicKey).toBe(pair.publicKey);
  await until(() => daemon?.journal.names().includes('credential.adopted'), daemon.state);
  expect(await file.read('delivery')).toBe(before);
  await stop();
});

it('of two managers over one store exactly one renews, and the other one says who does', async () => {
  const store = await vault();
  daemon = await startInProcess(mesh, {}, { store });
  await makeDue(store);
  const { sign } = standingCredentials({ keys: keys(), space: mesh.space, store });
  let signings = 0;
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  const counted: RenewalPorts['sign'] = async (names) => {
    signings++;
    await held;
    return sign(names);
  };
  const one = await renewer({ store, principal: 'local.one', sign: counted });
  // Of two that ask at once the other one would only hear that it came too late, and not after whom.
  await until(() => signings === 1, one.passes);
  const two = await renewer({ store, principal: 'local.two', sign: counted });
  const outcomes = () => [one, two].map(({ passes }) => passes().map(({ outcome }) => outcome));
  await until(() => outcomes()[1]?.includes('held'), outcomes);
  go();
  await until(() => outcomes()[0]?.includes('adopted'), outcomes);
  expect(two.passes()[0]).toMatchObject({ outcome: 'held', reason: 'local.one renews' });
  expect(outcomes()[0]).toEqual(['adopted']);
  expect(outcomes()[1]?.every((outcome) => outcome === 'held')).toBe(true);
  expect(signings).toBe(1);
  for (const each of [one, two]) await each.end();
});

it('a manager whose store is not the one that the daemon re-reads names both roots, serves, and signs nothing (CRD-05)', async () => {
  daemon = await startInProcess(mesh);
  const elsewhere = mkdtempSync(join(tmpdir(), 'plane3-elsewhere-'));
  const store = fsStore({ root: elsewhere, space: mesh.space });
  const expired = await mesh.credsFor('delivery', { lifeS: 1 });
  keepCreds(credsPath(elsewhere, mesh.space, 'delivery'), expired);
  const { journal, stop } = await managing({ store });
  expect(journal.told.find(({ name }) => name === 'manager.not-owner')?.facts).toEqual({
    message: `we write into ${elsewhere}, the daemon re-reads ${mesh.root}`,
  });
  await stop();
  expect(journal.names()).not.toContain('manager.renewal');
  expect((await deliveryIn(store)).jwt).toBe(expired.jwt);
  rmSync(elsewhere, { recursive: true });
});

it('a daemon that serves with a credential from another place than its store is not renewed for by that store (CRD-07)', async () => {
  const creds = join(mesh.root, 'apart.creds');
  keepCreds(creds, await mesh.credsFor('delivery'));
  daemon = await startInProcess(mesh, {}, { creds });
  const stand = await standOf(mesh, { numbers: { railWaitMs: PATIENT } });
  const store = fsStore({ root: mesh.root, space: mesh.space });
  expect(await proveStore(stand.ports, { store })).toMatchObject({
    end: 'mismatched',
    message: `we write into ${mesh.root}, the daemon re-reads injected ${mesh.root} with ${creds}`,
  });
  await stand.ports.close();
});

it('what the broker does not accept is recorded as refused, with the reason; the daemon keeps what it has (CRD-06)', async () => {
  const store = await vault();
  daemon = await startInProcess(mesh, {}, { store });
  await makeDue(store);
  const strange = await strangelySigned(store);
  const { passes, journal, end } = await renewer({ store, principal: 'local.one', sign: strange.sign });
  await until(() => passes().length > 0, 'a pass');
  expect(passes()[0]).toMatchObject({ outcome: 'refused', fingerprint: fingerprintOf(strange.jwt) });
  expect(journal.lines()[0]).toMatch(/^! manager: a renewal was missed \(refused; due: delivery\): .*broker/);
  expect(daemon.journal.names()).not.toContain('credential.adopted');
  expect(daemon.daemon.actor.getSnapshot().hasTag('serving')).toBe(true);
  await end();
});

it('what somebody put into the store in place of a refused one is offered next, and adopted', async () => {
  const store = await vault();
  daemon = await startInProcess(mesh, {}, { store });
  await makeDue(store);
  const strange = await strangelySigned(store);
  const { passes, end } = await renewer({ store, principal: 'local.one', sign: strange.sign });
  await until(() => passes().length > 0, 'a pass');
  const good = await mesh.credsFor('delivery', { pair: strange.pair });
  await store.write('delivery', credsText(good));
  await until(() => passes().some(({ outcome }) => outcome === 'adopted'), passes);
  expect(
    passes()
      .map(({ outcome, fingerprint }) => [outcome, fingerprint])
      .at(-1),
  ).toEqual(['adopted', fingerprintOf(good.jwt)]);
  await end();
});

it('a store that keeps the expired credential is named, and the daemon is not asked to reload anything (CRD-03)', async () => {
  const store = await vault();
  daemon = await startInProcess(mesh, {}, { store });
  await makeDue(store);
  const before = await deliveryIn(store);
  const stale: WritableStore = { ...store, write: async () => {} };
  const { passes, journal, end } = await renewer({ store: stale, principal: 'local.one' });
  await until(() => passes().length > 1, 'two passes');
  expect(new Set(journal.lines())).toEqual(
    new Set([
      '! manager: a renewal was missed (failed; due: delivery): the store does not have the delivery credential that was signed',
    ]),
  );
  expect((await deliveryIn(store)).jwt).toBe(before.jwt);
  expect(daemon.journal.names().filter((name) => name.startsWith('credential.'))).toEqual([]);
  await end();
});

it('a daemon whose credential ended while the store could not be written serves again once it can (CRD-11)', async () => {
  const store = await vault(await mesh.credsFor('delivery', { lifeS: 10 }));
  daemon = await startInProcess(mesh, {}, { store });
  const { sign } = standingCredentials({ keys: keys(), space: mesh.space, store });
  const { journal } = daemon;
  const hasEnded = () => journal.names().includes('credential.expired');
  let tries = 0;
  const { passes, end } = await renewer({
    store,
    principal: 'local.one',
    sign: async (names) => {
      if (++tries === 1 || !hasEnded()) throw new Error('the disk is full');
      return sign(names);
    },
  });
  await until(() => journal.names().includes('credential.adopted'), daemon.state, PATIENT);
  const serving = () => daemon?.daemon.actor.system.get('daemon')?.getSnapshot().hasTag('serving');
  await until(serving, daemon.state, PATIENT);
  expect(passes()[0]).toMatchObject({ outcome: 'failed', reason: 'the disk is full', names: 'delivery' });
  await end();
});

it('a manager whose keys the broker does not know is refused at once by name, with one dial and no connection left (CRD-10)', async () => {
  const root = mkdtempSync(join(tmpdir(), 'plane3-rotated-'));
  await operatorKeys({ root, create: true });
  await spaceKeys({ root, space: mesh.space, create: true });
  const proxy = await TcpProxy.to(mesh.url);
  const opening = openManager({ root, space: mesh.space, url: proxy.url, journal: new TestJournal(), env: {} });
  await expect(opening).rejects.toMatchObject({
    code: 'manager.unauthorized',
    message: expect.stringContaining(`the broker at ${proxy.url} does not accept`),
  });
  await until(() => proxy.open === 0, 'the end of the connection');
  expect(proxy.accepted).toBe(1);
  await proxy.close();
  rmSync(root, { recursive: true });
});
