import { execFileSync } from 'node:child_process';
import { linkSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Credential, credsText, fingerprintOf, readCreds } from '../../src/services/credential.ts';
import { operatorKeys, revokeUsers, spaceKeys, spacesOf } from '../../src/services/local/auth-store.ts';
import { withFileLock } from '../../src/services/local/file-lock.ts';
import { credsPath, keepCreds, mint, openCreds } from '../../src/services/local/mint.ts';
import { pushAccount } from '../../src/services/nats/claims.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';
import { until } from '../support/until.ts';

let root: string;
let mesh: Mesh | undefined;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'plane3-auth-'));
});
afterEach(async () => {
  await mesh?.dispose();
  mesh = undefined;
  rmSync(root, { recursive: true, force: true });
});
const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
const auth = () => join(root, '.cotal', 'auth');

describe('the keys of a mesh', () => {
  it('are made once and are the same ever after, also when two ask at once', async () => {
    const [one, two] = await Promise.all([1, 2].map(() => spaceKeys({ root, space: 'main', create: true })));
    expect(one?.account.publicKey).toBe(two?.account.publicKey);
    const later = await spaceKeys({ root, space: 'main', create: false });
    expect(later.signing.seed).toBe(one?.signing.seed);
    expect((await spaceKeys({ root, space: 'other', create: true })).account.publicKey).not.toBe(
      one?.account.publicKey,
    );
    expect(spacesOf(root)).toEqual(['main', 'other']);
  });

  it('lie where only their owner reads', async () => {
    await spaceKeys({ root, space: 'main', create: true });
    expect(mode(auth())).toBe('700');
    expect(readdirSync(auth()).sort()).toEqual(['operator.json', 'space.6d61696e.json']);
    for (const name of readdirSync(auth())) expect(mode(join(auth(), name))).toBe('600');
  });

  it('are refused by name where there are none, and none are made', async () => {
    await expect(spaceKeys({ root, space: 'main', create: false })).rejects.toThrow('no keys of space main');
    await expect(operatorKeys({ root, create: false })).rejects.toThrow('no keys of the operator');
    expect(readdirSync(root)).toEqual([]);
  });

  it.each([
    ['is not JSON', () => 'SUnonsense{'],
    ['has a damaged seed', (text: string) => text.replace(/"accountSeed": "SA.../, '"accountSeed": "SAAAA')],
    ['lacks a field', (text: string) => text.replace('"revoked"', '"revokedd"')],
  ])('are refused by path and left as they are when the file %s', async (_, damage) => {
    await spaceKeys({ root, space: 'main', create: true });
    const path = join(auth(), 'space.6d61696e.json');
    const damaged = damage(readFileSync(path, 'utf8'));
    writeFileSync(path, damaged);
    const failure = await spaceKeys({ root, space: 'main', create: true }).catch((error: Error) => error.message);
    expect(failure).toContain(path);
    expect(failure).not.toMatch(/S[AOU][A-Z2-7]{10}/);
    expect(readFileSync(path, 'utf8')).toBe(damaged);
  });
});

describe('a credential', () => {
  it('reads back as it was kept, in a file that only its owner reads', async () => {
    const keys = {
      operator: await operatorKeys({ root, create: true }),
      space: await spaceKeys({ root, space: 'main', create: true }),
    };
    const credential = await mint(keys, { profile: { profile: 'delivery', space: 'main' }, name: 'local.delivery' });
    const path = credsPath(root, 'main', 'delivery');
    expect(path).toBe(join(root, '.cotal', 'space.6d61696e', 'delivery.creds'));
    expect(openCreds(path)).toBeUndefined();
    keepCreds(path, credential);
    expect(mode(path)).toBe('600');
    expect(openCreds(path)?.publicKey).toBe(credential.publicKey);
    expect(openCreds(path)?.claims).toMatchObject({ name: 'local.delivery', sub: credential.publicKey });
    const life = (credential.claims.exp ?? 0) - credential.claims.iat;
    expect(Math.abs(life - 24 * 3600)).toBeLessThanOrEqual(1);
    expect(fingerprintOf(credential.jwt)).toMatch(/^[0-9a-f]{64}$/);
  });

  it.each([
    ['is empty', () => '', 'no user JWT'],
    ['has no key', (text: string) => text.slice(0, text.indexOf('-----BEGIN USER')), 'no key seed'],
    ['has a damaged JWT', (text: string) => text.replace(/eyJ[\w-]+\./, 'eyJxx.'), 'not a user JWT'],
    ['has a damaged key', (text: string) => text.replace(/\nSU..../, '\nSUAAAA'), 'not a user key'],
  ])('is refused by path when its file %s, without a secret in the error', async (_, damage, reason) => {
    const keys = { operator: await operatorKeys({ root, create: true }) };
    const text = credsText(await mint(keys, { profile: { profile: 'claims' }, name: 'local.claims' }));
    const damaged = reason === 'not a user JWT' ? text.replace(/^[\w-]+\.[\w-]+\./m, 'a.b.') : damage(text);
    const read = () => readCreds(damaged, '/some/where.creds');
    expect(read).toThrow(`credential /some/where.creds cannot be read: it`);
    expect(read).toThrow(reason);
    expect(read).not.toThrow(/SU[A-Z2-7]{10}/);
  });

  it("is refused when its JWT and its key are two different users'", async () => {
    const keys = { operator: await operatorKeys({ root, create: true }) };
    const claims = () => mint(keys, { profile: { profile: 'claims' }, name: 'local.claims' });
    const [one, two] = [await claims(), await claims()];
    const mixed = credsText({ jwt: one.jwt, pair: two.pair });
    expect(() => readCreds(mixed, 'x')).toThrow('its JWT belongs to another key');
  });

  it('that the broker would not take is not minted', async () => {
    const keys = {
      operator: await operatorKeys({ root, create: true }),
      space: await spaceKeys({ root, space: 'main', create: true }),
    };
    const member = { owner: 'local', actor: 'a', uid: 'a'.repeat(26) };
    const read = Array.from({ length: 100 }, (_, i) => `${'x'.repeat(100)}.c${i}`);
    const profile = { profile: 'agent', space: 'main', member, read, post: [] } as const;
    await expect(mint(keys, { profile, name: 'local.a' })).rejects.toThrow(/credential of local\.a would be \d+ bytes/);
  });

  it('of the greatest size that is minted is taken by the broker', async () => {
    mesh = await startMesh();
    const read = Array.from({ length: 98 }, (_, i) => `${'x'.repeat(73)}.c${i}`);
    const alice = await mesh.addAgent({ name: 'alice', read });
    expect(alice.credential.jwt.length).toBeGreaterThan(14_000);
    expect((await mesh.connect(alice.credential)).isClosed()).toBe(false);
  });
});

describe('a revoked user', () => {
  it('is kept out at once by a pushed account, also after a restart, and nobody else is', async () => {
    mesh = await startMesh();
    const [alice, bob] = [await mesh.addAgent({ name: 'alice' }), await mesh.addAgent({ name: 'bob' })];
    const claims = await mesh.connect('claims');
    const { answer } = await revokeUsers({
      root: mesh.root,
      space: 'main',
      users: [alice.credential.publicKey],
      at: alice.credential.claims.iat,
      push: (accountJwt) => pushAccount({ connection: claims, accountJwt }),
    });
    expect(answer).toEqual({ kind: 'accepted' });
    await expect(mesh.connect(alice.credential)).rejects.toThrow(/authorization/i);
    await (await mesh.connect(bob.credential)).close();
    await mesh.restartBroker();
    await expect(mesh.connect(alice.credential)).rejects.toThrow(/authorization/i);
  });

  it('is kept out after the next start when the push failed', async () => {
    mesh = await startMesh();
    const alice = await mesh.addAgent({ name: 'alice' });
    const push = () => Promise.resolve({ kind: 'failed' } as const);
    const users = [alice.credential.publicKey];
    await revokeUsers({ root: mesh.root, space: 'main', users, at: alice.credential.claims.iat, push });
    await (await mesh.connect(alice.credential)).close();
    await mesh.restartBroker();
    await expect(mesh.connect(alice.credential)).rejects.toThrow(/authorization/i);
  });

  it('is forgotten an hour after the end of its last credential, and one whose credential lives on stays refused', async () => {
    mesh = await startMesh();
    const [short, long] = [await mesh.credsFor('session', { lifeS: 1 }), await mesh.credsFor('session')];
    const agent = (await mesh.addAgent({ name: 'alice' })).credential;
    const at = agent.claims.iat;
    const claims = await mesh.connect('claims');
    const revoke = (users: readonly Credential[], when: number) =>
      revokeUsers({
        root: mesh?.root ?? '',
        space: 'main',
        users: users.map(({ publicKey }) => publicKey),
        at: when,
        ends: new Map(users.flatMap(({ publicKey, claims: { exp } }) => (exp === undefined ? [] : [[publicKey, exp]]))),
        push: (accountJwt) => pushAccount({ connection: claims, accountJwt }),
      });
    const first = await revoke([short, long, agent], at);
    expect(Object.keys(first.keys.revoked)).toHaveLength(3);
    const almost = await revoke([], (short.claims.exp ?? 0) + 3_600);
    expect(almost.keys.revoked).toEqual(first.keys.revoked);
    const { keys, answer } = await revoke([], (short.claims.exp ?? 0) + 3_601);
    expect(answer).toEqual({ kind: 'accepted' });
    expect(keys.revoked).toEqual({ [long.publicKey]: at, [agent.publicKey]: at });
    const body = JSON.parse(Buffer.from(keys.accountJwt.split('.')[1] ?? '', 'base64url').toString());
    expect(body.nats.revocations).toEqual(keys.revoked);
    for (const credential of [long, agent]) {
      await expect(mesh.connect(credential)).rejects.toThrow(/authorization/i);
    }
    await until(() => Date.now() > ((short.claims.exp ?? 0) + 1) * 1_000, 'the end of the short one');
    await expect(mesh.connect(short)).rejects.toThrow(/expired|authorization/i);
  });

  it('for good stays so when it is revoked again with an end', async () => {
    const [operator, space] = [
      await operatorKeys({ root, create: true }),
      await spaceKeys({ root, space: 'main', create: true }),
    ];
    const { publicKey } = await mint(
      { operator, space },
      {
        profile: { profile: 'session', space: 'main', principal: 'local.a' },
        name: 'local.a',
      },
    );
    const of = { root, space: 'main', users: [publicKey], push: async () => {} };
    await revokeUsers({ ...of, at: 100 });
    await revokeUsers({ ...of, at: 200, ends: new Map([[publicKey, 300]]) });
    const { keys } = await revokeUsers({ ...of, users: [], at: 1_000_000 });
    expect(keys.revoked).toEqual({ [publicKey]: 200 });
  });

  it('two revocations at once both hold', async () => {
    mesh = await startMesh();
    const { root: at, addAgent } = mesh;
    const agents = await Promise.all(['a', 'b', 'c'].map((name) => addAgent({ name })));
    const claims = await mesh.connect('claims');
    await Promise.all(
      agents.map(({ credential }) =>
        revokeUsers({
          root: at,
          space: 'main',
          users: [credential.publicKey],
          at: credential.claims.iat,
          push: (accountJwt) => pushAccount({ connection: claims, accountJwt }),
        }),
      ),
    );
    for (const { credential } of agents) await expect(mesh.connect(credential)).rejects.toThrow(/authorization/i);
  });

  it('is refused by name and subject where a credential may not push', async () => {
    mesh = await startMesh();
    const connection = await mesh.connect('observer');
    const outcome = await pushAccount({ connection, accountJwt: mesh.keys.accountJwt });
    expect(outcome).toEqual({
      kind: 'failed',
      failure: { kind: 'denied', subject: '$SYS.REQ.CLAIMS.UPDATE', operation: 'publish' },
    });
  });

  it('of an account that another operator signed stays out, whatever was pushed', async () => {
    mesh = await startMesh();
    const keys = {
      operator: await operatorKeys({ root, create: true }),
      space: await spaceKeys({ root, space: 'main', create: true }),
    };
    await pushAccount({ connection: await mesh.connect('claims'), accountJwt: keys.space.accountJwt });
    const profile = { profile: 'provisioner', space: 'main' } as const;
    const stranger = await mint(keys, { profile, name: 'local.stranger' });
    await expect(mesh.connect(stranger)).rejects.toThrow(/authorization/i);
  });

  it('is not revoked by a push that the broker cannot read, and that is said', async () => {
    mesh = await startMesh();
    const connection = await mesh.connect('claims');
    expect((await pushAccount({ connection, accountJwt: 'nonsense' })).kind).toBe('refused');
  });
});

describe('a lock on a file', () => {
  it('is refused with the pid of a holder that lives', async () => {
    const path = join(root, 'x');
    await withFileLock({
      path,
      work: async () => {
        const second = withFileLock({ path, work: () => Promise.resolve(), waitMs: 0 });
        await expect(second).rejects.toThrow(`${path} is held by process ${process.pid}`);
      },
    });
    expect(readdirSync(root)).toEqual([]);
  });

  it('is taken over from a holder that is dead', async () => {
    const path = join(root, 'x');
    const dead = execFileSync('sh', ['-c', 'echo $$'], { encoding: 'utf8' }).trim();
    writeFileSync(join(root, 'mark'), `${dead} abc`);
    linkSync(join(root, 'mark'), `${path}.lock`);
    expect(await withFileLock({ path, work: () => Promise.resolve('done') })).toBe('done');
    await until(
      () => !readdirSync(root).includes('x.lock'),
      () => readdirSync(root),
    );
  });

  it('is given back when the work fails', async () => {
    const path = join(root, 'x');
    await expect(withFileLock({ path, work: () => Promise.reject(new Error('no')) })).rejects.toThrow('no');
    expect(readdirSync(root)).toEqual([]);
  });
});
