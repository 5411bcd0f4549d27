import { describe, expect, it } from 'vitest';
import type { UserClaims } from '../../src/domain/claims.ts';
import { whyStale, whyTorn } from '../../src/domain/credential-plan.ts';
import { type AskedSettings, type MeshSettings, planSettings, reachableHost } from '../../src/domain/mesh-settings.ts';

const bare: AskedSettings = { space: 'main', open: false, tls: false, layout: {} };
const planned = (asked: Partial<AskedSettings>, kept?: MeshSettings, running = false): MeshSettings => {
  const plan = planSettings({ ...bare, ...asked }, kept, running);
  if (plan.kind !== 'planned') throw new Error(JSON.stringify(plan));
  return plan.settings;
};

describe('the settings of a mesh', () => {
  it('are strict, on loopback, with accounts and without TLS at first', () => {
    expect(planned({})).toMatchObject({
      mode: 'auth',
      host: '127.0.0.1',
      port: 4222,
      durability: 'strict',
      tls: false,
    });
  });

  it('stay what they were where an option is left out, in every round (UPD-20)', () => {
    const first = planned({ host: '0.0.0.0', tls: true, durability: 'relaxed', layout: { history: 5 } });
    const second = planned({}, first);
    expect(second).toEqual(first);
    expect(planned({ host: '0.0.0.0' }, second)).toEqual(first);
    expect(planned({ layout: { quota: 9 } }, second).spaces.main).toEqual({ history: 5, quota: 9 });
  });

  it('keep for each space whether it is to have a manager, as the last who said so wanted it', () => {
    expect(planned({}).managers).toBeUndefined();
    const first = planned({ manager: true });
    expect(planned({}, first).managers).toEqual({ main: true });
    const two = planned({ space: 'other', manager: false }, first);
    expect(two.managers).toEqual({ main: true, other: false });
    expect(planned({ manager: false }, two, true).managers).toEqual({ main: false, other: false });
  });

  it('are refused by name where the broker runs otherwise', () => {
    const kept = planned({});
    expect(planSettings({ ...bare, host: '0.0.0.0' }, kept, true)).toEqual({
      kind: 'otherwise',
      setting: 'host',
      have: '127.0.0.1',
      wanted: '0.0.0.0',
    });
    expect(planSettings({ ...bare, tls: true }, kept, true)).toMatchObject({ setting: 'tls' });
    expect(planSettings({ ...bare, port: 9 }, kept, true)).toMatchObject({ setting: 'port' });
    expect(planned({ port: 0 }, kept, true).port).toBe(4222);
  });

  it('never change between open and authenticated', () => {
    expect(planSettings({ ...bare, open: true }, planned({}), false)).toMatchObject({ kind: 'mode' });
    expect(planned({}, planned({ open: true })).mode).toBe('open');
  });

  it('name an address that is reached from this machine', () => {
    expect(['0.0.0.0', '::', '::1', '10.0.0.7', 'host'].map(reachableHost)).toEqual([
      '127.0.0.1',
      '127.0.0.1',
      '[::1]',
      '10.0.0.7',
      'host',
    ]);
  });
});

describe('a standing credential', () => {
  const nowMs = 1_000_000_000;
  const claims = (more: Partial<UserClaims> & { account?: string; allow?: string[] } = {}): UserClaims => ({
    sub: 'U',
    iss: more.iss ?? 'SYS',
    name: 'x',
    iat: nowMs / 1000 - 100,
    exp: nowMs / 1000 + 100,
    nats: {
      type: 'user',
      ...(more.account === undefined ? {} : { issuer_account: more.account }),
      ...(more.allow === undefined ? {} : { pub: { allow: more.allow } }),
    },
    ...('exp' in more ? { exp: more.exp } : {}),
  });
  const asked = { account: 'A', nowMs, least: 0.25 };
  const found = (of: UserClaims) => ({ kind: 'found', claims: of }) as const;

  it('is made anew when it is missing, unreadable, of another account, expired, or near its end', () => {
    expect(whyStale({ kind: 'missing' }, asked)).toBe('missing');
    expect(whyStale({ kind: 'unreadable', why: 'no JWT' }, asked)).toBe('no JWT');
    expect(whyStale(found(claims({ account: 'B' })), asked)).toBe('of another account');
    expect(whyStale(found(claims({ account: 'A', exp: nowMs / 1000 })), asked)).toContain('expired');
    expect(whyStale(found(claims({ account: 'A', exp: nowMs / 1000 + 20 })), asked)).toContain('expires');
    expect(whyStale(found(claims({ account: 'A' })), asked)).toBeUndefined();
  });

  it('of the system account is one pair: torn, expired or of another account, both are made anew (CRD-08)', () => {
    const scan = ['$SYS.REQ.ACCOUNT.A.CONNZ'];
    const good = found(claims({ allow: scan }));
    const of = { ...asked, system: 'SYS' };
    expect(whyTorn({ observer: good, evictor: found(claims()) }, of)).toBeUndefined();
    expect(whyTorn({ observer: good, evictor: { kind: 'missing' } }, of)).toBeUndefined();
    expect(whyTorn({ observer: { kind: 'missing' }, evictor: found(claims()) }, of)).toBe('observer.creds: missing');
    expect(whyTorn({ observer: good, evictor: found(claims({ iss: 'OLD' })) }, of)).toBe(
      'evictor.creds: of another account',
    );
    expect(whyTorn({ observer: found(claims({ allow: ['$SYS.REQ.ACCOUNT.B.CONNZ'] })), evictor: good }, of)).toBe(
      'observer.creds: of another account',
    );
    expect(whyTorn({ observer: good, evictor: found(claims({ exp: 1 })) }, of)).toContain('evictor.creds: expired');
  });
});
