/**
 * family: every credential of a frozen family is revoked, then every holder of one is verified gone.
 *
 *   FA1  nobody is evicted before the broker has the revocations and every row says so: who is kicked cannot come back
 *   FA2  cleared is said only when the eviction of exactly the holders that were listed was verified
 *   FA3  a row that cannot be read, a refusal of the store or of the broker ends it with that reason, and nobody is evicted
 *
 * A store that stays silent is asked again, from the listing, for as long as whoever asked for this waits.
 */
import { assign, raise, setup } from 'xstate';
import type { RailWaitBounds } from '../domain/manager-numbers.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, surpriseOf } from './effects.ts';
import { type EvictionOutcome, evictionMachine, type Freeze } from './eviction.machine.ts';

export type StoreTrouble = { type: 'store.unanswered' } | { type: 'store.refused'; reason: string };
export type ListFact =
  /** `holders`: of every row, sorted. `credentials`: those of rows that are not marked as revoked. */
  | { type: 'family.listed'; holders: readonly string[]; credentials: readonly string[] }
  | { type: 'row.unreadable'; key: string }
  | StoreTrouble;
export type RevokeFact = { type: 'family.revoked' } | StoreTrouble;

/** `raced`: somebody else is at the same freeze. `requests`: how many evictions a daemon answered. */
export interface FamilyOutcome {
  readonly type: 'family.ended';
  readonly end: 'cleared' | 'unverified' | 'raced';
  readonly reason: string;
  readonly holders: number;
  readonly requests: number;
}

export interface FamilyInput extends Freeze {
  readonly rail: string;
  readonly batch: number;
  readonly wait: RailWaitBounds;
}

export interface FamilyContext extends FamilyInput {
  readonly holders: readonly string[];
  readonly credentials: readonly string[];
  readonly requests: number;
  readonly end: FamilyOutcome['end'];
  readonly reason: string;
}

const family = setup({
  types: {
    context: {} as FamilyContext,
    events: {} as ListFact | RevokeFact | EvictionOutcome | EffectFailed,
    input: {} as FamilyInput,
    output: {} as FamilyOutcome,
  },
  actors: {
    listFamily: asked<ListFact, Freeze>('listFamily'),
    revokeFamily: asked<RevokeFact, Freeze & { credentials: readonly string[] }>('revokeFamily'),
    eviction: evictionMachine,
  },
  actions: {
    told: raise(answerOf<ListFact | RevokeFact | EvictionOutcome>()),
    faulted: raise(surpriseOf),
    keepFamily: assign((_, of: { holders: readonly string[]; credentials: readonly string[] }) => ({
      holders: of.holders,
      credentials: of.credentials,
    })),
    keepReason: assign((_, { reason }: { reason: string }) => ({ end: 'unverified' as const, reason })),
    keepEviction: assign(
      (_, { end, reason, requests }: { end: FamilyOutcome['end']; reason: string; requests: number }) => ({
        end,
        reason,
        requests,
      }),
    ),
  },
  guards: {
    isVerified: (_, { end }: { end: string }) => end === 'verified',
    isRaced: (_, { end }: { end: string }) => end === 'raced',
  },
  delays: { askAgain: 500 },
});

export const freezeOf = ({ endpoint, instance, opId, freezeToken }: Freeze): Freeze => ({
  endpoint,
  instance,
  opId,
  freezeToken,
});
const unverified = <E>(reason: (event: E) => string) =>
  ({
    target: '#family.Unverified',
    actions: { type: 'keepReason', params: ({ event }: { event: E }) => ({ reason: reason(event) }) },
  }) as const;
const keptAs = (end: FamilyOutcome['end']) =>
  ({
    type: 'keepEviction',
    params: ({ event: { reason, requests } }: { event: EvictionOutcome }) => ({ end, reason, requests }),
  }) as const;

export const familyMachine = family.createMachine({
  id: 'family',
  context: ({ input }) => ({
    ...input,
    holders: [],
    credentials: [],
    requests: 0,
    end: 'unverified',
    reason: 'it has not ended',
  }),
  initial: 'Listing',
  output: ({ context: { end, reason, holders, requests } }) => ({
    type: 'family.ended',
    end,
    reason,
    holders: holders.length,
    requests,
  }),
  on: {
    ...deafToLateFailures,
    'effect.failed': unverified(({ effect, message }) => `${effect} failed: ${message}`),
    'store.refused': unverified(({ reason }) => reason),
  },
  states: {
    Listing: {
      invoke: { id: 'listFamily', src: 'listFamily', input: ({ context }) => freezeOf(context), ...ends },
      on: {
        'family.listed': { target: 'Revoking', actions: { type: 'keepFamily', params: fact } },
        'row.unreadable': unverified(({ key }) => `the ledger row ${key} cannot be read`),
        'store.unanswered': 'Resting',
      },
    },
    Resting: { after: { askAgain: 'Listing' } },
    Revoking: {
      invoke: {
        id: 'revokeFamily',
        src: 'revokeFamily',
        input: ({ context }) => ({ ...freezeOf(context), credentials: context.credentials }),
        ...ends,
      },
      on: { 'family.revoked': 'Evicting', 'store.unanswered': 'Resting' },
    },
    Evicting: {
      invoke: {
        id: 'eviction',
        src: 'eviction',
        input: ({ context }) => ({
          ...freezeOf(context),
          rail: context.rail,
          holders: context.holders,
          batch: context.batch,
          wait: context.wait,
        }),
        ...ends,
      },
      on: {
        'eviction.ended': [
          { guard: { type: 'isVerified', params: fact }, target: 'Cleared', actions: keptAs('cleared') },
          { guard: { type: 'isRaced', params: fact }, target: 'Raced', actions: keptAs('raced') },
          { target: 'Unverified', actions: keptAs('unverified') },
        ],
      },
    },
    Cleared: { type: 'final' },
    Unverified: { type: 'final' },
    Raced: { type: 'final' },
  },
});
