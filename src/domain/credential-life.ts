/**
 * When a credential is looked at again: at 75 % of its life. It is asked in ticks no longer than a tenth of that life, so
 * that a timer which is late by as much as its own length still looks before the credential ends.
 */
import type { UserClaims } from './claims.ts';

/** Share of its life after which a credential is read again. */
export const REREAD_AT = 0.75;
const TICK = 0.1;
/** Longest between two looks at the clock: a timer does not count the time that a suspended machine slept. */
const LONGEST_TICK_MS = 600_000;
const SHORTEST_TICK_MS = 50;

type Life = Pick<UserClaims, 'iat' | 'exp'>;

export const isExpired = ({ exp }: Life, nowMs: number): boolean => exp !== undefined && exp * 1000 <= nowMs;

/** `isDue`: it is to be read now. `waitMs`: else how long to wait before the clock is asked again. */
export function nextLook({ iat, exp }: Life, nowMs: number): { isDue: boolean; waitMs: number } {
  if (exp === undefined) return { isDue: false, waitMs: LONGEST_TICK_MS };
  const lifeMs = (exp - iat) * 1000;
  const dueInMs = iat * 1000 + lifeMs * REREAD_AT - nowMs;
  if (dueInMs <= 0) return { isDue: true, waitMs: 0 };
  return { isDue: false, waitMs: Math.max(SHORTEST_TICK_MS, Math.min(dueInMs, lifeMs * TICK, LONGEST_TICK_MS)) };
}
