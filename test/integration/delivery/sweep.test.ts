/** The rail for managers on a real daemon over a real broker: who is connected, who is evicted, which store is re-read. */
import { renameSync, rmSync } from 'node:fs';
import { beforeEach, describe, expect, it } from 'vitest';
import { inboxPrefix } from '../../../src/domain/permissions.ts';
import { leaseRowSchema } from '../../../src/domain/rows.ts';
import { attestationText, proofText } from '../../../src/domain/store-proof.ts';
import { buckets, LEASE_KEY } from '../../../src/domain/subjects.ts';
import { isSignedBy } from '../../../src/services/credential.ts';
import { credsPath, keepCreds, openCreds } from '../../../src/services/local/mint.ts';
import { readRow } from '../../../src/services/nats/rows.ts';
import { readSubscribers } from '../../../src/services/nats/subscribers.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { type Ask, managerOf, revoke } from '../../support/manager/ask.ts';
import { secondServer, systemUser } from '../../support/manager/system-user.ts';
import { until } from '../../support/until.ts';

const suite = deliverySuite();
let ask: Ask;
beforeEach(async () => {
  ({ ask } = await managerOf(suite.mesh));
});

const connected = async (name: string) => {
  const { credential } = await suite.mesh.addAgent({ name });
  return { credential, connection: await suite.mesh.connect(credential) };
};

describe('evictPrincipals', () => {
  it('ends every connection of those that were revoked, with one shared sweep, and nobody else', async () => {
    const [alice, bob, carol] = [await connected('alice'), await connected('bob'), await connected('carol')];
    await suite.mesh.connect(alice.credential);
    await revoke(suite.mesh, alice.credential);
    const before = suite.running.daemon.tally.get('sweep.scans');
    const answer = await ask('evictPrincipals', { principals: ['local.alice', 'local.nobody'] });
    expect(answer).toMatchObject({ kind: 'answered' });
    if (answer.kind !== 'answered') return;
    expect(
      answer.data.results.map(({ principal, verifiedGone, scanComplete, remaining }) => [
        principal,
        verifiedGone,
        scanComplete,
        remaining,
      ]),
    ).toEqual([
      ['local.alice', true, true, 0],
      ['local.nobody', true, true, 0],
    ]);
    expect(suite.running.daemon.tally.get('sweep.scans') - before).toBeLessThanOrEqual(2);
    await until(() => alice.connection.isClosed(), 'the connection of alice');
    expect([bob.connection.isClosed(), carol.connection.isClosed()]).toEqual([false, false]);
    expect(await ask('principalLiveness', { principal: 'local.bob' })).toMatchObject({ data: { liveness: 'live' } });
  });

  it('sees a client that was not revoked and comes back at once', async () => {
    const { connection } = await connected('alice');
    let last: unknown;
    // How soon the client is back is its own affair: a sweep that is over before has not seen it.
    const answer = await until(
      async () => {
        await connection.flush();
        const asked = await ask('evictPrincipals', { principals: ['local.alice'] });
        last = asked;
        return asked.kind === 'answered' && asked.data.results[0]?.remaining === 1 && asked;
      },
      () => last,
    );
    expect(answer).toMatchObject({
      kind: 'answered',
      data: {
        results: [
          {
            kicked: 1,
            remaining: 1,
            verifiedGone: false,
            scanComplete: true,
            note: 'it has connected again: its credential was not revoked, or a newer one is in use',
          },
        ],
      },
    });
    expect(connection.isClosed()).toBe(false);
  });

  it('does not kick whoever connects with a newer credential while the sweep runs (EVC-09)', async () => {
    const old = await connected('alice');
    await revoke(suite.mesh, old.credential);
    // Revoking ends its connection: a second one of the same principal is what the sweep meets.
    const stays = await suite.mesh.connect(
      await suite.mesh.credsFor('manager', { name: 'local.alice', principal: 'local.x' }),
    );
    const newer = await suite.mesh.credsFor('manager', { name: 'local.alice', principal: 'local.y' });
    const spy = await systemUser(suite.mesh);
    let connecting: ReturnType<typeof suite.mesh.connect> | undefined;
    const kicks: number[] = [];
    spy.subscribe('$SYS.REQ.SERVER.*.KICK', {
      callback: (_, message) => {
        kicks.push(message.json<{ cid: number }>().cid);
        connecting ??= suite.mesh.connect(newer);
      },
    });
    await spy.flush();
    await ask('evictPrincipals', { principals: ['local.alice'] });
    const newcomer = await connecting;
    expect(newcomer?.isClosed()).toBe(false);
    expect(kicks).not.toContain(newcomer?.info?.client_id);
    expect(kicks.length).toBeGreaterThan(0);
    await stays.close();
  });

  it('says that it is incomplete when a server of the cluster owes a page, and verifies nobody', async () => {
    const { credential } = await suite.mesh.addAgent({ name: 'elsewhere' });
    const connections = [{ cid: 9, authorized_user: credential.publicKey, jwt: credential.jwt }];
    await secondServer(suite.mesh, ({ offset }) =>
      offset === 0 ? { server: { id: 'NSECOND' }, data: { offset, total: 1_025, connections } } : undefined,
    );
    const answer = await ask('evictPrincipals', { principals: ['local.alice'] });
    expect(answer).toMatchObject({
      data: { results: [{ verifiedGone: false, scanComplete: false, note: 'server NSECOND still owes a page' }] },
    });
    expect(await ask('principalLiveness', { principal: 'local.alice' })).toMatchObject({
      data: { liveness: 'unknown' },
    });
  });

  it('says that it is incomplete when a server that an earlier sweep has heard is silent, and verifies nobody', async () => {
    const { credential } = await suite.mesh.addAgent({ name: 'elsewhere' });
    const connections = [{ cid: 9, authorized_user: credential.publicKey, jwt: credential.jwt }];
    let isSilent = false;
    await secondServer(suite.mesh, () =>
      isSilent ? undefined : { server: { id: 'NSECOND' }, data: { offset: 0, total: 1, connections } },
    );
    const liveness = async () => ask('principalLiveness', { principal: 'local.elsewhere' });
    let last: unknown;
    await until(
      async () => {
        const answer = await liveness();
        last = answer;
        return answer.kind === 'answered' && answer.data.liveness === 'live';
      },
      () => last,
    );
    isSilent = true;
    expect(await ask('evictPrincipals', { principals: ['local.elsewhere'] })).toMatchObject({
      data: { results: [{ verifiedGone: false, scanComplete: false, note: 'server NSECOND did not answer' }] },
    });
    expect(await liveness()).toMatchObject({ data: { liveness: 'unknown', note: 'server NSECOND did not answer' } });
  });

  it('refuses by the name of the file while there is no evictor, and kicks nobody (EVC-07)', async () => {
    const { connection } = await connected('alice');
    const path = credsPath(suite.mesh.root, suite.mesh.space, 'evictor');
    renameSync(path, `${path}.away`);
    const answer = await ask('evictPrincipals', { principals: ['local.alice'] });
    expect(answer).toMatchObject({
      kind: 'refused',
      code: 'rail.not-wired',
      message: expect.stringContaining('evictPrincipals is not available on this daemon: evictor.creds is missing'),
    });
    expect(await ask('principalLiveness', { principal: 'local.alice' })).toMatchObject({ data: { liveness: 'live' } });
    renameSync(`${path}.away`, path);
    expect(await ask('evictPrincipals', { principals: ['local.nobody'] })).toMatchObject({ kind: 'answered' });
    expect(connection.isClosed()).toBe(false);
  });

  it.each([
    ['is missing', 'observer.creds is missing', async (path: string) => rmSync(path)],
    [
      "is another account's (EVC-02)",
      'observer.creds may not look at account',
      async (path: string) =>
        keepCreds(path, await suite.mesh.credsFor('observer', { account: suite.mesh.operator.system.publicKey })),
    ],
    [
      'has expired (CRD-08)',
      'observer.creds expired at',
      async (path: string) => keepCreds(path, await suite.mesh.credsFor('observer', { lifeS: -10 })),
    ],
  ])('refuses by name when the observer %s by now', async (_, reason, spoil) => {
    await spoil(credsPath(suite.mesh.root, suite.mesh.space, 'observer'));
    for (const answer of [
      await ask('evictPrincipals', { principals: ['local.alice'] }),
      await ask('principalLiveness', { principal: 'local.alice' }),
    ]) {
      expect(answer).toMatchObject({ kind: 'refused', message: expect.stringContaining(reason) });
    }
  });

  it.each([
    ['nobody', [], 'principals: '],
    ['257 of them', Array.from({ length: 257 }, (_, i) => `local.a${i}`), 'principals: '],
    ['what is no principal', ['local'], 'principals.0: not a principal (owner.actor)'],
    ['one of them twice', ['a.b', 'a.b'], 'a.b is named twice'],
    ['the daemon itself', ['local.delivery'], 'local.delivery is this daemon itself'],
  ])('refuses to evict %s', async (_, principals, message) => {
    const answer = await ask('evictPrincipals', { principals });
    expect(answer).toMatchObject({ kind: 'refused', message: expect.stringContaining(message) });
  });
});

describe('reloadStoreIdentity', () => {
  it('is answered with the store, the challenge and the incarnation, signed by the key that the lease row attests', async () => {
    const challenge = 'c'.repeat(32);
    const answer = await ask('reloadStoreIdentity', { challenge });
    const { connection } = await managerOf(suite.mesh);
    const read = await readRow({ connection, bucket: buckets(suite.mesh.space).delivery, key: LEASE_KEY });
    if (answer.kind !== 'answered' || read.kind !== 'found') throw new Error(JSON.stringify([answer, read]));
    const row = leaseRowSchema.parse(JSON.parse(Buffer.from(read.data).toString()));
    const { identity, incarnation, signature } = answer.data;
    expect(identity).toEqual({ kind: 'fs', root: suite.mesh.root });
    expect([answer.data.challenge, incarnation]).toEqual([challenge, row.incarnation]);
    const { space } = suite.mesh;
    expect(isSignedBy(row.proofKey, proofText({ space, incarnation, challenge, identity }), signature)).toBe(true);
    const seed = openCreds(credsPath(suite.mesh.root, space, 'delivery'));
    const attested = attestationText({ space, holder: row.holder, incarnation, proofKey: row.proofKey });
    expect(isSignedBy(seed?.publicKey ?? '', attested, row.proofAttestation)).toBe(true);
  });

  it('refuses a challenge that is too short to be one', async () => {
    expect(await ask('reloadStoreIdentity', { challenge: 'x' })).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('reloadStoreIdentity: challenge: '),
    });
  });
});

describe('who is subscribed', () => {
  const read = async () => {
    const credential = await suite.mesh.credsFor('observer');
    return readSubscribers({
      connection: await suite.mesh.connect(credential),
      inboxPrefix: inboxPrefix(credential.publicKey),
      account: suite.mesh.keys.account.publicKey,
    });
  };

  it('is read with their subjects', async () => {
    const { credential, connection } = await connected('alice');
    connection.subscribe(`${inboxPrefix(credential.publicKey)}.there`);
    await connection.flush();
    const answer = await read();
    if (answer.kind !== 'read') throw new Error(answer.why);
    const alice = answer.subscribers.find(({ user }) => user === credential.publicKey);
    expect(alice?.subjects).toContain(`${inboxPrefix(credential.publicKey)}.there`);
  });

  it('is not concluded from a server that owes a page', async () => {
    const connections = Array.from({ length: 1_024 }, (_, n) => ({ cid: n + 1, authorized_user: 'U', jwt: '' }));
    await secondServer(suite.mesh, ({ offset }) =>
      offset === 0 ? { server: { id: 'NSECOND' }, data: { offset, total: 1_025, connections } } : undefined,
    );
    expect(await read()).toEqual({ kind: 'incomplete', why: 'server NSECOND still owes a page' });
  });
});
