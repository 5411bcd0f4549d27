/** What a lane is made of: its context, the effects it asks for, its actions, guards and delays. The chart is beside it. */
import { assign, raise, sendParent, setup } from 'xstate';
import { backOff } from '../domain/pacing.ts';
import { answerOf, asked, surpriseOf } from './effects.ts';
import type {
  AuthorizeFact,
  LaneEnd,
  LaneEvent,
  LaneInput,
  LaneReport,
  MarkFact,
  RecoverFact,
  RemoveFact,
  RetiredFact,
  ReviewFact,
  RowFact,
  Silence,
  StoreFact,
  VerdictFact,
} from './lane.facts.ts';

export interface LaneContext extends LaneInput {
  readonly nudges: number;
  /** Not 0 while there may be entries that were not handed off. */
  readonly waiting: number;
  readonly outstanding: number;
  readonly settled: number;
  readonly refused: number;
  /** Reviews asked for and not yet made. */
  readonly reviews: number;
  /** Meetings without an ACL row, in a row. */
  readonly unknowns: number;
  /** Failures of the broker or of a removal, in a row. */
  readonly failures: number;
}

type Place = { waiting: number; outstanding: number; settled: number; refused: number };
export type Who = { member: string };

export const lane = setup({
  types: { context: {} as LaneContext, events: {} as LaneEvent, input: {} as LaneInput },
  actors: {
    recoverPlace: asked<RecoverFact | RowFact | Silence, Who>('recoverPlace'),
    authorizeBatch: asked<AuthorizeFact | VerdictFact | RowFact | Silence, Who & { waiting: number }>('authorizeBatch'),
    handOff: asked<StoreFact | Silence, Who>('handOff'),
    markHandedOff: asked<MarkFact | Silence, Who>('markHandedOff'),
    removeSettled: asked<RemoveFact | Silence, Who & { settled: number }>('removeSettled'),
    removeEverything: asked<RemoveFact | Silence, Who>('removeEverything'),
    reviewCopies: asked<ReviewFact | RetiredFact | Silence, Who & { reviews: number }>('reviewCopies'),
    markGivenUp: asked<MarkFact | Silence, Who & { attempts: number }>('markGivenUp'),
  },
  actions: {
    told: raise(answerOf<LaneEvent>()),
    faulted: raise(surpriseOf),
    forgetPlace: assign({ waiting: 0, outstanding: 0, settled: 0, refused: 0 }),
    forgetReviews: assign({ reviews: 0 }),
    keepPlace: assign(({ context }, place: Place) => ({
      waiting: context.waiting + place.waiting,
      outstanding: place.outstanding,
      settled: context.settled + place.settled,
      refused: place.refused,
      unknowns: 0,
      failures: 0,
    })),
    countArrived: assign(({ context }) => ({ waiting: context.waiting + 1, nudges: context.nudges + 1 })),
    countConfirmed: assign(({ context }, { count }: { count: number }) => ({
      settled: context.settled + count,
      outstanding: Math.max(0, context.outstanding - count),
      nudges: context.nudges + 1,
    })),
    countReview: assign(({ context }) => ({ reviews: context.reviews + 1, nudges: context.nudges + 1 })),
    countBatch: assign(({ context }, { refuse = 0, met }: { refuse?: number; met: number }) => ({
      settled: context.settled + refuse,
      waiting: Math.max(0, context.waiting - met),
      unknowns: 0,
    })),
    countHandedOff: assign(({ context }, { count, confirmed }: { count: number; confirmed: number }) => ({
      outstanding: context.outstanding + count - confirmed,
      settled: context.settled + confirmed,
      failures: 0,
    })),
    countRemoved: assign(({ context }, { met }: { met: number }) => ({
      settled: Math.max(0, context.settled - met),
      failures: 0,
    })),
    countReviewed: assign(({ context }, review: { copies: number; settled: number; met: number }) => ({
      outstanding: Math.max(0, context.outstanding - review.copies),
      settled: context.settled + review.settled,
      refused: 0,
      reviews: Math.max(0, context.reviews - review.met),
      failures: 0,
    })),
    countUnknown: assign(({ context }) => ({ unknowns: context.unknowns + 1 })),
    countFailure: assign(({ context }) => ({ failures: context.failures + 1 })),
    forgetFailures: assign({ failures: 0 }),
    leaveSettled: assign({ settled: 0, failures: 0 }),
    tellRemovalGivenUp: (_, _facts: Who) => {},
    refuseReviews: (_, _facts: Who) => {},
    tellGivenUp: (_, _facts: Who & { attempts: number }) => {},
    tellRefusedStore: (_, _facts: Who & { code: string; failures: number }) => {},
    reportPlaced: sendParent(({ context }): LaneReport => ({ type: 'lane.placed', member: context.member })),
    reportResting: sendParent(
      ({ context: { member, nudges } }): LaneReport => ({ type: 'lane.placed', member, rests: nudges }),
    ),
    reportQuiet: sendParent(
      ({ context }, { end }: { end: LaneEnd }): LaneReport => ({
        type: 'lane.quiet',
        member: context.member,
        end,
        nudges: context.nudges,
      }),
    ),
  },
  guards: {
    mustReview: ({ context }) => context.refused > 0 || context.reviews > 0,
    hasNews: ({ context }) => context.waiting > 0 || context.reviews > 0,
    hasOutstanding: ({ context }) => context.outstanding > 0,
    hasSettled: ({ context }) => context.settled > 0,
    mustRemove: ({ context: { settled, outstanding, removalBatch } }) =>
      settled >= removalBatch || (settled > 0 && outstanding === 0),
    isUnderDoubt: ({ context }) => context.unknowns > 0,
    isFull: ({ context }) => context.outstanding >= context.window,
    mayHandOff: ({ context }) => context.waiting > 0 && context.outstanding < context.window,
    hasReleased: (_, { release }: { release: number }) => release > 0,
    isOutOfRetries: ({ context }) => context.unknowns > context.retries,
    isOutOfRemovals: ({ context }) => context.failures >= context.retries,
  },
  delays: {
    laneRest: 5_000,
    unknownRetry: 2_000,
    removalRetry: 2_000,
    removalDelay: 1_000,
    backOff: ({ context }) => backOff(context.failures, context.backOffMs, context.backOffLimitMs),
  },
});
