/**
 * Rules of the membership registry: what a request for one row (one lifecycle, one channel) comes to, given the row as it
 * was read. A leave is the hard boundary; a generation that was closed is never opened again.
 */
import type { MemberRow } from './rows.ts';

/** What was read before a request is decided. `class` is the channel's effective class. */
export interface RowReading {
  readonly row: Pick<MemberRow, 'state' | 'generation' | 'joinCursor'> | null;
  /** Whether the member's effective read ACL covers the channel; `unknown` when there is no row to tell from. */
  readonly covered: 'yes' | 'no' | 'unknown' | 'retired';
  readonly class: 'durable' | 'live';
}

export type Ask =
  | { readonly kind: 'join'; readonly ticket: string }
  | { readonly kind: 'leave'; readonly ticket: string; readonly generation: number }
  /** A daemon that starts completes what the one before it left pending. */
  | { readonly kind: 'resume' };

export type MembershipPlan =
  | { kind: 'refuse'; reason: string }
  /** The membership stands as asked. */
  | { kind: 'stands' }
  /** Write a pending row of this generation. */
  | { kind: 'open'; generation: number }
  | { kind: 'catch-up' }
  | { kind: 'close' }
  /** Closed already: what is left of it is withdrawn again, which costs nothing when nothing is. */
  | { kind: 'withdraw' };

export function planMembership(ask: Ask, { row, covered, class: deliveryClass }: RowReading): MembershipPlan {
  if (ask.kind === 'leave') return planLeave(ask.generation, row);
  if (ask.kind === 'resume') return row?.state === 'pending' ? { kind: 'catch-up' } : { kind: 'stands' };
  if (covered === 'retired') return { kind: 'refuse', reason: 'the lifecycle is retired' };
  if (covered === 'unknown') return { kind: 'refuse', reason: 'the read ACL of this lifecycle is unknown' };
  if (covered === 'no') return { kind: 'refuse', reason: 'the read ACL does not cover this channel' };
  if (row?.state === 'active') return { kind: 'stands' };
  if (row?.state === 'pending') return { kind: 'catch-up' };
  if (deliveryClass === 'live') return { kind: 'refuse', reason: 'the channel is live: it has no durable backstop' };
  return { kind: 'open', generation: (row?.generation ?? 0) + 1 };
}

function planLeave(generation: number, row: RowReading['row']): MembershipPlan {
  if (row === null) return { kind: 'refuse', reason: 'there is no membership of this channel' };
  if (generation > row.generation) {
    return { kind: 'refuse', reason: `generation ${generation} does not exist, the last one is ${row.generation}` };
  }
  if (generation < row.generation) {
    return {
      kind: 'refuse',
      reason: `generation ${generation} was closed before, ${row.generation} is the current one`,
    };
  }
  return row.state === 'left' ? { kind: 'withdraw' } : { kind: 'close' };
}

/** What a join is answered. `reason` says why it is not durable. */
export interface JoinAnswer {
  readonly durable: boolean;
  readonly generation?: number;
  readonly joinCursor?: number;
  readonly reason?: string;
}
/** What a leave is answered. `dropped`: entries that were owed and are not any more. */
export interface LeaveAnswer {
  readonly left: boolean;
  readonly dropped: number;
  readonly reason?: string;
}
