/**
 * fanout: copies each post to everybody it is owed to, a round of waiting posts at a time.
 *
 *   F1  posts are settled only after every copy of the round is stored; a round met again finds the copies that exist
 *   F5  one bad post or one full member never holds up another: rounds that the broker refuses are stored copy by copy
 *   F6  a post whose entry would not fit the payload limit ends in one named refusal
 *   F7  posts that retention took before they were copied are told as a range
 *
 * A delivery may go astray: into the socket of a daemon that is paused, or of a connection that is dead. When nothing else is
 * to be done, it is looked whether the broker counts posts as delivered that nobody here has (F1).
 *
 * Posts stay with the service until their round is settled, so a round that was cut short is simply routed again.
 */
import { assign, raise, sendParent, setup } from 'xstate';
import { backOff } from '../domain/pacing.ts';
import {
  answerOf,
  asked,
  deafToLateFailures,
  type EffectFailed,
  ends,
  fact,
  heard,
  reasonOf,
  surpriseOf,
} from './effects.ts';

export type OpenFact =
  | { type: 'posts.opened'; position: number }
  | { type: 'posts.refused'; code: string }
  | { type: 'broker.silent' };
export type PostFact =
  | { type: 'posts.waiting'; count: number }
  /** Sequences that were never delivered, because retention discarded them first. */
  | { type: 'posts.skipped'; from: number; to: number }
  /** The pull ended, or its consumer is gone. */
  | { type: 'posts.lost'; why: string };
export type RouteFact =
  | { type: 'round.routed'; posts: number; copies: number; poison: number; oversize: number }
  | { type: 'round.empty'; met: number }
  | { type: 'broker.silent' };
export type StoreFact =
  | { type: 'copies.stored' }
  /** One id of the batch was stored before, so nothing of the batch was. */
  | { type: 'copies.duplicated' }
  | { type: 'store.refused'; code: string }
  | { type: 'broker.silent' };
export type AuditFact = { type: 'posts.audited' } | { type: 'broker.silent' };
/** `members` got new entries. */
export type SettleFact = { type: 'posts.settled'; posts: number; members: string[] };

export type FanoutEvent = OpenFact | AuditFact | PostFact | RouteFact | StoreFact | SettleFact | EffectFailed;
export type FanoutReport = { type: 'fanout.opened'; position: number } | { type: 'members.owed'; members: string[] };

export interface FanoutContext {
  /** Posts told to be waiting and not yet looked for. */
  readonly waiting: number;
  readonly failures: number;
  readonly posts: number;
  readonly copies: number;
}

const fanout = setup({
  types: { context: {} as FanoutContext, events: {} as FanoutEvent },
  actors: {
    openPosts: asked<OpenFact, undefined>('openPosts'),
    hearPosts: heard<PostFact, undefined>('hearPosts'),
    auditPosts: asked<AuditFact, undefined>('auditPosts'),
    routeRound: asked<RouteFact, { waiting: number }>('routeRound'),
    storeRound: asked<StoreFact, undefined>('storeRound'),
    storeEach: asked<StoreFact, undefined>('storeEach'),
    settleRound: asked<SettleFact, undefined>('settleRound'),
  },
  actions: {
    told: raise(answerOf<FanoutEvent>()),
    faulted: raise(surpriseOf),
    lost: raise(({ event }): FanoutEvent => ({ type: 'posts.lost', why: reasonOf({ event }) })),
    countWaiting: assign(({ context }, { count }: { count: number }) => ({ waiting: context.waiting + count })),
    countMet: assign(({ context }, { met }: { met: number }) => ({ waiting: Math.max(0, context.waiting - met) })),
    countSettled: assign(({ context }, { posts, members }: { posts: number; members: readonly string[] }) => ({
      posts: context.posts + posts,
      copies: context.copies + members.length,
      failures: 0,
    })),
    countFailure: assign(({ context }) => ({ failures: context.failures + 1 })),
    report: sendParent((_, report: FanoutReport) => report),
    tellSkipped: (_, _range: { from: number; to: number }) => {},
    tellHolding: (_, _facts: { why: string; failures: number }) => {},
    tellReopening: (_, _facts: { why: string }) => {},
  },
  guards: {
    hasWaiting: ({ context }) => context.waiting > 0,
    hasCopies: (_, { copies }: { copies: number }) => copies > 0,
    isOwed: (_, { members }: { members: readonly string[] }) => members.length > 0,
  },
  delays: { auditEvery: 5_000, backOff: ({ context }) => backOff(context.failures, 250, 30_000) },
});

const held = (why: string) =>
  ({
    target: '#fanout.Pulling.Holding',
    actions: [
      'countFailure',
      {
        type: 'tellHolding',
        params: ({ context }: { context: FanoutContext }) => ({ why, failures: context.failures }),
      },
    ],
  }) as const;
const refused = {
  target: '#fanout.Pulling.Holding',
  actions: [
    'countFailure',
    {
      type: 'tellHolding',
      params: ({ context, event }: { context: FanoutContext; event: { code: string } }) => ({
        why: event.code,
        failures: context.failures,
      }),
    },
  ],
} as const;

export const fanoutMachine = fanout.createMachine({
  id: 'fanout',
  context: { waiting: 0, failures: 0, posts: 0, copies: 0 },
  initial: 'Opening',
  on: { ...deafToLateFailures },
  states: {
    Opening: {
      invoke: { id: 'openPosts', src: 'openPosts', ...ends },
      on: {
        'posts.opened': {
          target: 'Pulling',
          actions: {
            type: 'report',
            params: ({ event }) => ({ type: 'fanout.opened', position: event.position }),
          },
        },
        'posts.refused': { target: 'Reopening', actions: 'countFailure' },
        'broker.silent': { target: 'Reopening', actions: 'countFailure' },
        'effect.failed': { target: 'Reopening', actions: 'countFailure' },
      },
    },

    Pulling: {
      invoke: { id: 'hearPosts', src: 'hearPosts', onError: { actions: 'lost' } },
      initial: 'Idle',
      states: {
        Idle: {
          tags: 'serving',
          always: { guard: 'hasWaiting', target: 'Routing' },
          after: { auditEvery: 'Auditing' },
        },
        Auditing: {
          tags: 'serving',
          invoke: { id: 'auditPosts', src: 'auditPosts', ...ends },
          on: { 'posts.audited': 'Idle', 'broker.silent': 'Idle', 'effect.failed': 'Idle' },
        },
        Routing: {
          tags: 'serving',
          invoke: {
            id: 'routeRound',
            src: 'routeRound',
            input: ({ context }) => ({ waiting: context.waiting }),
            ...ends,
          },
          on: {
            'round.routed': [{ guard: { type: 'hasCopies', params: fact }, target: 'Copying' }, { target: 'Settling' }],
            'round.empty': { target: 'Idle', actions: { type: 'countMet', params: fact } },
            'broker.silent': held('the broker did not answer'),
            'effect.failed': held('routing failed'),
          },
        },
        Copying: {
          tags: 'serving',
          invoke: { id: 'storeRound', src: 'storeRound', ...ends },
          on: {
            'copies.stored': 'Settling',
            'copies.duplicated': 'CopyingEach',
            'store.refused': 'CopyingEach',
            'broker.silent': held('the broker did not answer'),
            'effect.failed': held('storing failed'),
          },
        },
        CopyingEach: {
          tags: 'serving',
          invoke: { id: 'storeEach', src: 'storeEach', ...ends },
          on: {
            'copies.stored': 'Settling',
            'store.refused': refused,
            'broker.silent': held('the broker did not answer'),
            'effect.failed': held('storing failed'),
          },
        },
        Settling: {
          tags: 'serving',
          invoke: { id: 'settleRound', src: 'settleRound', ...ends },
          on: {
            'posts.settled': [
              {
                guard: { type: 'isOwed', params: fact },
                target: 'Routing',
                actions: [
                  { type: 'countSettled', params: fact },
                  {
                    type: 'report',
                    params: ({ event }) => ({ type: 'members.owed', members: event.members }),
                  },
                ],
              },
              { target: 'Routing', actions: { type: 'countSettled', params: fact } },
            ],
            'effect.failed': held('settling failed'),
          },
        },
        /** The posts of the round stay owed and unacknowledged; the round is routed again. */
        Holding: { after: { backOff: 'Routing' } },
      },
      on: {
        'posts.waiting': { actions: { type: 'countWaiting', params: fact } },
        'posts.skipped': { actions: { type: 'tellSkipped', params: fact } },
        'posts.lost': {
          target: 'Reopening',
          actions: ['countFailure', { type: 'tellReopening', params: fact }],
        },
      },
    },

    Reopening: { after: { backOff: 'Opening' } },
  },
});
