import { createAccount, createOperator, createUser, fromSeed } from '@nats-io/nkeys';
import { describe, expect, it } from 'vitest';
import { accountOf, readUserClaims } from '../../src/domain/claims.ts';
import { isPublicKey, readSeed } from '../../src/domain/nkeys.ts';
import { allows, inboxPrefix, permissionsOf } from '../../src/domain/permissions.ts';
import { isSystemProfile, LIFE_S, PROFILES } from '../../src/domain/profiles.ts';
import { newPair, pairFromSeed } from '../../src/services/credential.ts';

describe('keys', () => {
  it.each(['operator', 'account', 'user'] as const)('of an %s are those that the library reads', (kind) => {
    const pair = newPair(kind);
    const library = fromSeed(new TextEncoder().encode(pair.seed));
    expect(library.getPublicKey()).toBe(pair.publicKey);
    const text = new TextEncoder().encode('signed');
    expect(library.verify(text, pair.sign(text))).toBe(true);
    expect(pair.verify(text, library.sign(text))).toBe(true);
  });

  it.each([
    ['operator', createOperator],
    ['account', createAccount],
    ['user', createUser],
  ] as const)('that the library made for an %s are read by us', (kind, make) => {
    const theirs = make();
    const seed = new TextDecoder().decode(theirs.getSeed());
    expect(readSeed(seed)?.kind).toBe(kind);
    expect(pairFromSeed(seed).publicKey).toBe(theirs.getPublicKey());
    expect(isPublicKey(kind, theirs.getPublicKey())).toBe(true);
  });

  it('are refused when a character is wrong, without being repeated', () => {
    const { seed, publicKey } = newPair('user');
    const wrong = `${seed.slice(0, 20)}${seed[20] === 'A' ? 'B' : 'A'}${seed.slice(21)}`;
    for (const text of ['', 'SU', wrong, publicKey, seed.toLowerCase()]) {
      expect(readSeed(text)).toBeUndefined();
      expect(() => pairFromSeed(text)).toThrow('a key seed is not well-formed');
    }
    expect(isPublicKey('account', publicKey)).toBe(false);
    expect(isPublicKey('user', `${publicKey}A`)).toBe(false);
  });
});

describe('claims', () => {
  const jwt = (claims: unknown) =>
    ['{"typ":"JWT"}', JSON.stringify(claims), 'sig'].map((part) => Buffer.from(part).toString('base64url')).join('.');

  it('of a user are read, with the account that it belongs to', () => {
    const claims = readUserClaims(jwt({ sub: 'U', iss: 'A', name: 'ü', iat: 1, nats: { type: 'user' } }));
    expect(claims?.name).toBe('ü');
    expect(claims && accountOf(claims)).toBe('A');
    const signed = readUserClaims(
      jwt({ sub: 'U', iss: 'S', name: 'n', iat: 1, nats: { type: 'user', issuer_account: 'A' } }),
    );
    expect(signed && accountOf(signed)).toBe('A');
  });

  it.each([
    ['an account', jwt({ sub: 'A', iss: 'O', name: 'n', iat: 1, nats: { type: 'account' } })],
    ['nothing', ''],
    ['two parts', 'a.b'],
    ['characters outside the alphabet', 'a.b!.c'],
    ['not JSON', `a.${Buffer.from('x').toString('base64url')}.c`],
  ])('of %s are not those of a user', (_, text) => {
    expect(readUserClaims(text)).toBeUndefined();
  });
});

describe('rights', () => {
  const member = { owner: 'local', actor: 'alice', uid: 'a'.repeat(26) };
  const all = [
    permissionsOf({ profile: 'delivery', space: 'main' }, 'U1'),
    permissionsOf({ profile: 'provisioner', space: 'main' }, 'U1'),
    permissionsOf({ profile: 'manager', space: 'main', principal: 'local.manager' }, 'U1'),
    permissionsOf({ profile: 'agent', space: 'main', member, read: [], post: [] }, 'U1'),
    permissionsOf({ profile: 'observer', account: 'A' }, 'U1'),
    permissionsOf({ profile: 'evictor' }, 'U1'),
    permissionsOf({ profile: 'claims' }, 'U1'),
    permissionsOf({ profile: 'health' }, 'U1'),
  ];

  it('are never an empty list, which the broker would read as everything', () => {
    for (const { publish, subscribe } of all) {
      expect(publish.length).toBeGreaterThan(0);
      expect(subscribe).toContain(`${inboxPrefix('U1')}.>`);
    }
  });

  it('never reach out of their space', () => {
    const foreign = ['cotal.other.dinbox.a.b.c.d', '$JS.API.STREAM.INFO.CHAT_other', '$KV.cotal_members_other.x'];
    for (const { publish, subscribe } of all) {
      for (const subject of foreign) expect(allows([...publish, ...subscribe], subject)).toBe(false);
      expect(publish.some((line) => line.startsWith('>') || line.startsWith('*'))).toBe(false);
    }
  });

  it.each([
    ['a.*', 'a.b', true],
    ['a.*', 'a.*', true],
    ['a.*', 'a.>', false],
    ['a.>', 'a.>', true],
    ['a.>', 'a', false],
    ['a.b', 'a.*', false],
  ])('by the line %s cover %s: %s', (line, subject, expected) => {
    expect(allows([line], subject)).toBe(expected);
  });

  it('of the system account end, and so do all others but an agent’s', () => {
    for (const profile of PROFILES) {
      if (profile === 'agent') expect(LIFE_S[profile]).toBeUndefined();
      else expect(LIFE_S[profile]).toBeGreaterThan(0);
      if (isSystemProfile(profile)) expect(LIFE_S[profile]).toBeLessThanOrEqual(30 * 24 * 3600);
    }
  });
});
