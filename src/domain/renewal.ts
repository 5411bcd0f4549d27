/**
 * When a standing credential is signed again: at half of its life. Like the daemon's own re-reading it is looked at in ticks of
 * at most a tenth of its life, also while renewals fail: however late each tick is by up to its own length, one falls between
 * 75 % of the life and its end.
 */
import type { UserClaims } from './claims.ts';
import { backOff } from './pacing.ts';

const TICK = 0.1;
/** A look at least this often: a file may have been replaced by somebody else. */
const LONGEST_MS = 3_600_000;
const SHORTEST_MS = 1_000;
/** The first rest after a pass that was not seen to have helped. */
const FIRST_REST_MS = 2_000;

type Life = Pick<UserClaims, 'iat' | 'exp'>;

/** Milliseconds until half of its life is over; 0: it is due. A credential without an end is never due. */
export function untilHalf({ iat, exp }: Life, nowMs: number): number {
  if (exp === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(0, ((iat + exp) / 2) * 1000 - nowMs);
}

const tickOf = ({ iat, exp }: Life): number =>
  exp === undefined ? LONGEST_MS : Math.max(SHORTEST_MS, (exp - iat) * 1000 * TICK);

/** What is due, and the longest that may pass until the next look, whatever comes of this one. */
export function duePlan(
  standing: readonly { readonly name: string; readonly claims: Life }[],
  nowMs: number,
): { due: string[]; waitMs: number } {
  const waits = standing.map(({ name, claims }) => ({ name, ms: untilHalf(claims, nowMs), tick: tickOf(claims) }));
  const looks = waits.map(({ ms, tick }) => (ms > 0 ? Math.min(ms, tick) : tick));
  return {
    due: waits.filter(({ ms }) => ms === 0).map(({ name }) => name),
    waitMs: Math.max(SHORTEST_MS, Math.min(LONGEST_MS, ...looks)),
  };
}

/** The rest after the `passes`-th pass since nothing was due: longer each time, never past the next look. */
export const restAfter = (of: { passes: number; limitMs: number; waitMs: number }): number =>
  Math.min(backOff(of.passes, FIRST_REST_MS, of.limitMs), of.waitMs);
