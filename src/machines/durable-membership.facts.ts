/** What a durable membership hears, and what it keeps. */
import type { Backstop, Grant } from '../domain/backstop.ts';
import type { EffectFailed } from './effects.ts';

/** `at`: wall clock of the fact, milliseconds. */
export type Cause = { reason: string; at: number };

export type LiveFact =
  /** The broker took the subscription. */
  | { type: 'live.bound'; at: number }
  /** The broker refused it, now or after a change of the agent's rights. */
  | { type: 'live.refused'; reason: string }
  | { type: 'live.lost'; reason: string };
export type AskFact =
  | ({ type: 'durable.granted' } & Grant)
  /** The daemon answered, or the channel's class says, that there is no backstop. */
  | ({ type: 'durable.withheld' } & Cause)
  | ({ type: 'durable.unanswered' } & Cause)
  /** The registry has the generation that we know as left. */
  | { type: 'membership.closed'; generation: number };
export type CloseFact =
  | { type: 'leave.closed'; generation: number; dropped: number }
  /** The registry has no open membership of this channel. */
  | { type: 'leave.absent' }
  | { type: 'leave.refused'; reason: string }
  | { type: 'leave.unanswered'; reason: string };
export type PlaneFact = { type: 'plane.ready' } | { type: 'class.durable' } | ({ type: 'class.live' } & Cause);

export type DurableMembershipEvent =
  | LiveFact
  | AskFact
  | CloseFact
  | PlaneFact
  | EffectFailed
  | { type: 'join.requested' }
  | { type: 'leave.requested' }
  | { type: 'connection.lost' }
  /** The connection is back, and the broker answered after it was given the subscriptions. */
  | { type: 'connection.restored' };

export interface DurableMembershipInput {
  readonly channel: string;
}

export interface DurableMembershipContext extends DurableMembershipInput {
  readonly backstop: Backstop;
  /** Answers in a row that did not establish it. */
  readonly failures: number;
  /** Why it is left, where that was not asked for; or why a leave is not answered yet. */
  readonly why: string;
  /** Entries that the last leave withdrew. */
  readonly dropped: number;
}
