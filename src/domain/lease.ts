import type { LeaseRow } from './rows.ts';

/** Rules of the single-flight lease: one daemon serves a space. */

/** Who we are on the lease row: ours iff holder and incarnation both match. */
export interface Claimant {
  readonly holder: string;
  readonly incarnation: string;
}

export const isOurs = (row: Pick<LeaseRow, 'holder' | 'incarnation'>, us: Claimant): boolean =>
  row.holder === us.holder && row.incarnation === us.incarnation;

/** A reading of both clocks. The monotonic one stops in a suspended machine, the wall one may be set: neither is enough. */
export interface Instant {
  readonly monotonicMs: number;
  readonly wallMs: number;
}

/** How old an instant is: the larger of what the two clocks say, so that neither a suspend nor a clock set back hides age. */
export const ageOf = (then: Instant, now: Instant): number =>
  Math.max(now.monotonicMs - then.monotonicMs, now.wallMs - then.wallMs);

/**
 * The local fence: true while an effect may still be sent. It counts from when the last renewal that succeeded was
 * *sent*, so it always ends before the broker lets somebody else have the row.
 */
export const fenceHolds = (renewalSentAt: Instant | undefined, now: Instant, fenceMs: number): boolean =>
  renewalSentAt !== undefined && ageOf(renewalSentAt, now) < fenceMs;

/**
 * How long a stop waits for the row to be given back: what its SIGKILL leaves of the time, the rest of the stop taken off twice.
 * A row that is left behind keeps the next one out for its TTL, which is longer.
 */
export const releaseLimit = ({
  stopGraceMs,
  drainMs,
}: {
  readonly stopGraceMs: number;
  readonly drainMs: number;
}): number => Math.max(drainMs, stopGraceMs - 2 * drainMs);

const seconds = (ms: number): string => `${ms / 1000} s`;

/**
 * Why the bucket cannot hold a lease with these numbers; undefined when it can. A row that never ends would keep everybody
 * out for ever after a crash; one that ends before its holder's own fence would let a second daemon in beside it.
 * @param maxAgeMs How long the bucket keeps a row after its last write; 0: for ever.
 */
export function unfitForLease(
  maxAgeMs: number,
  { leaseTtlMs, leaseFenceMs }: { readonly leaseTtlMs: number; readonly leaseFenceMs: number },
): string | undefined {
  if (maxAgeMs === 0) return 'its rows never end';
  if (maxAgeMs > leaseTtlMs) return `its rows end after ${seconds(maxAgeMs)}, and a lease lives ${seconds(leaseTtlMs)}`;
  if (maxAgeMs <= leaseFenceMs) {
    return `its rows end after ${seconds(maxAgeMs)}, and a holder goes by its lease for ${seconds(leaseFenceMs)}`;
  }
  return undefined;
}
