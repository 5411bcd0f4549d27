/** Gaps between attempts. */

/** Doubles from `firstMs` with every failure, up to `limitMs`. `failures` counts from 1. */
export const backOff = (failures: number, firstMs: number, limitMs: number): number =>
  Math.min(limitMs, firstMs * 2 ** Math.min(30, Math.max(0, failures - 1)));
