/** What the chart of a durable membership is made of: its effects, actions, guards and delays by name. */
import { assign, raise, setup } from 'xstate';
import {
  closedAt,
  established,
  type Grant,
  isForward,
  leaveSettled,
  rejoining,
  unestablished,
} from '../domain/backstop.ts';
import { backOff } from '../domain/pacing.ts';
import type {
  AskFact,
  Cause,
  CloseFact,
  DurableMembershipContext,
  DurableMembershipEvent,
  DurableMembershipInput,
  LiveFact,
  PlaneFact,
} from './durable-membership.facts.ts';
import { answerOf, asked, heard, surpriseOf } from './effects.ts';

export type Channel = { channel: string };
export type Known = Channel & { generation: number };
/** `owedLeave`: a leave to be carried out first. */
export type Open = Known & { owedLeave: number | null };

export const membership = setup({
  types: {
    context: {} as DurableMembershipContext,
    events: {} as DurableMembershipEvent,
    input: {} as DurableMembershipInput,
    tags: {} as 'live' | 'durable' | 'left' | 'settled',
  },
  actors: {
    subscribeLive: heard<LiveFact, Channel>('subscribeLive'),
    askDurable: asked<AskFact, Open>('askDurable'),
    closeDurable: asked<CloseFact, Known>('closeDurable'),
    followPlane: heard<PlaneFact, Channel & { urgent: boolean }>('followPlane'),
  },
  actions: {
    told: raise(answerOf<DurableMembershipEvent>()),
    faulted: raise(surpriseOf),
    begin: assign({ failures: 0, why: '', dropped: 0 }),
    keepGrant: assign(({ context }, grant: Grant) => ({ backstop: established(context.backstop, grant), failures: 0 })),
    keepCause: assign(({ context }, cause: Cause) => ({ backstop: unestablished(context.backstop, cause) })),
    countFailure: assign(({ context }) => ({ failures: context.failures + 1 })),
    keepClosed: assign(({ context }, of: { generation: number }) => ({ backstop: closedAt(context.backstop, of) })),
    keepLeaveOwed: assign(({ context }) => ({ backstop: rejoining(context.backstop) })),
    keepLeaveSettled: assign(({ context }) => ({ backstop: leaveSettled(context.backstop) })),
    keepDropped: assign((_, { dropped }: { dropped: number }) => ({ dropped })),
    keepWhy: assign((_, { reason }: { reason: string }) => ({ why: reason })),
  },
  guards: { isForward: ({ context }, grant: Grant) => isForward(context.backstop, grant) },
  delays: {
    askAgain: ({ context }) => backOff(context.failures, 1_000, 30_000),
    subscribeAgain: ({ context }) => backOff(context.failures, 1_000, 30_000),
    verifyEvery: 300_000,
  },
});
