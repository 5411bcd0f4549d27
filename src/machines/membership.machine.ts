/**
 * membership: one row, one lifecycle's membership of one channel. Requests are met one at a time, in their order.
 *
 *   M1  the join cursor is taken before the row is written, the row is routed by before the catch-up begins
 *   M2  cursors are taken here; a request carries none
 *   M3  a join is answered `durable` only after the copies up to the writer's position exist
 *   M4  a row that a crash left pending is completed by the next daemon (`resume`)
 *   M5  retention that ate part of the catch-up closes the generation and says so: not durable
 *   M6  a repeated request changes nothing
 *   M7  a leave is answered only after withdrawal and removal
 */
import { assign, raise, sendParent, setup } from 'xstate';
import {
  type Ask,
  type JoinAnswer,
  type LeaveAnswer,
  type MembershipPlan,
  planMembership,
  type RowReading,
} from '../domain/membership.ts';
import { backOff } from '../domain/pacing.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, surpriseOf } from './effects.ts';

export type ReadFact = { type: 'row.read' } & RowReading;
export type WriteFact =
  | { type: 'row.written'; generation: number; joinCursor: number }
  /** Somebody else wrote the row, or it is not known whether the write was stored: read it again. */
  | { type: 'write.conflicted' };
export type CatchUpFact =
  | { type: 'copies.complete'; copies: number }
  /** Posts above the join cursor are gone: the first that is left is `first`. */
  | { type: 'retention.ate'; first: number };
export type WithdrawFact = { type: 'member.withdrawn'; dropped: number };

export type MembershipEvent =
  | ReadFact
  | WriteFact
  | CatchUpFact
  | WithdrawFact
  | EffectFailed
  | { type: 'broker.silent' }
  | { type: 'request.asked'; ask: Ask };

export type MembershipReport =
  | { type: 'request.answered'; ticket: string; answer: JoinAnswer | LeaveAnswer }
  /** Nothing is left to do. `asks` is how many requests were met. */
  | { type: 'membership.quiet'; key: string; asks: number };

export interface MembershipInput {
  /** `<channel>/<owner>.<actor>.<uid>`. */
  readonly key: string;
}

export interface MembershipContext extends MembershipInput {
  readonly asks: readonly Ask[];
  readonly met: number;
  readonly generation: number;
  readonly joinCursor: number;
  readonly failures: number;
}

type Row = { key: string };
const row = ({ context }: { context: MembershipContext }): Row => ({ key: context.key });

const membership = setup({
  types: { context: {} as MembershipContext, events: {} as MembershipEvent, input: {} as MembershipInput },
  actors: {
    readRow: asked<ReadFact | { type: 'broker.silent' }, Row>('readRow'),
    openRow: asked<WriteFact | { type: 'broker.silent' }, Row & { generation: number }>('openRow'),
    catchUp: asked<CatchUpFact | { type: 'broker.silent' }, Row & { generation: number; joinCursor: number }>(
      'catchUp',
    ),
    activateRow: asked<WriteFact | { type: 'broker.silent' }, Row & { generation: number }>('activateRow'),
    closeRow: asked<WriteFact | { type: 'broker.silent' }, Row & { generation: number }>('closeRow'),
    withdraw: asked<WithdrawFact | { type: 'broker.silent' }, Row & { generation: number }>('withdraw'),
  },
  actions: {
    told: raise(answerOf<MembershipEvent>()),
    faulted: raise(surpriseOf),
    queue: assign(({ context }, { ask }: { ask: Ask }) => ({ asks: [...context.asks, ask] })),
    keepRow: assign((_, { generation, joinCursor }: { generation: number; joinCursor: number }) => ({
      generation,
      joinCursor,
      failures: 0,
    })),
    keepReading: assign(({ context }, { row: read }: RowReading) => ({
      generation: read?.generation ?? context.generation,
      joinCursor: read?.joinCursor ?? context.joinCursor,
      failures: 0,
    })),
    answer: sendParent(
      ({ context }, { answer }: { answer: JoinAnswer | LeaveAnswer }): MembershipReport => ({
        type: 'request.answered',
        ticket: ticketOf(context),
        answer,
      }),
    ),
    dropAsk: assign(({ context }) => ({ asks: context.asks.slice(1), met: context.met + 1 })),
    countFailure: assign(({ context }) => ({ failures: context.failures + 1 })),
    reportQuiet: sendParent(
      ({ context }): MembershipReport => ({
        type: 'membership.quiet',
        key: context.key,
        asks: context.met,
      }),
    ),
    tellLostToRetention: (_, _facts: Row & { first: number; joinCursor: number }) => {},
  },
  guards: {
    hasAsk: ({ context }) => context.asks.length > 0,
    plans: ({ context }, { kind, reading }: { kind: MembershipPlan['kind']; reading: RowReading }) =>
      planOf(context, reading).kind === kind,
  },
  delays: { backOff: ({ context }) => backOff(context.failures, 250, 5_000) },
});

const ticketOf = (context: MembershipContext): string => {
  const ask = context.asks[0];
  return ask === undefined || ask.kind === 'resume' ? '' : ask.ticket;
};
const planOf = (context: MembershipContext, reading: RowReading): MembershipPlan =>
  planMembership(context.asks[0] ?? { kind: 'resume' }, reading);

const generation = ({ context }: { context: MembershipContext }) => ({
  key: context.key,
  generation: context.generation,
});
const plans = (kind: MembershipPlan['kind']) =>
  ({ type: 'plans', params: ({ event }: { event: ReadFact }) => ({ kind, reading: event }) }) as const;
const keeps = { type: 'keepReading', params: fact } as const;
const trouble = {
  'broker.silent': { target: '#membership.Resting', actions: 'countFailure' },
  'effect.failed': { target: '#membership.Resting', actions: 'countFailure' },
} as const;

export const membershipMachine = membership.createMachine({
  id: 'membership',
  context: ({ input }) => ({ ...input, asks: [], met: 0, generation: 0, joinCursor: 0, failures: 0 }),
  initial: 'Settled',
  on: {
    ...deafToLateFailures,
    'request.asked': { actions: { type: 'queue', params: fact } },
  },
  states: {
    Settled: {
      tags: 'serving',
      entry: 'reportQuiet',
      always: { guard: 'hasAsk', target: 'Reading' },
    },

    Reading: {
      invoke: { id: 'readRow', src: 'readRow', input: row, ...ends },
      on: {
        'row.read': [
          { guard: plans('open'), target: 'Opening', actions: keeps },
          { guard: plans('catch-up'), target: 'CatchingUp', actions: keeps },
          { guard: plans('stands'), target: 'Durable', actions: keeps },
          { guard: plans('close'), target: 'Closing', actions: keeps },
          { guard: plans('withdraw'), target: 'Withdrawing', actions: keeps },
          {
            target: 'Answered',
            actions: {
              type: 'answer',
              params: ({ context, event }) => ({ answer: refusal(context, planOf(context, event)) }),
            },
          },
        ],
        ...trouble,
      },
    },

    Opening: {
      invoke: {
        id: 'openRow',
        src: 'openRow',
        input: ({ context }) => ({ key: context.key, generation: context.generation + 1 }),
        ...ends,
      },
      on: {
        'row.written': { target: 'CatchingUp', actions: { type: 'keepRow', params: fact } },
        'write.conflicted': 'Reading',
        ...trouble,
      },
    },

    CatchingUp: {
      invoke: {
        id: 'catchUp',
        src: 'catchUp',
        input: ({ context }) => ({ ...generation({ context }), joinCursor: context.joinCursor }),
        ...ends,
      },
      on: {
        'copies.complete': 'Activating',
        'retention.ate': {
          target: 'Abandoning',
          actions: {
            type: 'tellLostToRetention',
            params: ({ context, event }) => ({
              key: context.key,
              first: event.first,
              joinCursor: context.joinCursor,
            }),
          },
        },
        ...trouble,
      },
    },

    Activating: {
      invoke: { id: 'activateRow', src: 'activateRow', input: generation, ...ends },
      on: { 'row.written': 'Durable', 'write.conflicted': 'Reading', ...trouble },
    },

    Durable: {
      always: {
        target: 'Answered',
        actions: {
          type: 'answer',
          params: ({ context }) => ({
            answer: { durable: true, generation: context.generation, joinCursor: context.joinCursor },
          }),
        },
      },
    },

    /** The generation cannot be made whole, so it is closed, and the asker is told why it is not durable. */
    Abandoning: {
      invoke: { id: 'closeRow', src: 'closeRow', input: generation, ...ends },
      on: {
        'row.written': {
          target: 'Answered',
          actions: {
            type: 'answer',
            params: {
              answer: { durable: false, reason: 'retention discarded posts before they were copied; join again' },
            },
          },
        },
        'write.conflicted': 'Reading',
        ...trouble,
      },
    },

    Closing: {
      invoke: { id: 'closeRow', src: 'closeRow', input: generation, ...ends },
      on: { 'row.written': 'Withdrawing', 'write.conflicted': 'Reading', ...trouble },
    },

    Withdrawing: {
      invoke: { id: 'withdraw', src: 'withdraw', input: generation, ...ends },
      on: {
        'member.withdrawn': {
          target: 'Answered',
          actions: {
            type: 'answer',
            params: ({ event }) => ({ answer: { left: true, dropped: event.dropped } }),
          },
        },
        ...trouble,
      },
    },

    Answered: { entry: 'dropAsk', always: [{ guard: 'hasAsk', target: 'Reading' }, { target: 'Settled' }] },

    /** The broker is silent or refuses: nothing is answered, the row is read again. */
    Resting: { after: { backOff: 'Reading' } },
  },
});

const refusal = (context: MembershipContext, plan: MembershipPlan): JoinAnswer | LeaveAnswer => {
  const reason = plan.kind === 'refuse' ? plan.reason : '';
  return context.asks[0]?.kind === 'leave' ? { left: false, dropped: 0, reason } : { durable: false, reason };
};
