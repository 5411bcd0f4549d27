import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planLane } from '../../src/domain/lane-plan.ts';

describe('the place of a lane after a restart', () => {
  it('is awaiting with a copy, waiting above the mark, settled at or below it', () => {
    const entries = [3, 4, 5, 6, 7].map((seq) => ({ seq, storedAt: 10 }));
    const plan = { settled: [3, 5], awaiting: [4, 7], waiting: [6], handedTo: 5 };
    expect(planLane(entries, new Set([4, 7]), { handedTo: 5, storedAt: 10 })).toEqual(plan);
  });

  it('is waiting from the first entry on that is newer than the mark and has no copy', () => {
    const entries = [3, 4, 5, 6, 7].map((seq) => ({ seq, storedAt: seq }));
    const plan = { settled: [3], awaiting: [4, 6], waiting: [5, 7], handedTo: 4 };
    expect(planLane(entries, new Set([4, 6]), { handedTo: 9, storedAt: 3 })).toEqual(plan);
  });

  it('puts every entry into exactly one of the three, in order, and never settles what has a copy or lies above the mark', () => {
    const seqs = fc.uniqueArray(fc.integer({ min: 1, max: 60 })).map((all) => all.sort((a, b) => a - b));
    fc.assert(
      fc.property(seqs, fc.uniqueArray(fc.integer({ min: 1, max: 60 })), fc.nat(60), (entries, copied, mark) => {
        const stored = entries.map((seq) => ({ seq, storedAt: seq }));
        const plan = planLane(stored, new Set(copied), { handedTo: mark, storedAt: mark });
        const all = [...plan.settled, ...plan.awaiting, ...plan.waiting].sort((a, b) => a - b);
        expect(all).toEqual(entries);
        expect(plan.settled.every((seq) => seq <= mark && !copied.includes(seq))).toBe(true);
        expect(plan.awaiting.every((seq) => copied.includes(seq))).toBe(true);
        expect(plan.waiting.every((seq) => seq > mark && !copied.includes(seq))).toBe(true);
      }),
    );
  });
});
