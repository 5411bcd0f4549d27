/**
 * How long a link waits before it dials again. A peer that refused a registration may say for how long: as a key of its
 * own, or as a fixed suffix of the message to those that did not ask for the key. What makes no sense is not believed.
 */
import { backOff } from '../pacing.ts';
import type { LinkNumbers } from './link-numbers.ts';

const SUFFIX = /\(retry_after_ms=(\d{1,16})\)$/;

/** The guidance of an error frame, or null where it has none. Whether it makes sense is asked by `retryWait`. */
export function guidanceOf(frame: { readonly retry_after_ms?: unknown; readonly message: string }): number | null {
  if (typeof frame.retry_after_ms === 'number') return frame.retry_after_ms;
  const suffix = SUFFIX.exec(frame.message)?.[1];
  return suffix === undefined ? null : Number(suffix);
}

export interface Retry {
  /** Failures in a row, from 1. */
  readonly failures: number;
  readonly guidanceMs: number | null;
  /** A random number from 0 to below 1. */
  readonly dice: number;
}

type RetryNumbers = Pick<LinkNumbers, 'backOffMs' | 'backOffLimitMs' | 'jitterMs' | 'guidanceMostMs'>;

/** Milliseconds: the guidance and a little more, or 1, 2, 4 … 30 s, each between its half and its whole. */
export function retryWait({ failures, guidanceMs, dice }: Retry, numbers: RetryNumbers): number {
  if (guidanceMs !== null && guidanceMs >= 1 && guidanceMs <= numbers.guidanceMostMs)
    return Math.round(guidanceMs + dice * numbers.jitterMs);
  return Math.round(backOff(failures, numbers.backOffMs, numbers.backOffLimitMs) * (0.5 + dice / 2));
}
