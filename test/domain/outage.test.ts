import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ageOf, fenceHolds } from '../../src/domain/lease.ts';
import { backstopLeft, unionWithin, windowLeft } from '../../src/domain/outage.ts';
import { backOff } from '../../src/domain/pacing.ts';

describe('an outage', () => {
  it.each([
    [{ elapsedMs: 14_999, stalledMs: 0 }, 1],
    [{ elapsedMs: 15_000, stalledMs: 0 }, 0],
    [{ elapsedMs: 20_000, stalledMs: 6_000 }, 1_000],
    [{ elapsedMs: 20_000, stalledMs: 99_000 }, 15_000],
  ])('of %o leaves %i ms of a window of 15 s: stalls of our own do not count (B2)', (outage, left) => {
    expect(windowLeft(outage, 15_000)).toBe(left);
  });
  it('leaves of the backstop what the clock says, whatever stalled (B3)', () => {
    expect(backstopLeft({ elapsedMs: 60_000, stalledMs: 59_000 }, 60_000)).toBe(0);
  });
});

describe('the stalls of an outage', () => {
  const spans = fc.array(
    fc.tuple(fc.nat(100), fc.nat(30)).map(([from, length]) => ({ from, to: from + length })),
    { maxLength: 8 },
  );
  it('are the union of the spans, inside the outage, counted once', () => {
    fc.assert(
      fc.property(spans, fc.nat(60), fc.nat(60), (all, from, length) => {
        const to = from + length;
        let expected = 0;
        for (let ms = from; ms < to; ms++) if (all.some((span) => span.from <= ms && ms < span.to)) expected++;
        return unionWithin(all, from, to) === expected;
      }),
    );
  });
  it('never exceed it', () => {
    fc.assert(
      fc.property(
        spans,
        fc.nat(60),
        fc.nat(60),
        (all, from, length) => unionWithin(all, from, from + length) <= length,
      ),
    );
  });
});

describe('back-off', () => {
  it('doubles from the first up to the limit, and has no overflow', () => {
    expect([1, 2, 3, 4, 8].map((failures) => backOff(failures, 250, 30_000))).toEqual([250, 500, 1_000, 2_000, 30_000]);
    expect([0, -3].map((failures) => backOff(failures, 250, 30_000))).toEqual([250, 250]);
    expect(backOff(1e9, 250, 30_000)).toBe(30_000);
  });
});

describe('the local fence', () => {
  const at = (monotonicMs: number, wallMs = monotonicMs) => ({ monotonicMs, wallMs });
  it('holds until its time since the last renewal was sent, by the larger of both clocks (L4)', () => {
    expect(fenceHolds(undefined, at(0), 25_000)).toBe(false);
    expect(fenceHolds(at(0), at(24_999), 25_000)).toBe(true);
    expect(fenceHolds(at(0), at(25_000), 25_000)).toBe(false);
    // A suspended machine: the monotonic clock stood still.
    expect(fenceHolds(at(0), at(5, 60_000), 25_000)).toBe(false);
    // The wall clock was set back.
    expect(fenceHolds(at(0), at(60_000, -5_000), 25_000)).toBe(false);
    expect(ageOf(at(10, 10), at(20, 5))).toBe(10);
  });
});
