/**
 * lane: everything that one member is owed, from pending entry to confirmed copy. One lane a member; lanes share nothing.
 *
 *   R1  what is pending is asked of the store: a new lane recovers its place before it does anything else
 *   R2  an entry is removed only when its copy was confirmed, refused, withdrawn, or its lifecycle is retired
 *   R3  a batch is authorized right before its hand-off, and handed-off copies are reviewed before new ones are made
 *   R4  no batch is chosen while the window is full
 *   R6  a retired lifecycle loses everything it has; a removal that fails is tried again, ten times, and then left
 *   R7  no ACL row: ten spaced retries, then given up and kept
 *
 * Nudges that arrive while the lane is busy are counted and met in `Deciding`. An effect echoes how many it was asked to
 * meet, and exactly those are taken off again: what came meanwhile is still there. Bodies stay in the services.
 */
import { assign, raise, sendParent, setup } from 'xstate';
import { backOff } from '../domain/pacing.ts';
import { answerOf, asked, ends, surpriseOf } from './effects.ts';
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

interface LaneContext extends LaneInput {
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
type Who = { member: string };
const who = ({ context }: { context: LaneContext }): Who => ({ member: context.member });

const lane = setup({
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
    leaveSettled: assign({ settled: 0, failures: 0 }),
    tellRemovalGivenUp: (_, _facts: Who) => {},
    tellGivenUp: (_, _facts: Who & { attempts: number }) => {},
    tellRefusedStore: (_, _facts: Who & { code: string; failures: number }) => {},
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
    hasOutstanding: ({ context }) => context.outstanding > 0,
    hasSettled: ({ context }) => context.settled > 0,
    isUnderDoubt: ({ context }) => context.unknowns > 0,
    mayHandOff: ({ context }) => context.waiting > 0 && context.outstanding < context.window,
    hasReleased: (_, { release }: { release: number }) => release > 0,
    isOutOfRetries: ({ context }) => context.unknowns > context.retries,
    isOutOfRemovals: ({ context }) => context.failures >= context.retries,
  },
  delays: {
    laneRest: 5_000,
    unknownRetry: 2_000,
    removalRetry: 2_000,
    backOff: ({ context }) => backOff(context.failures, context.backOffMs, context.backOffLimitMs),
  },
});

const fact = <E>({ event }: { event: E }): E => event;
const retired = { 'lifecycle.retired': '#lane.Retired' } as const;
const unknown = { 'lifecycle.unknown': { target: '#lane.Unknown', actions: 'countUnknown' } } as const;
const silent = {
  'broker.silent': { target: '#lane.BackingOff', actions: 'countFailure' },
  'effect.failed': { target: '#lane.BackingOff', actions: 'countFailure' },
} as const;

/** Where a nudge leads from a state that has nothing to do. */
const nudgedTo = <T extends string>(target: T) =>
  ({
    'entries.arrived': { target, actions: 'countArrived' },
    'copies.confirmed': { target, actions: { type: 'countConfirmed', params: fact } },
    'review.asked': { target, actions: 'countReview' },
    'row.changed': { target, actions: 'countReview' },
  }) as const;
const resting = { laneRest: { actions: { type: 'reportQuiet', params: { end: 'rested' } } } } as const;

export const laneMachine = lane.createMachine({
  id: 'lane',
  context: ({ input }) => ({
    ...input,
    nudges: 0,
    waiting: 0,
    outstanding: 0,
    settled: 0,
    refused: 0,
    reviews: 0,
    unknowns: 0,
    failures: 0,
  }),
  initial: 'Recovering',
  on: {
    'entries.arrived': { actions: 'countArrived' },
    'copies.confirmed': { actions: { type: 'countConfirmed', params: fact } },
    'review.asked': { actions: 'countReview' },
    'row.changed': { actions: 'countReview' },
  },
  states: {
    Recovering: {
      entry: 'forgetPlace',
      invoke: { id: 'recoverPlace', src: 'recoverPlace', input: who, ...ends },
      on: {
        'place.recovered': { target: 'Deciding', actions: { type: 'keepPlace', params: fact } },
        'verdict.stands': 'GivenUp',
        ...retired,
        ...unknown,
        ...silent,
      },
    },

    Deciding: {
      always: [
        { guard: 'mustReview', target: 'Withdrawing' },
        { guard: 'hasSettled', target: 'Removing' },
        { guard: 'isUnderDoubt', target: 'Unknown' },
        { guard: 'mayHandOff', target: 'Authorizing' },
        { guard: 'hasOutstanding', target: 'AwaitingConfirm' },
        { target: 'Idle' },
      ],
    },

    Authorizing: {
      invoke: {
        id: 'authorizeBatch',
        src: 'authorizeBatch',
        input: ({ context }) => ({ member: context.member, waiting: context.waiting }),
        ...ends,
      },
      on: {
        'batch.authorized': [
          {
            guard: { type: 'hasReleased', params: fact },
            target: 'HandingOff',
            actions: { type: 'countBatch', params: fact },
          },
          { target: 'MarkingHandedOff', actions: { type: 'countBatch', params: fact } },
        ],
        'batch.empty': { target: 'Deciding', actions: { type: 'countBatch', params: fact } },
        'verdict.stands': 'GivenUp',
        ...retired,
        ...unknown,
        ...silent,
      },
    },

    HandingOff: {
      invoke: { id: 'handOff', src: 'handOff', input: who, ...ends },
      on: {
        'copies.stored': { target: 'MarkingHandedOff', actions: { type: 'countHandedOff', params: fact } },
        'store.refused': {
          target: 'BackingOff',
          actions: [
            'countFailure',
            {
              type: 'tellRefusedStore',
              params: ({ context, event }) => ({
                member: context.member,
                code: event.code,
                failures: context.failures,
              }),
            },
          ],
        },
        ...silent,
      },
    },

    MarkingHandedOff: {
      invoke: { id: 'markHandedOff', src: 'markHandedOff', input: who, ...ends },
      on: { 'mark.stored': 'Deciding', ...silent },
    },

    AwaitingConfirm: { on: nudgedTo('#lane.Deciding'), after: resting },
    Idle: { on: nudgedTo('#lane.Deciding'), after: resting },

    Removing: {
      initial: 'Asking',
      states: {
        Asking: {
          invoke: {
            id: 'removeSettled',
            src: 'removeSettled',
            input: ({ context }) => ({ member: context.member, settled: context.settled }),
            ...ends,
          },
          on: {
            'removal.failed': [
              {
                guard: 'isOutOfRemovals',
                target: '#lane.Deciding',
                actions: ['leaveSettled', { type: 'tellRemovalGivenUp', params: who }],
              },
              { target: 'Resting', actions: 'countFailure' },
            ],
          },
        },
        Resting: { after: { removalRetry: 'Asking' } },
      },
      on: {
        'entries.removed': { target: 'Deciding', actions: { type: 'countRemoved', params: fact } },
        ...silent,
      },
    },

    Withdrawing: {
      invoke: {
        id: 'reviewCopies',
        src: 'reviewCopies',
        input: ({ context }) => ({ member: context.member, reviews: context.reviews }),
        ...ends,
      },
      on: {
        'copies.withdrawn': { target: 'Deciding', actions: { type: 'countReviewed', params: fact } },
        ...retired,
        ...silent,
      },
    },

    /** No ACL row: that proves nothing, so nothing is decided until one is there or the retries are used up. */
    Unknown: {
      always: [
        { guard: 'mustReview', target: 'Withdrawing' },
        { guard: 'isOutOfRetries', target: 'GivingUp' },
      ],
      after: { unknownRetry: 'Recovering' },
    },

    GivingUp: {
      invoke: {
        id: 'markGivenUp',
        src: 'markGivenUp',
        input: ({ context }) => ({ member: context.member, attempts: context.unknowns }),
        ...ends,
      },
      on: {
        'mark.stored': {
          target: 'GivenUp',
          actions: {
            type: 'tellGivenUp',
            params: ({ context }) => ({ member: context.member, attempts: context.unknowns }),
          },
        },
        ...silent,
      },
    },

    /** The broker refuses or is silent. What was stored is not known: the place is asked for again. */
    BackingOff: { after: { backOff: 'Recovering' } },

    Retired: {
      initial: 'Removing',
      states: {
        Removing: {
          invoke: { id: 'removeEverything', src: 'removeEverything', input: who, ...ends },
          on: {
            'entries.removed': '#lane.Gone',
            'removal.failed': [
              {
                guard: 'isOutOfRemovals',
                target: '#lane.Gone',
                actions: { type: 'tellRemovalGivenUp', params: who },
              },
              { target: 'Resting', actions: 'countFailure' },
            ],
            'broker.silent': { target: 'Resting', actions: 'countFailure' },
            'effect.failed': { target: 'Resting', actions: 'countFailure' },
          },
        },
        Resting: { after: { removalRetry: 'Removing' } },
      },
    },

    GivenUp: {
      entry: { type: 'reportQuiet', params: { end: 'given-up' } },
      on: nudgedTo('#lane.Recovering'),
    },

    Gone: {
      entry: { type: 'reportQuiet', params: { end: 'retired' } },
      on: nudgedTo('#lane.Recovering'),
    },
  },
});
