/** Gaps between attempts. */

/** Doubles from `firstMs` with every failure, up to `limitMs`. `failures` counts from 1. */
export const backOff = (failures: number, firstMs: number, limitMs: number): number =>
  Math.min(limitMs, firstMs * 2 ** Math.min(30, Math.max(0, failures - 1)));

/** Bounds of gaps that shrink toward a deadline. Milliseconds. */
export interface ShrinkingGaps {
  readonly firstGapMs: number;
  readonly gapLimitMs: number;
  /** Shortest gap, and what the last attempt must have left to be answered. */
  readonly gapFloorMs: number;
}

/**
 * The gap before the next attempt: doubling from the first, but never more than half of what is left, so that attempts come
 * closer together toward the end. Undefined: no attempt would have time to be answered any more. `attempts` counts from 1.
 */
export function gapBefore(attempts: number, leftMs: number, bounds: ShrinkingGaps): number | undefined {
  const { firstGapMs, gapLimitMs, gapFloorMs } = bounds;
  const gap = Math.max(gapFloorMs, Math.min(backOff(attempts, firstGapMs, gapLimitMs), leftMs / 2));
  return leftMs - gap >= gapFloorMs ? gap : undefined;
}
