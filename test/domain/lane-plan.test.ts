import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planLane } from '../../src/domain/lane-plan.ts';

describe('the place of a lane after a restart', () => {
  it('is awaiting with a copy, waiting above the mark, settled at or below it', () => {
    expect(planLane([3, 4, 5, 6, 7], new Set([4, 7]), 5)).toEqual({ settled: [3, 5], awaiting: [4, 7], waiting: [6] });
  });

  it('puts every entry into exactly one of the three, in order, and never settles what has a copy or lies above the mark', () => {
    const seqs = fc.uniqueArray(fc.integer({ min: 1, max: 60 })).map((all) => all.sort((a, b) => a - b));
    fc.assert(
      fc.property(seqs, fc.uniqueArray(fc.integer({ min: 1, max: 60 })), fc.nat(60), (entries, copied, mark) => {
        const plan = planLane(entries, new Set(copied), mark);
        const all = [...plan.settled, ...plan.awaiting, ...plan.waiting].sort((a, b) => a - b);
        expect(all).toEqual(entries);
        expect(plan.settled.every((seq) => seq <= mark && !copied.includes(seq))).toBe(true);
        expect(plan.awaiting.every((seq) => copied.includes(seq))).toBe(true);
        expect(plan.waiting.every((seq) => seq > mark && !copied.includes(seq))).toBe(true);
      }),
    );
  });
});
