/**
 * retirement: the terminal steps of one lifecycle, in an order in which a stop anywhere leaves something that goes on.
 *
 *   RT1  nothing of the lifecycle is removed before its family was cleared
 *   RT2  the tombstone is written only after the frontiers were recorded and what it owned was removed
 *   RT3  it is retired, and its name free, only after the tombstone
 *   RT4  one that is retired already, or was never there, is told as that, and nothing is written
 *   RT5  what is not verified, and what somebody else writes meanwhile, leave the lifecycle as retiring: the next attempt goes on
 *   RT6  once begun it is about that lifecycle: a successor under the name says that it is retired, and nothing of it is touched
 */
import { assign, raise, setup } from 'xstate';
import { AGENT_FAMILY } from '../domain/eviction.ts';
import type { RailWaitBounds } from '../domain/manager-numbers.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, surpriseOf } from './effects.ts';
import { type FamilyOutcome, familyMachine, type StoreTrouble } from './family.machine.ts';

/** `revision`: of the head. `opId`: of the retirement under way, or the one that begins now. */
export interface Retiring {
  readonly principal: string;
  readonly uid: string;
  readonly opId: string;
  readonly by: string;
  readonly revision: number;
}
export type LifecycleFact =
  | { type: 'lifecycle.active'; uid: string; revision: number }
  /** Begun before, by whomever. */
  | { type: 'lifecycle.retiring'; uid: string; revision: number; opId: string }
  | { type: 'lifecycle.retired'; uid: string }
  | { type: 'lifecycle.absent' }
  | { type: 'lifecycle.unreadable' }
  | StoreTrouble;
export type MarkFact =
  /** `freezeToken`: the frozen gate's revision. `revision`: of the head. */
  { type: 'lifecycle.marked'; freezeToken: string; revision: number } | { type: 'lifecycle.raced' } | StoreTrouble;
export interface Belongings {
  readonly durables: number;
  readonly memberships: number;
  readonly marks: number;
}
export type RemoveFact = ({ type: 'belongings.removed'; revision: number } & Belongings) | StoreTrouble;
export type TombFact = { type: 'tombstone.written' } | StoreTrouble;
export type SettleFact = { type: 'lifecycle.settled' } | { type: 'lifecycle.raced' } | StoreTrouble;

export interface RetirementOutcome extends Belongings {
  readonly type: 'retirement.ended';
  readonly end: 'retired' | 'already' | 'unknown' | 'unverified' | 'raced' | 'failed';
  readonly reason: string;
  readonly uid: string;
}

export interface RetirementInput {
  readonly principal: string;
  readonly opId: string;
  /** Principal of whoever executes it. */
  readonly by: string;
  readonly rail: string;
  readonly batch: number;
  readonly wait: RailWaitBounds;
}
export interface RetirementContext extends RetirementInput, Belongings {
  readonly uid: string;
  readonly revision: number;
  readonly freezeToken: string;
  readonly end: RetirementOutcome['end'];
  readonly reason: string;
}

const retirement = setup({
  types: {
    context: {} as RetirementContext,
    events: {} as LifecycleFact | MarkFact | RemoveFact | TombFact | SettleFact | FamilyOutcome | EffectFailed,
    input: {} as RetirementInput,
    output: {} as RetirementOutcome,
  },
  actors: {
    lookAtLifecycle: asked<LifecycleFact, { principal: string }>('lookAtLifecycle'),
    markRetiring: asked<MarkFact, Retiring>('markRetiring'),
    family: familyMachine,
    removeBelongings: asked<RemoveFact, Retiring>('removeBelongings'),
    writeTombstone: asked<TombFact, Retiring>('writeTombstone'),
    settleRetirement: asked<SettleFact, Retiring>('settleRetirement'),
  },
  actions: {
    told: raise(answerOf<LifecycleFact | MarkFact | RemoveFact | TombFact | SettleFact | FamilyOutcome>()),
    faulted: raise(surpriseOf),
    keepLifecycle: assign(({ context }, of: { uid: string; revision: number; opId?: string }) => ({
      uid: of.uid,
      revision: of.revision,
      opId: of.opId ?? context.opId,
    })),
    keepUid: assign((_, { uid }: { uid: string }) => ({ uid })),
    keepMark: assign((_, of: { freezeToken: string; revision: number }) => ({
      freezeToken: of.freezeToken,
      revision: of.revision,
    })),
    keepRemoved: assign(({ context }, of: Belongings & { revision: number }) => ({
      revision: of.revision,
      durables: context.durables + of.durables,
      memberships: context.memberships + of.memberships,
      marks: context.marks + of.marks,
    })),
    keepEnd: assign((_, of: { end: RetirementOutcome['end']; reason: string }) => of),
  },
  guards: {
    isCleared: (_, { end }: { end: string }) => end === 'cleared',
    isRaced: (_, { end }: { end: string }) => end === 'raced',
    isSuccessor: ({ context }, { uid }: { uid: string }) => context.uid !== '' && context.uid !== uid,
  },
  delays: { askAgain: 500 },
});

const retiring = ({ context: { principal, uid, opId, by, revision } }: { context: RetirementContext }): Retiring => ({
  principal,
  uid,
  opId,
  by,
  revision,
});
const ending = <E>(target: string, end: RetirementOutcome['end'], reason: (event: E) => string) =>
  ({
    target: `#retirement.${target}`,
    actions: { type: 'keepEnd', params: ({ event }: { event: E }) => ({ end, reason: reason(event) }) },
  }) as const;
const because = ({ reason }: { reason: string }): string => reason;
const raced = ending('Stopped', 'raced', () => 'somebody else wrote the lifecycle');
/** A name is given again only when its lifecycle is retired: the end of ours was written, whoever heard of it. */
const succeeded = {
  guard: { type: 'isSuccessor', params: fact },
  ...ending('Retired', 'retired', () => ''),
} as const;

export const retirementMachine = retirement.createMachine({
  id: 'retirement',
  context: ({ input }) => ({
    ...input,
    uid: '',
    revision: 0,
    freezeToken: '',
    durables: 0,
    memberships: 0,
    marks: 0,
    end: 'failed',
    reason: 'it has not ended',
  }),
  initial: 'Working',
  output: ({ context: { end, reason, uid, durables, memberships, marks } }) => ({
    type: 'retirement.ended',
    end,
    reason,
    uid,
    durables,
    memberships,
    marks,
  }),
  on: { ...deafToLateFailures },
  states: {
    Working: {
      initial: 'Observing',
      on: {
        'store.unanswered': '.Resting',
        'store.refused': ending('Stopped', 'failed', because),
        'effect.failed': ending('Stopped', 'failed', ({ effect, message }) => `${effect} failed: ${message}`),
      },
      states: {
        Observing: {
          invoke: {
            id: 'lookAtLifecycle',
            src: 'lookAtLifecycle',
            input: ({ context: { principal } }) => ({ principal }),
            ...ends,
          },
          on: {
            'lifecycle.active': [succeeded, { target: 'Marking', actions: { type: 'keepLifecycle', params: fact } }],
            'lifecycle.retiring': [succeeded, { target: 'Marking', actions: { type: 'keepLifecycle', params: fact } }],
            'lifecycle.retired': [
              succeeded,
              {
                target: '#retirement.Retired',
                actions: [
                  {
                    type: 'keepEnd',
                    params: ({ context }) => ({
                      end: context.uid === '' ? ('already' as const) : ('retired' as const),
                      reason: '',
                    }),
                  },
                  { type: 'keepUid', params: fact },
                ],
              },
            ],
            'lifecycle.absent': ending('Unknown', 'unknown', () => 'there is no such agent'),
            'lifecycle.unreadable': ending('Stopped', 'failed', () => 'its head cannot be read'),
          },
        },
        Resting: { after: { askAgain: 'Observing' } },
        Marking: {
          invoke: { id: 'markRetiring', src: 'markRetiring', input: retiring, ...ends },
          on: {
            'lifecycle.marked': { target: 'Clearing', actions: { type: 'keepMark', params: fact } },
            'lifecycle.raced': raced,
          },
        },
        Clearing: {
          invoke: {
            id: 'family',
            src: 'family',
            input: ({ context: { uid, opId, freezeToken, rail, batch, wait } }) => ({
              endpoint: AGENT_FAMILY,
              instance: uid,
              opId,
              freezeToken,
              rail,
              batch,
              wait,
            }),
            ...ends,
          },
          on: {
            'family.ended': [
              { guard: { type: 'isCleared', params: fact }, target: 'Removing' },
              { guard: { type: 'isRaced', params: fact }, ...ending('Stopped', 'raced', because) },
              ending('Stopped', 'unverified', because),
            ],
          },
        },
        Removing: {
          invoke: { id: 'removeBelongings', src: 'removeBelongings', input: retiring, ...ends },
          on: { 'belongings.removed': { target: 'Tombstoning', actions: { type: 'keepRemoved', params: fact } } },
        },
        Tombstoning: {
          invoke: { id: 'writeTombstone', src: 'writeTombstone', input: retiring, ...ends },
          on: { 'tombstone.written': 'Settling' },
        },
        Settling: {
          invoke: { id: 'settleRetirement', src: 'settleRetirement', input: retiring, ...ends },
          on: {
            'lifecycle.settled': ending('Retired', 'retired', () => ''),
            'lifecycle.raced': raced,
          },
        },
      },
    },
    Retired: { type: 'final' },
    Unknown: { type: 'final' },
    Stopped: { type: 'final' },
  },
});
