/**
 * lease: one daemon serves a space.
 *
 *   L1  ready is reported only after the row that says ready was stored
 *   L2  a stop while the claim is under way waits for its outcome and gives back what it got
 *   L3  any doubt (failed renewal, foreign change) is reported first and asked about afterwards
 *   L5  what is released is provably ours: holder and incarnation, at the broker's revision, read first where in doubt
 *   L6  a refused write is a denial that names subject and operation, never another holder
 *   L7  taken: the row is not touched again
 *
 * L4, the fence that a paused process meets when it wakes, is `domain/lease.ts`, asked before every single effect.
 *
 * Longer than 300 lines: one chart, with the facts it hears in front of it.
 */
import { assign, raise, sendParent, setup } from 'xstate';
import type { Claimant } from '../domain/lease.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, heard, surpriseOf } from './effects.ts';

type Denial = { subject: string; operation: string };
/** Whose row stands in the way, and how long it can still last. */
type Rival = { holder: string; incarnation?: string; expiresInMs: number };
const nameOf = ({ holder, incarnation = '' }: Rival): string => `${holder}/${incarnation}`;

export type ClaimFact =
  | { type: 'row.stored'; revision: number }
  | ({ type: 'row.held' } & Rival)
  | ({ type: 'write.denied' } & Denial)
  | { type: 'write.unanswered' };
export type RenewFact =
  | { type: 'row.stored'; revision: number }
  | { type: 'write.conflicted' }
  | ({ type: 'write.denied' } & Denial)
  | { type: 'write.unanswered' };
export type InquiryFact =
  | { type: 'row.ours'; revision: number }
  | { type: 'row.absent' }
  | ({ type: 'row.held' } & Rival)
  | { type: 'inquiry.unanswered' };
export type ReleaseFact = { type: 'row.released' } | { type: 'write.unanswered' } | { type: 'write.conflicted' };
export type WatchFact =
  | { type: 'watch.bound' }
  /** The row was written by somebody who is not us. */
  | { type: 'row.foreign'; revision: number }
  | { type: 'row.gone'; revision: number }
  | { type: 'watch.lost'; why: string };

export type LeaseEvent =
  | ClaimFact
  | RenewFact
  | InquiryFact
  | ReleaseFact
  | WatchFact
  | EffectFailed
  | { type: 'service.ready' }
  | { type: 'stop.requested' }
  /** Somebody else has a reason to doubt: the connection closed, the fence was found lapsed. */
  | { type: 'doubt.raised'; why: string };

/** What the lease tells its daemon. */
export type LeaseReport =
  | { type: 'lease.held' }
  | { type: 'lease.ready' }
  | { type: 'lease.watched' }
  | { type: 'lease.doubted'; why: string }
  | ({ type: 'lease.waiting' } & Rival)
  | ({ type: 'lease.refused' } & Rival)
  | ({ type: 'lease.denied' } & Denial)
  | ({ type: 'lease.taken' } & Rival)
  | { type: 'lease.released' };

type Passed = Extract<LeaseReport, Denial | Rival>;

export interface LeaseInput extends Claimant {
  /** A loser waits for the row instead of ending. */
  readonly standby: boolean;
}

export interface LeaseContext extends LeaseInput {
  /** Revision at which the row was last known to be ours; 0 before the first claim. */
  readonly revision: number;
  /** Of a standby: whose row it was last told to wait for. */
  readonly waitsFor: string;
}

const lease = setup({
  types: { context: {} as LeaseContext, events: {} as LeaseEvent, input: {} as LeaseInput },
  actors: {
    claimLease: asked<ClaimFact, Claimant>('claimLease'),
    renewLease: asked<RenewFact, Claimant & { revision: number; ready: boolean }>('renewLease'),
    inquireLease: asked<InquiryFact, Claimant>('inquireLease'),
    releaseLease: asked<ReleaseFact, Claimant & { revision: number }>('releaseLease'),
    watchLease: heard<WatchFact, Claimant & { revision: number }>('watchLease'),
  },
  actions: {
    told: raise(answerOf<LeaseEvent>()),
    faulted: raise(surpriseOf),
    keepRevision: assign((_, row: { revision: number }) => ({ revision: row.revision })),
    keepRival: assign((_, rival: Rival) => ({ waitsFor: nameOf(rival) })),
    report: sendParent((_, report: LeaseReport) => report),
    /** Passes the rival or the denial of the fact on under the report's own name. */
    reportAs: sendParent(
      (_, { as, of }: { as: Passed['type']; of: Denial | Rival }) => ({ ...of, type: as }) as Passed,
    ),
  },
  guards: {
    isNewRival: ({ context }, rival: Rival) =>
      context.standby && context.revision === 0 && context.waitsFor !== nameOf(rival),
    isStandby: ({ context }) => context.standby && context.revision === 0,
    wasHeld: ({ context }) => context.revision > 0,
    isNews: ({ context }, row: { revision: number }) => row.revision > context.revision,
  },
  delays: { renewEvery: 10_000, askAgain: 500, standbyProbe: 1_000, claimGrace: 2_000, releaseGrace: 11_000 },
});

const keeping = <const Target extends string>(target: Target) =>
  ({ target, actions: { type: 'keepRevision', params: fact } }) as const;
const passedAs = (as: Passed['type']) =>
  ({ type: 'reportAs', params: ({ event }: { event: Denial | Rival }) => ({ as, of: event }) }) as const;
/** A standby waits; whom for is told once for each holder. */
const standsBy = [
  {
    guard: { type: 'isNewRival', params: fact },
    target: '#lease.Waiting',
    actions: [{ type: 'keepRival', params: fact }, passedAs('lease.waiting')],
  },
  { guard: 'isStandby', target: '#lease.Waiting' },
] as const;
const doubt = (why: string) =>
  ({ target: '#lease.Doubtful', actions: { type: 'report', params: { type: 'lease.doubted', why } } }) as const;
const asReady = ({ context }: { context: LeaseContext }) => ({ ...context, ready: true });
const asNotReady = ({ context }: { context: LeaseContext }) => ({ ...context, ready: false });

export const leaseMachine = lease.createMachine({
  id: 'lease',
  context: ({ input }) => ({ ...input, revision: 0, waitsFor: '' }),
  initial: 'Claiming',
  on: { ...deafToLateFailures },
  states: {
    Claiming: {
      invoke: { id: 'claimLease', src: 'claimLease', input: ({ context }) => context, ...ends },
      initial: 'Wanted',
      states: {
        Wanted: {
          on: {
            'row.stored': keeping('#lease.Held'),
            'row.held': [
              { guard: 'wasHeld', target: '#lease.Taken', actions: passedAs('lease.taken') },
              ...standsBy,
              { target: '#lease.Refused', actions: passedAs('lease.refused') },
            ],
            'write.unanswered': '#lease.Doubtful',
            'effect.failed': '#lease.Doubtful.Resting',
            'stop.requested': 'Unwanted',
          },
        },
        Unwanted: {
          after: { claimGrace: '#lease.Releasing.Looking' },
          on: {
            'row.stored': keeping('#lease.Releasing'),
            'row.held': '#lease.Released',
            'write.unanswered': '#lease.Releasing.Looking',
            'effect.failed': '#lease.Releasing.Looking',
          },
        },
      },
      on: { 'write.denied': { target: 'Denied', actions: passedAs('lease.denied') } },
    },

    Held: {
      initial: 'NotReady',
      states: {
        NotReady: {
          entry: { type: 'report', params: { type: 'lease.held' } },
          initial: 'Resting',
          states: {
            Resting: { after: { renewEvery: 'Renewing' }, on: { 'service.ready': '#lease.Held.Ready' } },
            /** A renewal on its way is waited for: a second write beside it would meet its revision as a conflict. */
            Renewing: {
              invoke: { id: 'renewLease', src: 'renewLease', input: asNotReady, ...ends },
              initial: 'ServiceStarting',
              states: {
                ServiceStarting: {
                  on: {
                    'row.stored': keeping('#lease.Held.NotReady.Resting'),
                    'service.ready': 'ServiceReady',
                  },
                },
                ServiceReady: { on: { 'row.stored': keeping('#lease.Held.Ready') } },
              },
            },
          },
        },
        Ready: {
          initial: 'Declaring',
          states: {
            Declaring: {
              invoke: { id: 'renewLease', src: 'renewLease', input: asReady, ...ends },
              on: {
                'row.stored': {
                  target: 'Serving',
                  actions: [
                    { type: 'keepRevision', params: fact },
                    { type: 'report', params: { type: 'lease.ready' } },
                  ],
                },
              },
            },
            Serving: {
              tags: 'serving',
              invoke: {
                id: 'watchLease',
                src: 'watchLease',
                input: ({ context }) => context,
                onError: { actions: 'faulted' },
              },
              initial: 'Resting',
              states: {
                Resting: { after: { renewEvery: 'Renewing' } },
                Renewing: {
                  invoke: { id: 'renewLease', src: 'renewLease', input: asReady, ...ends },
                  on: { 'row.stored': keeping('Resting') },
                },
              },
              on: {
                /** A service that began anew meanwhile: what its row says is stored. */
                'service.ready': { actions: { type: 'report', params: { type: 'lease.ready' } } },
                'watch.bound': { actions: { type: 'report', params: { type: 'lease.watched' } } },
                'row.foreign': {
                  guard: { type: 'isNews', params: fact },
                  ...doubt('another writer was seen on the row'),
                },
                'row.gone': { guard: { type: 'isNews', params: fact }, ...doubt('the row is gone') },
                'watch.lost': doubt('the watch of the row was lost'),
              },
            },
          },
        },
      },
      on: {
        'write.conflicted': doubt('a renewal met another revision'),
        'write.unanswered': doubt('a renewal was not answered'),
        'write.denied': { target: 'Denied', actions: passedAs('lease.denied') },
        'effect.failed': {
          target: 'Doubtful.Resting',
          actions: {
            type: 'report',
            params: ({ event }) => ({ type: 'lease.doubted', why: `${event.effect} failed: ${event.message}` }),
          },
        },
        'doubt.raised': {
          target: 'Doubtful',
          actions: { type: 'report', params: ({ event }) => ({ type: 'lease.doubted', why: event.why }) },
        },
        'stop.requested': 'Releasing',
      },
    },

    /** Nothing is served here. Every way out has read the row. */
    Doubtful: {
      initial: 'Asking',
      states: {
        Asking: {
          invoke: { id: 'inquireLease', src: 'inquireLease', input: ({ context }) => context, ...ends },
          on: {
            /** Ours, but by a renewal that may be old: a fresh one is sent before anything else is. */
            'row.ours': keeping('#lease.Held.NotReady.Renewing'),
            'row.absent': '#lease.Claiming',
            'inquiry.unanswered': 'Resting',
            'effect.failed': 'Resting',
          },
        },
        Resting: { after: { askAgain: 'Asking' } },
      },
      on: {
        'row.held': [
          { guard: 'wasHeld', target: 'Taken', actions: passedAs('lease.taken') },
          ...standsBy,
          { target: 'Refused', actions: passedAs('lease.refused') },
        ],
        'stop.requested': 'Releasing.Looking',
      },
    },

    /** Standby: the row is asked for again and again until it is free. */
    Waiting: {
      after: { standbyProbe: 'Claiming' },
      on: { 'stop.requested': 'Released' },
    },

    Releasing: {
      initial: 'Giving',
      states: {
        Giving: {
          invoke: { id: 'releaseLease', src: 'releaseLease', input: ({ context }) => context, ...ends },
          on: { 'write.conflicted': 'Looking' },
        },
        Looking: {
          invoke: { id: 'inquireLease', src: 'inquireLease', input: ({ context }) => context, ...ends },
          on: { 'row.ours': keeping('Giving') },
        },
      },
      after: { releaseGrace: 'Released' },
      on: {
        'row.released': 'Released',
        'row.absent': 'Released',
        'row.held': 'Released',
        'write.unanswered': 'Released',
        'inquiry.unanswered': 'Released',
        'effect.failed': 'Released',
      },
    },

    Released: { type: 'final', entry: { type: 'report', params: { type: 'lease.released' } } },
    Refused: { type: 'final' },
    Denied: { type: 'final' },
    Taken: { type: 'final' },
  },
});
