import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isExpired, nextLook } from '../../src/domain/credential-life.ts';
import { failed, isWanted, landed, unwanted } from '../../src/domain/reload.ts';

const HOUR = 3_600_000;

describe('a credential is looked at again', () => {
  it('between 75 % of its life and its end, whatever its life and however late each tick is (CRD-04)', () => {
    const lives = fc.integer({ min: 20, max: 30 * 24 * 3600 });
    const late = fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true }));
    const property = fc.property(lives, late, fc.nat(), (lifeS, lateness, iat) => {
      const credential = { iat, exp: iat + lifeS };
      let now = iat * 1000;
      for (const share of lateness) {
        const { isDue, waitMs } = nextLook(credential, now);
        if (isDue) return now >= (iat + lifeS * 0.75) * 1000 && now < credential.exp * 1000;
        now += waitMs * (1 + share);
      }
      return false;
    });
    fc.assert(property, { verbose: true });
  });

  it('at once when it is past that, past its end, or ends before it begins', () => {
    expect(nextLook({ iat: 0, exp: 100 }, 75_000)).toEqual({ isDue: true, waitMs: 0 });
    expect(nextLook({ iat: 0, exp: 100 }, 500_000).isDue).toBe(true);
    expect(nextLook({ iat: 100, exp: 50 }, 90_000).isDue).toBe(true);
  });

  it('never, when it never ends, but the clock is asked all the same', () => {
    const { isDue, waitMs } = nextLook({ iat: 0 }, 50 * HOUR);
    expect(isDue).toBe(false);
    expect(waitMs).toBeGreaterThan(0);
  });

  it('in ticks that a timer of the platform can wait, and that are never none', () => {
    expect(nextLook({ iat: 0, exp: 2 ** 40 }, 0).waitMs).toBeLessThan(2 ** 31);
    expect(nextLook({ iat: 0, exp: 1 }, 749).waitMs).toBeGreaterThanOrEqual(50);
  });

  it('and is expired from its last second on', () => {
    expect(isExpired({ iat: 0, exp: 10 }, 9_999)).toBe(false);
    expect(isExpired({ iat: 0, exp: 10 }, 10_000)).toBe(true);
    expect(isExpired({ iat: 0 }, Number.MAX_SAFE_INTEGER)).toBe(false);
  });
});

describe('whoever waits for a reload', () => {
  const a = { ticket: '1', expected: 'A' };
  const b = { ticket: '2', expected: 'B' };

  it('is told that it is adopted when the flight ends with what he expects, also when he came late', () => {
    expect(landed({ asked: [], later: [a] }, 'A')).toEqual({
      answers: [{ ticket: '1', answer: { kind: 'adopted', fingerprint: 'A' } }],
      left: [],
    });
  });

  it('is refused by the flight that he was there for, and waits for the next one when he came later', () => {
    expect(landed({ asked: [a, b], later: [b] }, 'A')).toEqual({
      answers: [
        { ticket: '1', answer: { kind: 'adopted', fingerprint: 'A' } },
        { ticket: '2', answer: { kind: 'other', expected: 'B', found: 'A' } },
      ],
      left: [b],
    });
  });

  it('is told why the flight failed, and what was found when it is not his', () => {
    const answer = { kind: 'unusable', why: 'it is missing' } as const;
    expect(failed({ asked: [a], later: [b] }, answer)).toEqual({ answers: [{ ticket: '1', answer }], left: [b] });
    expect(unwanted({ asked: [a], later: [] }, 'B').answers).toEqual([
      { ticket: '1', answer: { kind: 'other', expected: 'A', found: 'B' } },
    ]);
  });

  it('makes the flight adopt only what somebody of them expects; without them it adopts what it finds', () => {
    expect(isWanted({ asked: [] }, 'A')).toBe(true);
    expect(isWanted({ asked: [a, b] }, 'B')).toBe(true);
    expect(isWanted({ asked: [a] }, 'B')).toBe(false);
  });
});
