/**
 * lane: everything that one member is owed, from pending entry to confirmed copy. One lane a member; lanes share nothing.
 *
 *   R1  what is pending is asked of the store: a new lane recovers its place before it does anything else
 *   R2  an entry is removed only when its copy was confirmed, refused, withdrawn, or its lifecycle is retired
 *   R3  a batch is authorized right before its hand-off, and handed-off copies are reviewed before new ones are made
 *   R4  no batch is chosen while the window is full
 *   R6  a retired lifecycle loses everything it has; a removal that fails is tried again, ten times, and then left
 *   R7  no ACL row: ten spaced retries, then given up and kept; what was asked for meanwhile is met all the same
 *
 * Nudges that arrive while the lane is busy are counted and met in `Deciding`. An effect echoes how many it was asked to
 * meet, and exactly those are taken off again: what came meanwhile is still there. Bodies stay in the services.
 */
import { deafToLateFailures, ends, fact } from './effects.ts';
import { type LaneContext, lane, type Who } from './lane.setup.ts';

const who = ({ context }: { context: LaneContext }): Who => ({ member: context.member });
const retired = { 'lifecycle.retired': { target: '#lane.Retired', actions: 'forgetFailures' } } as const;
/** A review that was asked for meanwhile is owed all the same, and may mean that the row is there now. */
const verdict = {
  'verdict.stands': [{ guard: 'mustReview', target: '#lane.Reconsidering' }, { target: '#lane.GivenUp' }],
} as const;
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
const toldGivenUp = {
  type: 'tellGivenUp',
  params: ({ context }: { context: LaneContext }) => ({ member: context.member, attempts: context.unknowns }),
} as const;
const reviewing = {
  id: 'reviewCopies',
  src: 'reviewCopies',
  input: ({ context }: { context: LaneContext }) => ({ member: context.member, reviews: context.reviews }),
  ...ends,
} as const;
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
    ...deafToLateFailures,
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
        ...verdict,
        ...retired,
        ...unknown,
        ...silent,
      },
    },

    Deciding: {
      always: [
        { guard: 'mustReview', target: 'Withdrawing' },
        { guard: 'mustRemove', target: 'Removing' },
        { guard: 'isUnderDoubt', target: 'Unknown' },
        { guard: 'mayHandOff', target: 'Authorizing' },
        { guard: 'hasSettled', target: 'Collecting' },
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
        ...verdict,
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

    /** Some are settled and others wait: more may be settled soon, and several are removed by one write. */
    Collecting: {
      entry: 'reportPlaced',
      on: {
        ...nudgedTo('#lane.Deciding'),
        /** What comes while the window is full changes nothing, and must not put the removal off. */
        'entries.arrived': [
          { guard: 'isFull', actions: 'countArrived' },
          { target: 'Deciding', actions: 'countArrived' },
        ],
      },
      after: { removalDelay: 'Removing' },
    },

    AwaitingConfirm: { entry: 'reportResting', on: nudgedTo('#lane.Deciding'), after: resting },
    Idle: { entry: 'reportResting', on: nudgedTo('#lane.Deciding'), after: resting },

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
      invoke: reviewing,
      on: {
        'copies.withdrawn': { target: 'Deciding', actions: { type: 'countReviewed', params: fact } },
        ...retired,
        ...silent,
      },
    },

    /** No ACL row: that proves nothing, so nothing is decided until one is there or the retries are used up. */
    Unknown: {
      entry: 'reportPlaced',
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
        'mark.stored': [
          { guard: 'mustReview', target: 'Reconsidering', actions: toldGivenUp },
          { target: 'GivenUp', actions: toldGivenUp },
        ],
        ...silent,
      },
    },

    /** Given up, and asked to look again meanwhile: the review is made, and the place is asked for anew. */
    Reconsidering: {
      invoke: reviewing,
      on: {
        'copies.withdrawn': { target: 'Recovering', actions: { type: 'countReviewed', params: fact } },
        ...retired,
        ...silent,
      },
    },

    /** The broker refuses or is silent. What was stored is not known: the place is asked for again. */
    BackingOff: { entry: 'reportPlaced', after: { backOff: 'Recovering' } },

    Retired: {
      initial: 'Removing',
      states: {
        Removing: {
          entry: ['forgetPlace', 'forgetReviews'],
          invoke: { id: 'removeEverything', src: 'removeEverything', input: who, ...ends },
          on: {
            /** What came while the removal was under way may have been missed by it. */
            'entries.removed': [{ guard: 'hasNews', target: 'Removing', reenter: true }, { target: '#lane.Gone' }],
            'removal.failed': [
              {
                guard: 'isOutOfRemovals',
                target: '#lane.Gone',
                actions: [
                  { type: 'tellRemovalGivenUp', params: who },
                  { type: 'refuseReviews', params: who },
                ],
              },
              { target: 'Resting', actions: 'countFailure' },
            ],
            /** No answer is no failed removal. */
            'broker.silent': 'Resting',
            'effect.failed': 'Resting',
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
