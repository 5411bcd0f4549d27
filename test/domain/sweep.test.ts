import { describe, expect, it } from 'vitest';
import { AccountScan, evictionResults, livenessIn, type ScanResult } from '../../src/domain/sweep.ts';

const NOBODY = { urls: undefined, expected: [] };
const numbers = { pageSize: 4, overlap: 1, mostPages: 3 };
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
/** A user JWT as far as anybody reads it. */
const jwtOf = (name: string) => `x.${encode({ sub: 'U', iss: 'A', name, iat: 1, nats: { type: 'user' } })}.y`;
const connection = (cid: number, name = `local.c${cid}`) => ({ cid, authorized_user: `U${cid}`, jwt: jwtOf(name) });
const answer = (id: string, cids: readonly number[], of: { offset?: number; total?: number } = {}) => ({
  server: { id },
  data: { offset: of.offset ?? 0, total: of.total ?? cids.length, connections: cids.map((cid) => connection(cid)) },
});
const scanned = (...pages: readonly (readonly unknown[])[]): ScanResult => {
  const scan = AccountScan.ofPrincipals(numbers, NOBODY);
  for (const page of pages) {
    for (const each of page) scan.take(each);
    if (!scan.turn()) break;
  }
  return scan.result();
};
const why = (result: ScanResult) => (result.kind === 'incomplete' ? result.why : 'complete');

describe('a scan', () => {
  it('is complete when every server has told every page', () => {
    const result = scanned(
      [answer('s1', [1, 2, 3, 4], { total: 5 }), answer('s2', [1])],
      [answer('s1', [4, 5], { offset: 3, total: 5 })],
    );
    expect(why(result)).toBe('complete');
    expect(result.connections.map(({ server, cid }) => `${server}/${cid}`)).toEqual([
      's1/1',
      's1/2',
      's1/3',
      's1/4',
      's2/1',
      's1/5',
    ]);
  });

  it('asks for the next page with an overlap', () => {
    const scan = AccountScan.ofPrincipals(numbers, NOBODY);
    expect(scan.question()).toEqual({ auth: true, subscriptions: false, offset: 0, limit: 4 });
    scan.take(answer('s1', [1, 2, 3, 4], { total: 9 }));
    expect(scan.turn()).toBe(true);
    expect(scan.question()).toMatchObject({ offset: 3, limit: 4 });
  });

  it.each([
    ['nobody answers', [[]], 'no server answered'],
    ['a server owes its second page', [[answer('s1', [1, 2, 3, 4], { total: 5 })], []], 'server s1 still owes a page'],
    [
      'one of two servers owes its second page',
      [
        [answer('s1', [1, 2, 3, 4], { total: 5 }), answer('s2', [1, 2, 3, 4], { total: 5 })],
        [answer('s1', [4, 5], { offset: 3, total: 5 })],
      ],
      'server s2 still owes a page',
    ],
    [
      'a server that was silent answers with a later page',
      [
        [answer('s1', [1, 2, 3, 4], { total: 5 })],
        [answer('s2', [4, 5], { offset: 3, total: 5 }), answer('s1', [4, 5], { offset: 3, total: 5 })],
      ],
      'server s2 answered too late',
    ],
    ['an answer cannot be read', [[{ server: { id: 's1' } }]], 'an answer of the broker cannot be read'],
    ['an answer is no JSON', [[undefined]], 'an answer of the broker cannot be read'],
    ['a page is cut short', [[answer('s1', [], { total: 3 })]], 'server s1 left a page empty'],
    ['another page comes', [[answer('s1', [4], { offset: 3, total: 4 })]], 'server s1 answered for another page'],
    [
      'connections end between two pages',
      [[answer('s1', [1, 2, 3, 4], { total: 9 })], [answer('s1', [6, 7, 8, 9], { offset: 3, total: 7 })]],
      'connections came and went on server s1 between two pages',
    ],
    [
      'there are too many pages',
      [
        [answer('s1', [1, 2, 3, 4], { total: 99 })],
        [answer('s1', [4, 5, 6, 7], { offset: 3, total: 99 })],
        [answer('s1', [7, 8, 9, 10], { offset: 6, total: 99 })],
      ],
      'more than 3 pages of connections',
    ],
    [
      'a connection does not say whose it is',
      [[{ server: { id: 's1' }, data: { offset: 0, total: 1, connections: [{ cid: 7 }] } }]],
      'connection 7 of server s1 does not say whose it is',
    ],
  ])('is incomplete, by name, when %s', (_, pages, reason) => {
    expect(why(scanned(...pages))).toBe(reason);
  });

  it('is complete where the account has no connection at all', () => {
    expect(scanned([answer('s1', [])])).toEqual({ kind: 'complete', connections: [] });
  });
});

describe('what follows from a scan', () => {
  const complete = scanned([answer('s1', [1, 2])]);
  const incomplete = scanned([answer('s1', [1, 2, 3, 4], { total: 9 })], []);

  it('gone is said of a complete scan only, and live of whoever was seen', () => {
    expect(livenessIn(complete, 'local.c1')).toEqual({ liveness: 'live' });
    expect(livenessIn(complete, 'local.c9')).toEqual({ liveness: 'gone' });
    expect(livenessIn(incomplete, 'local.c1')).toEqual({ liveness: 'live' });
    expect(livenessIn(incomplete, 'local.c9')).toEqual({ liveness: 'unknown', note: 'server s1 still owes a page' });
  });

  it('results have the order of the principals, and verified only what is not there in a complete scan', () => {
    const last = complete;
    const results = evictionResults(['local.c9', 'local.c2'], {
      last,
      kicked: ['local.c9', 'local.c9'],
      note: 'it came back',
    });
    expect(results).toEqual([
      { principal: 'local.c9', kicked: 2, remaining: 0, verifiedGone: true, scanComplete: true },
      { principal: 'local.c2', kicked: 0, remaining: 1, verifiedGone: false, scanComplete: true, note: 'it came back' },
    ]);
    expect(evictionResults(['local.c9'], { last: incomplete, kicked: [] })).toEqual([
      {
        principal: 'local.c9',
        kicked: 0,
        remaining: 0,
        verifiedGone: false,
        scanComplete: false,
        note: 'server s1 still owes a page',
      },
    ]);
  });
});
