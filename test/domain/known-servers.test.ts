import { describe, expect, it } from 'vitest';
import { KnownServers, silenceOf } from '../../src/domain/known-servers.ts';

const heard = (id: string, of: { name?: string; host?: string } = {}) => ({
  id,
  name: of.name ?? id,
  host: of.host ?? '10.0.0.1',
});
const urls = (count: number) => Array.from({ length: count }, (_, n) => `10.0.0.${n + 1}:4222`);
const here = { address: '10.0.0.1:4222', serverId: 'A' };

describe('who has to answer', () => {
  it.each([
    ['nothing is known', undefined, [], [heard('A')], undefined],
    ['no address is told, for there is one server', [], [], [heard('A')], undefined],
    ['each of the addresses has one', urls(2), [], [heard('A'), heard('B')], undefined],
    ['more answer than there are addresses', urls(1), [], [heard('A'), heard('B')], undefined],
    ['an address is told twice', [...urls(1), ...urls(1)], [], [heard('A')], undefined],
    ['one of the addresses is silent', urls(3), [], [heard('A'), heard('B')], 'only 2 of 3 servers answered'],
    [
      'a server has an address for each of its interfaces: they count nothing',
      urls(3),
      [],
      [heard('A', { host: '0.0.0.0' })],
      undefined,
    ],
    ['a server does not say where it listens', urls(3), [], [{ ...heard('A'), host: undefined }], undefined],
    ['one that was heard before is silent', undefined, ['B', 'C'], [heard('A'), heard('B')], 'server C did not answer'],
    [
      'one that was heard before is silent, and addresses count nothing',
      urls(3),
      ['C'],
      [heard('A', { host: '::' })],
      'server C did not answer',
    ],
    ['one that was heard before is no more among the addresses', urls(2), ['C'], [heard('A'), heard('B')], undefined],
    ['one that was heard before is back with another id', undefined, ['C'], [heard('C2', { name: 'C' })], undefined],
  ])('%s', (_, told, before, answered, why) => {
    const expected = before.map((id) => ({ id, name: id }));
    expect(silenceOf({ urls: told, expected, heard: answered })).toBe(why);
  });
});

describe('whom earlier scans have heard', () => {
  const ids = (known: KnownServers, at = here) => known.expect(at).map(({ id }) => id);

  it('is to be heard again, for a minute after it was heard last', () => {
    let nowMs = 0;
    const known = new KnownServers(() => nowMs);
    expect(ids(known)).toEqual([]);
    known.keep([heard('A'), heard('C')]);
    nowMs = 50_000;
    known.keep([heard('A')]);
    nowMs = 60_000;
    expect(ids(known)).toEqual(['A', 'C']);
    nowMs = 60_001;
    expect(ids(known)).toEqual(['A']);
  });

  it('is forgotten when it is back with another id', () => {
    const known = new KnownServers(() => 0);
    known.keep([heard('A', { name: 'one' }), heard('C', { name: 'three' })]);
    known.keep([heard('C2', { name: 'three' })]);
    expect(ids(known)).toEqual(['A', 'C2']);
  });

  it('is forgotten without a name when another one is at its address, and with a name it is not', () => {
    const known = new KnownServers(() => 0);
    expect(ids(known)).toEqual([]);
    known.keep([heard('A'), heard('C')]);
    expect(ids(known, { ...here, serverId: 'A2' })).toEqual(['C']);
    known.keep([heard('A2', { name: 'one' })]);
    expect(ids(known, { ...here, serverId: 'B' })).toEqual(['C', 'A2']);
  });
});
