/** When a standing credential is signed again: at half of its life. */
import type { UserClaims } from './claims.ts';

/** Milliseconds until half of its life is over; 0: it is due. A credential without an end is never due. */
export function untilHalf({ iat, exp }: Pick<UserClaims, 'iat' | 'exp'>, nowMs: number): number {
  if (exp === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(0, ((iat + exp) / 2) * 1000 - nowMs);
}

/** What is due, and how long until the first of the others is. */
export function duePlan(
  standing: readonly { readonly name: string; readonly claims: Pick<UserClaims, 'iat' | 'exp'> }[],
  nowMs: number,
): { due: string[]; waitMs: number } {
  const waits = standing.map(({ name, claims }) => ({ name, ms: untilHalf(claims, nowMs) }));
  const later = waits.filter(({ ms }) => ms > 0).map(({ ms }) => ms);
  return { due: waits.filter(({ ms }) => ms === 0).map(({ name }) => name), waitMs: Math.min(LONGEST_MS, ...later) };
}
/** A look at least this often: a file may have been replaced by somebody else. */
const LONGEST_MS = 3_600_000;
