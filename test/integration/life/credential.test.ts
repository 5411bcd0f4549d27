/**
 * The life of the daemon's credential on a real broker. Longer than 300 lines: one set-up serves renewal, reload and expiry.
 */
import { encodeUser } from '@nats-io/jwt';
import { describe, expect, it, vi } from 'vitest';
import { inboxPrefix, permissionsOf } from '../../../src/domain/permissions.ts';
import type { ArgsOf } from '../../../src/domain/rail.ts';
import { type Credential, credsText, fingerprintOf, newPair } from '../../../src/services/credential.ts';
import { GatedBroker } from '../../../src/services/nats/gated-broker.ts';
import { askRail } from '../../../src/services/nats/rail-client.ts';
import { Agent, texts } from '../../support/delivery/agent.ts';
import { type Ground, open } from '../../support/delivery/outage.ts';
import { type Stored, startStored } from '../../support/delivery/stored.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

/** Scaled down: a window of 2 s. The backstop leaves a busy machine the time to renew. */
const QUICK = {
  COTAL_DELIVERY_BROKER_GONE_MS: '2000',
  COTAL_DELIVERY_BROKER_GONE_BACKSTOP_MS: '25000',
  COTAL_DELIVERY_PING_INTERVAL_MS: '500',
  COTAL_DELIVERY_CREDENTIAL_RETRY_MS: '200',
  COTAL_DELIVERY_RENEWAL_RETRY_MS: '200',
  COTAL_DELIVERY_RENEWAL_RETRY_LIMIT_MS: '1000',
};
const EXPIRED = '! delivery: credential expired, awaiting proved renewal';
/** Long enough to start a daemon with, short enough to wait for its end. */
const SHORT_S = 9;

async function start({ mesh, proxy, ends }: Ground, credential: Credential, env: Record<string, string> = {}) {
  const running = await startStored(mesh, { credential, server: proxy.url, env: { ...QUICK, ...env } });
  ends.push(() => running.stop());
  await running.started();
  return running;
}
const short = (mesh: Mesh) => mesh.credsFor('delivery', { lifeS: SHORT_S });
const renewalOf = (mesh: Mesh, { pair }: Credential, lifeS = 3600) => mesh.credsFor('delivery', { pair, lifeS });
const endOf = ({ claims }: Credential) => (claims.exp ?? 0) * 1000;
const passed = (credential: Credential, running: Stored) =>
  until(
    () => Date.now() > endOf(credential) + 300,
    () => running.state(),
    SHORT_S * 1000 + 5_000,
  );
const presentedAs = ({ callers }: Ground, credential: Credential) =>
  callers.presented.filter(({ jwt }) => jwt === credential.jwt);

async function reload(mesh: Mesh, args: ArgsOf<'reloadCreds'>, timeoutMs = 10_000) {
  const credential = await mesh.credsFor('manager');
  const broker = new GatedBroker({
    connection: await mesh.connect(credential),
    inboxPrefix: inboxPrefix(credential.publicKey),
    gate: () => undefined,
    timeoutMs,
  });
  return askRail({ broker, space: mesh.space, principal: 'local.manager', op: 'reloadCreds', args });
}

/** A delivery credential of the same account, signed by a key that the broker does not know. */
async function forged(mesh: Mesh): Promise<Credential> {
  const good = await mesh.credsFor('delivery');
  const rights = permissionsOf({ profile: 'delivery', space: mesh.space }, good.publicKey);
  const jwt = await encodeUser(
    'local.delivery',
    good.pair,
    mesh.keys.account,
    { pub: { allow: [...rights.publish], deny: [] }, sub: { allow: [...rights.subscribe], deny: [] } },
    { signer: newPair('account'), exp: Math.floor(Date.now() / 1000) + 3600 },
  );
  return { ...good, jwt };
}

describe.concurrent('a credential that expires', () => {
  it('is told of at once, never presented again, and a proved renewal brings everything back (C1, C7, CRD-11)', async (test) => {
    const ground = await open(test);
    const [alice, bob] = [await Agent.add(ground.mesh, 'alice'), await Agent.add(ground.mesh, 'bob')];
    const old = await short(ground.mesh);
    const running = await start(ground, old);
    await bob.join('team');
    await until(
      () => running.journal.count('credential.expired') === 1,
      () => running.state(),
    );
    const before = presentedAs(ground, old).length;
    expect(presentedAs(ground, old).every(({ atMs }) => atMs < endOf(old))).toBe(true);
    // The store still has the old one: it is looked at, and nothing is dialled.
    const told = running.journal.count('credential.not-renewed');
    await until(
      () => running.journal.count('credential.not-renewed') >= told + 2,
      () => running.state(),
    );
    const renewed = await renewalOf(ground.mesh, old);
    running.keep(renewed);
    await running.serving();
    expect(presentedAs(ground, old)).toHaveLength(before);
    expect(presentedAs(ground, renewed).map(({ name }) => name)).toEqual(
      expect.arrayContaining(['delivery-proof', 'delivery']),
    );
    expect(running.journal.lines().filter((line) => line === EXPIRED)).toHaveLength(1);
    expect(running.journal.count('broker.gone')).toBe(0);
    await alice.post('team', { text: 'after the renewal' });
    expect(texts(await bob.read(1, 10_000))).toEqual(['after the renewal']);
  });

  it('may come back under another key', async (test) => {
    const ground = await open(test);
    const bob = await Agent.add(ground.mesh, 'bob');
    const old = await short(ground.mesh);
    const running = await start(ground, old);
    await until(
      () => running.journal.count('credential.expired') === 1,
      () => running.state(),
    );
    running.keep(await ground.mesh.credsFor('delivery'));
    await running.serving();
    expect((await bob.asked('pendingCount', {})).pending).toBe(0);
  });

  it('without a renewal ends the daemon by the backstop, with its own line, whatever became of the broker meanwhile', async (test) => {
    const ground = await open(test);
    const running = await start(ground, await short(ground.mesh), {
      COTAL_DELIVERY_BROKER_GONE_BACKSTOP_MS: '4000',
    });
    await until(
      () => running.journal.count('credential.expired') === 1,
      () => running.state(),
    );
    await ground.mesh.killBroker();
    expect(await running.ended).toMatchObject({ end: 'credential-lapsed', code: 1 });
    const lines = running.journal.lines();
    expect(lines).toContain('✗ delivery: credential expired without renewal');
    expect(lines.join('\n')).not.toContain('broker connection unavailable');
  });

  it('while the broker was away is not presented to it either, and waits for its renewal all the same', async (test) => {
    const ground = await open(test);
    const old = await short(ground.mesh);
    const running = await start(ground, old, { COTAL_DELIVERY_BROKER_GONE_MS: '20000' });
    await ground.mesh.killBroker();
    await passed(old, running);
    const before = presentedAs(ground, old).length;
    await ground.mesh.startBroker();
    await until(
      () => running.journal.count('credential.expired') === 1,
      () => running.state(),
    );
    running.keep(await renewalOf(ground.mesh, old));
    await running.serving();
    expect(presentedAs(ground, old)).toHaveLength(before);
  });

  it('whose renewal is proved when no further connection can be made ends as a broker that is gone (C7)', async (test) => {
    const ground = await open(test);
    const old = await short(ground.mesh);
    const running = await start(ground, old);
    await until(
      () => running.journal.count('credential.expired') === 1,
      () => running.state(),
    );
    ground.callers.refuse('delivery');
    running.keep(await renewalOf(ground.mesh, old));
    expect(await running.ended).toMatchObject({ end: 'broker-gone', code: 1 });
    expect(
      running.journal
        .names()
        .filter((name) => ['credential.adopted', 'credential.not-dialled', 'broker.gone'].includes(name))[0],
    ).toBe('credential.adopted');
  });
});

describe.concurrent('the re-read at 75 %', () => {
  it('adopts a renewal before the old one ends; nothing is lost, and the old end passes unnoticed (C2)', async (test) => {
    const ground = await open(test);
    const [alice, bob] = [await Agent.add(ground.mesh, 'alice'), await Agent.add(ground.mesh, 'bob')];
    // Long enough that also a busy machine has the last quarter of it to adopt the renewal in.
    const lifeS = 20;
    const old = await ground.mesh.credsFor('delivery', { lifeS });
    const running = await start(ground, old);
    await bob.join('team');
    const renewed = await renewalOf(ground.mesh, old);
    running.keep(renewed);
    await until(
      () => running.journal.count('credential.adopted') === 1,
      () => running.state(),
    );
    expect(Date.now()).toBeGreaterThanOrEqual(endOf(old) - lifeS * 250 - 1_000);
    await passed(old, running);
    await running.serving();
    expect(running.journal.count('credential.expired')).toBe(0);
    expect(running.journal.lines()).toContain(`• delivery: renewed credential adopted (${fingerprintOf(renewed.jwt)})`);
    await alice.post('team', { text: 'still there' });
    expect(texts(await bob.read(1, 10_000))).toEqual(['still there']);
  });

  it('that finds the same one says so by name and comes less and less often, without a connection (CRD-03)', async (test) => {
    const ground = await open(test);
    const running = await start(ground, await ground.mesh.credsFor('delivery', { lifeS: 14 }), {
      COTAL_DELIVERY_CREDENTIAL_RETRY_MS: '100',
    });
    const { accepted } = ground.proxy;
    await until(
      () => running.journal.count('credential.not-renewed') >= 4,
      () => running.state(),
      30_000,
    );
    expect(ground.proxy.accepted).toBe(accepted);
    expect(running.journal.lines()).toContain('! delivery: credential not renewed: it is still the same');
  });
});

describe('reloadCreds', () => {
  it('adopts the renewal that is expected: the answer first, then the swap, and the daemon serves on', async (test) => {
    const ground = await open(test);
    const bob = await Agent.add(ground.mesh, 'bob');
    const old = await ground.mesh.credsFor('delivery');
    const running = await start(ground, old);
    const renewed = await renewalOf(ground.mesh, old);
    running.keep(renewed);
    const fingerprint = fingerprintOf(renewed.jwt);
    expect(await reload(ground.mesh, { expected: fingerprint })).toEqual({
      kind: 'answered',
      data: { adopted: true, fingerprint },
    });
    await until(
      () => running.daemon.actor.getSnapshot().context.connection === 2,
      () => running.state(),
    );
    expect(presentedAs(ground, renewed).map(({ name }) => name)).toContain('delivery');
    await running.started();
    expect((await bob.asked('pendingCount', {})).pending).toBe(0);
    // Again: it is the one in use.
    const { accepted } = ground.proxy;
    expect(await reload(ground.mesh, { expected: fingerprint })).toMatchObject({ data: { adopted: true } });
    expect(ground.proxy.accepted).toBe(accepted);
    expect(running.daemon.actor.getSnapshot().context.connection).toBe(2);
  });

  it.for([
    [
      'another one than the store has',
      'reload.other',
      async (mesh: Mesh) => ({ kept: await mesh.credsFor('delivery'), expected: 'f'.repeat(64) }),
    ],
    ['one that the broker refuses', 'reload.unproved', async (mesh: Mesh) => ({ kept: await forged(mesh) })],
    [
      'one that may not do what the daemon does',
      'reload.unproved',
      async (mesh: Mesh) => ({ kept: await mesh.credsFor('manager') }),
    ],
    ['one that cannot be read', 'reload.unusable', async () => ({ kept: 'no credential', expected: 'f'.repeat(64) })],
    ['one that is gone', 'reload.unusable', async () => ({ kept: undefined, expected: 'f'.repeat(64) })],
    [
      'one of another account',
      'reload.unusable',
      async () => {
        const other = await startMesh({ provisioned: false });
        const kept = await other.credsFor('delivery');
        await other.dispose();
        return { kept };
      },
    ],
  ] as const)(
    'of %s is refused, adopts nothing, and leaves the connection alone (C4, CRD-06)',
    async ([, code, make], test) => {
      const ground = await open(test);
      const running = await start(ground, await ground.mesh.credsFor('delivery'));
      const made: { kept: Credential | string | undefined; expected?: string } = await make(ground.mesh);
      running.keep(made.kept);
      const expected = made.expected ?? fingerprintOf((made.kept as Credential).jwt);
      expect(await reload(ground.mesh, { expected })).toMatchObject({ kind: 'refused', code });
      expect(running.journal.count('credential.adopted')).toBe(0);
      expect(running.journal.count('daemon.quiesced')).toBe(0);
      expect(running.daemon.actor.getSnapshot().context.connection).toBe(1);
      await running.started();
    },
  );

  it('is refused while the daemon has not finished starting: its lease is ready, and the watch of it is not bound (C4)', async (test) => {
    const ground = await open(test);
    let bind: (() => void) | undefined;
    const { api } = GatedBroker.prototype;
    const held = vi.spyOn(GatedBroker.prototype, 'api').mockImplementation(async function (
      this: GatedBroker,
      subject,
      body,
      schema,
    ) {
      if (subject.startsWith('CONSUMER.CREATE.KV_cotal_delivery_'))
        await new Promise<void>((go) => {
          bind = go;
        });
      return api.call(this, subject, body, schema) as never;
    });
    const old = await ground.mesh.credsFor('delivery');
    const running = await startStored(ground.mesh, { credential: old, server: ground.proxy.url, env: QUICK });
    ground.ends.push(() => running.stop());
    await running.serving();
    const renewed = await renewalOf(ground.mesh, old);
    running.keep(renewed);
    const expected = fingerprintOf(renewed.jwt);
    const refused = await reload(ground.mesh, { expected });
    expect(refused).toMatchObject({ kind: 'refused', code: 'reload.starting' });
    expect(JSON.stringify(refused)).toContain('has not finished starting');
    expect(presentedAs(ground, renewed)).toEqual([]);
    (
      await until(
        () => bind,
        () => running.state(),
      )
    )();
    held.mockRestore();
    await running.started();
    expect(await reload(ground.mesh, { expected })).toMatchObject({ data: { adopted: true } });
  });

  it('ends by its own deadline where the store does not answer, before the caller gives up (C3)', async (test) => {
    const ground = await open(test);
    const running = await start(ground, await ground.mesh.credsFor('delivery'), {
      COTAL_DELIVERY_CREDENTIAL_FLIGHT_MS: '2500',
    });
    running.hang();
    const both = await Promise.all([
      reload(ground.mesh, { expected: 'a'.repeat(64) }),
      reload(ground.mesh, { expected: 'b'.repeat(64) }),
    ]);
    expect(both).toMatchObject([
      { kind: 'refused', code: 'reload.unusable' },
      { kind: 'refused', code: 'reload.unusable' },
    ]);
    running.unhang();
    const renewed = await ground.mesh.credsFor('delivery');
    running.keep(renewed);
    expect(await reload(ground.mesh, { expected: fingerprintOf(renewed.jwt) })).toMatchObject({
      data: { adopted: true },
    });
  });
});

describe('a start', () => {
  it.for([
    [
      'signed by a key that was rotated away',
      forged,
      'does not accept the delivery credential delivery.creds: unauthorized',
      1,
    ],
    ['that is expired', (mesh: Mesh) => mesh.credsFor('delivery', { lifeS: -5 }), 'delivery.creds expired at', 0],
    ['that cannot be read', async () => '-----BEGIN', 'delivery.creds cannot be read', 0],
  ] as const)(
    'with a credential %s fails at once by name, with no connection left behind (CRD-10)',
    async ([, make, message, dials], test) => {
      const ground = await open(test);
      const running = await startStored(ground.mesh, {
        credential: await make(ground.mesh),
        server: ground.proxy.url,
        env: QUICK,
      });
      const end = await running.ended;
      expect(end).toMatchObject({ end: 'refused', code: 1 });
      expect(end.message).toContain(message);
      expect(ground.proxy.accepted).toBe(dials);
      await until(
        () => ground.proxy.open === 0,
        () => `${ground.proxy.open} connections are left`,
      );
      expect(end.message).not.toContain(credsText(await ground.mesh.credsFor('delivery')).slice(0, 40));
    },
  );
});
