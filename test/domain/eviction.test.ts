/** The cursor of an eviction: what it keeps, and what it says of a set that has changed. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cursorSchema, holderSet, remainingOf, standingAt, withVerified } from '../../src/domain/eviction.ts';

const link = (digest: string, name: string) => createHash('sha256').update(`${digest}\n${name}`).digest('base64url');
const freeze = { opId: 'op1', freezeToken: '7' };
const names = fc.uniqueArray(
  fc.integer({ min: 0, max: 60 }).map((n) => `m.h${String(n).padStart(2, '0')}`),
  { minLength: 1 },
);

it('whoever is verified is not asked for again, and everybody else is, in whatever order and pieces they were verified', () => {
  const property = fc.property(names, fc.array(names), (set, rounds) => {
    const holders = holderSet(set);
    let standing = standingAt({ ...freeze, holders }, link);
    const gone = new Set<string>();
    for (const round of rounds) {
      const verified = round.filter((name) => remainingOf(standing).includes(name));
      for (const name of verified) gone.add(name);
      standing = withVerified(standing, verified, link);
      // Only the row outlives whoever does it.
      const cursor = cursorSchema.parse(JSON.parse(JSON.stringify(standing.cursor)));
      standing = standingAt({ ...freeze, holders, cursor }, link);
      expect(remainingOf(standing)).toEqual(holders.filter((name) => !gone.has(name)));
    }
  });
  fc.assert(property, { verbose: true });
});

it('of a set that has changed nobody is taken for verified who was not', () => {
  const property = fc.property(names, names, fc.nat(61), (before, after, many) => {
    const was = holderSet(before);
    const gone = was.slice(0, many);
    const { cursor } = withVerified(standingAt({ ...freeze, holders: was }, link), gone, link);
    const holders = holderSet(after);
    const left = remainingOf(standingAt({ ...freeze, holders, cursor }, link));
    expect(holders.filter((name) => !gone.includes(name)).every((name) => left.includes(name))).toBe(true);
  });
  fc.assert(property, { verbose: true });
});

it('a set to which somebody was added behind who is verified goes on there; one that lost somebody before begins again', () => {
  const holders = ['m.a', 'm.b', 'm.c', 'm.d'];
  const { cursor } = withVerified(standingAt({ ...freeze, holders }, link), ['m.a', 'm.b', 'm.d'], link);
  expect(cursor).toMatchObject({ through: 'm.b', count: 2, beyond: ['m.d'] });
  expect(remainingOf(standingAt({ ...freeze, holders: [...holders, 'm.e'], cursor }, link))).toEqual(['m.c', 'm.e']);
  expect(remainingOf(standingAt({ ...freeze, holders: ['m.b', 'm.c', 'm.d'], cursor }, link))).toEqual(['m.b', 'm.c']);
});

it('who is verified behind somebody who stays is kept by name, up to a bound; the row does not grow past it', () => {
  const holders = Array.from({ length: 5_000 }, (_, n) => `m.h${String(n).padStart(4, '0')}`);
  const { cursor } = withVerified(standingAt({ ...freeze, holders }, link), holders.slice(1), link);
  expect(cursor.count).toBe(0);
  expect(cursor.beyond).toHaveLength(1_024);
  const whole = withVerified({ holders, cursor }, holders.slice(0, 1), link);
  expect(whole.cursor).toMatchObject({ count: 1_025, beyond: [] });
});
