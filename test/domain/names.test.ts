import { describe, expect, it } from 'vitest';
import {
  covers,
  memberKey,
  parseChannel,
  parsePattern,
  parsePrincipal,
  parseSpace,
  readMember,
  spaceKey,
} from '../../src/domain/names.ts';

describe('names', () => {
  it.each(['', '.', 'a.', '.a', 'a..b', 'a b', 'a.*', 'a.>', 'ü', 'a'.repeat(4097)])(
    'refuses the channel %j, by name',
    (input) => {
      expect(() => parseChannel(input)).toThrow(`"${input}"`);
    },
  );

  it('takes a channel of 4096 characters and none of 4097', () => {
    expect(parseChannel('a'.repeat(4096))).toHaveLength(4096);
    expect(() => parseChannel('a'.repeat(4097))).toThrow();
  });

  it('tells a wildcard from a slip of the pen', () => {
    expect(() => parseChannel('team.*')).toThrow('one concrete channel is due');
    expect(() => parseChannel('team..x')).toThrow('is not a channel');
  });

  it.each(['>.a', 'a.>.b', 'a*', '**', '', 'a..b'])('refuses the pattern %j', (input) => {
    expect(() => parsePattern(input)).toThrow(`"${input}"`);
  });

  it.each([
    ['a.>', 'a', false],
    ['a.>', 'a.b', true],
    ['a.>', 'a.b.c', true],
    ['a.*', 'a.b', true],
    ['a.*', 'a.b.c', false],
    ['*', 'a', true],
    ['>', 'a', true],
    ['a', 'a', true],
    ['a', 'a.b', false],
    ['a.b', 'a', false],
  ])('pattern %s covers channel %s: %s', (pattern, channel, expected) => {
    expect(covers(pattern, channel)).toBe(expected);
  });

  it.each(['alice', 'local.', '.alice', 'local.al-ice', 'a.b.c', `local.${'x'.repeat(65)}`])(
    'refuses the principal %j',
    (input) => {
      expect(() => parsePrincipal(input)).toThrow('is not a principal');
    },
  );

  it('reads a member key back as it was written', () => {
    const member = { owner: 'local', actor: 'Alice_1', uid: 'abcdefghijklmnopqrstuvwxyz' };
    expect(readMember(memberKey(member))).toEqual(member);
    expect(readMember('local.alice')).toBeUndefined();
    expect(readMember('local.alice.SHORT')).toBeUndefined();
  });

  it('names a space in files by the hex of its bytes', () => {
    expect(spaceKey(parseSpace('main'))).toBe('6d61696e');
    expect(() => parseSpace('a b')).toThrow('"a b"');
  });
});
