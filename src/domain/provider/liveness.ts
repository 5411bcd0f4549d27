/**
 * Liveness (rule 8). A connection lives by its accepted frames, never by its socket being open. What the database says is
 * a projection of that, written seldom; an age below zero (a clock that jumped) is not fresh.
 */
import type { ProviderLimits } from './limits.ts';

/** What a provider last reported, as it stands in the database. */
export interface Projection {
  /** Milliseconds. */
  readonly at: number;
  readonly load: number | null;
  readonly handlers: number;
  readonly active: number;
}

/** Whether an accepted heartbeat is worth a write: seldom, or when load or handlers change. */
export const isProjectionDue = (
  last: Projection | null,
  next: Projection,
  { projectMs }: Pick<ProviderLimits, 'projectMs'>,
): boolean =>
  last === null ||
  next.at - last.at >= projectMs ||
  next.at < last.at ||
  next.load !== last.load ||
  next.handlers !== last.handlers;

/**
 * Whether a bound that began at `since` is over at `at`. A beginning that lies as far in the future (a clock that went
 * back) is over too: no clock makes a bound endless.
 */
export const hasElapsed = (since: number, at: number, boundMs: number): boolean => Math.abs(at - since) >= boundMs;

/** Past this age a bound connection is no longer believed, and nothing that is written to it counts. */
export const isStale = (lastSeen: number, now: number, { attachMs }: Pick<ProviderLimits, 'attachMs'>): boolean =>
  now - lastSeen >= attachMs;
