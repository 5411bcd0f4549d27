import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inInterval, isOpen } from '../../src/domain/interval.ts';

describe('the membership interval', () => {
  it.each([
    [9, 'below the join cursor', false],
    [10, 'at the join cursor', false],
    [11, 'right above it', true],
    [20, 'at the leave cursor', true],
    [21, 'right above that', false],
  ])('decides on post %i (%s): %s', (seq, _where, inside) => {
    expect(inInterval({ joinCursor: 10, leaveCursor: 20 }, seq)).toBe(inside);
  });

  it('has no end without a leave cursor, and nothing in it when both cursors are the same', () => {
    expect(inInterval({ joinCursor: 10 }, Number.MAX_SAFE_INTEGER)).toBe(true);
    fc.assert(
      fc.property(fc.nat(), fc.nat(), (cursor, seq) => !inInterval({ joinCursor: cursor, leaveCursor: cursor }, seq)),
    );
  });

  it('lets a leave and the join after it share no post and lose none', () => {
    fc.assert(
      fc.property(fc.nat(1_000), fc.nat(1_000), fc.nat(1_000), (join, length, seq) => {
        const leave = join + length;
        const before = inInterval({ joinCursor: join, leaveCursor: leave }, seq);
        const after = inInterval({ joinCursor: leave }, seq);
        return !(before && after) && (before || after) === seq > join;
      }),
    );
  });

  it.each(['pending', 'active'] as const)('is open while the row is %s', (state) => {
    expect(isOpen({ state })).toBe(true);
  });
  it('is closed once its member left', () => {
    expect(isOpen({ state: 'left' })).toBe(false);
  });
});
