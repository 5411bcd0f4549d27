/**
 * gateRepair: a registration gate that somebody froze and left is opened again.
 *
 *   G1  only a registration's freeze, and only one whose holder was proved gone by a complete sweep
 *   G2  it is bound to the freeze that it saw: where the gate has moved since, it refuses as raced
 *   G3  a registration whose commit landed is completed, not repeated; otherwise the gate is reopened where it stood
 *   G4  the gate is reopened only after the family was cleared; every refusal names itself and leaves the gate as it is
 *
 * Longer than 300 lines: one chart, with the facts it hears in front of it.
 */
import { assign, raise, setup } from 'xstate';
import type { RailWaitBounds } from '../domain/manager-numbers.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, surpriseOf } from './effects.ts';
import { type FamilyOutcome, familyMachine, type StoreTrouble } from './family.machine.ts';
import { type RailWaitOutcome, railWaitMachine } from './rail-wait.machine.ts';
import type { HolderFact } from './store-proof.machine.ts';

export interface Instance {
  readonly endpoint: string;
  readonly instance: string;
}
export type FrozenFact =
  | { type: 'freeze.seen'; revision: number; opId: string; holder: string }
  | { type: 'gate.absent' }
  | { type: 'gate.open'; settled: string }
  | { type: 'gate.otherwise'; kind: string }
  | { type: 'gate.unreadable' }
  | StoreTrouble;
export type JudgeFact =
  /** `landed`: the operation's commit is there. */
  { type: 'registration.seen'; landed: boolean } | StoreTrouble;
export type ReopenFact = { type: 'gate.written'; revision: number } | { type: 'gate.raced' } | StoreTrouble;
export type ForgottenFact = { type: 'cursor.forgotten' } | StoreTrouble;

export type RepairEnd =
  /** Reopened at the same coordinates, a generation later. */
  | 'repaired'
  /** The commit had landed: its epoch is the gate's now. */
  | 'completed'
  | RepairRefusal;
export type RepairRefusal =
  | 'no-gate'
  | 'not-frozen'
  | 'wrong-op-kind'
  | 'holder-alive'
  | 'holder-unknown'
  | 'liveness-unestablishable'
  | 'eviction-unverified'
  | 'raced'
  | 'store';

export interface RepairOutcome {
  readonly type: 'repair.ended';
  readonly end: RepairEnd;
  readonly reason: string;
  readonly holders: number;
  readonly requests: number;
}

export interface GateRepairInput extends Instance {
  readonly rail: string;
  readonly batch: number;
  readonly wait: RailWaitBounds;
}
export interface GateRepairContext extends GateRepairInput {
  readonly revision: number;
  readonly opId: string;
  readonly holder: string;
  readonly landed: boolean;
  readonly holders: number;
  readonly requests: number;
  readonly end: RepairEnd;
  readonly reason: string;
}
export type SeenFreeze = Instance & { readonly revision: number; readonly opId: string; readonly landed: boolean };

type Liveness = { liveness?: unknown; note?: unknown };

const gateRepair = setup({
  types: {
    context: {} as GateRepairContext,
    events: {} as
      | FrozenFact
      | JudgeFact
      | ReopenFact
      | ForgottenFact
      | HolderFact
      | RailWaitOutcome
      | FamilyOutcome
      | EffectFailed,
    input: {} as GateRepairInput,
    output: {} as RepairOutcome,
  },
  actors: {
    lookAtGate: asked<FrozenFact, Instance>('lookAtGate'),
    railWait: railWaitMachine,
    lookForHolder: asked<HolderFact, undefined>('lookForHolder'),
    family: familyMachine,
    lookAtRegistration: asked<JudgeFact, SeenFreeze>('lookAtRegistration'),
    openGate: asked<ReopenFact, SeenFreeze>('openGate'),
    forgetCursor: asked<ForgottenFact, SeenFreeze>('forgetCursor'),
  },
  actions: {
    told: raise(
      answerOf<FrozenFact | JudgeFact | ReopenFact | ForgottenFact | HolderFact | RailWaitOutcome | FamilyOutcome>(),
    ),
    faulted: raise(surpriseOf),
    keepFreeze: assign((_, of: { revision: number; opId: string; holder: string }) => ({
      revision: of.revision,
      opId: of.opId,
      holder: of.holder,
    })),
    keepFamily: assign((_, { holders, requests }: { holders: number; requests: number }) => ({ holders, requests })),
    keepLanded: assign((_, { landed }: { landed: boolean }) => ({ landed })),
    keepEnd: assign((_, of: { end: RepairEnd; reason: string }) => of),
  },
  guards: {
    /** Another freeze than the one that was seen first is another repair. */
    isAnother: ({ context }, { revision }: { revision: number }) =>
      context.revision !== 0 && context.revision !== revision,
    isOurs: ({ context }, { settled }: { settled: string }) => settled !== '' && settled === context.opId,
    isNameless: (_, { holder }: { holder: string }) => holder === '',
    isGone: (_, { data }: { data: unknown }) => (data as Liveness | null)?.liveness === 'gone',
    isLive: (_, { data }: { data: unknown }) => (data as Liveness | null)?.liveness === 'live',
    isCleared: (_, { end }: { end: string }) => end === 'cleared',
    isRaced: (_, { end }: { end: string }) => end === 'raced',
  },
  delays: { askAgain: 500 },
});

type At = { context: GateRepairContext };
const instance = ({ context: { endpoint, instance } }: At): Instance => ({ endpoint, instance });
const freeze = ({ context }: At): SeenFreeze => ({
  ...instance({ context }),
  revision: context.revision,
  opId: context.opId,
  landed: context.landed,
});
const refused = <E>(end: RepairEnd, reason: (event: E, context: GateRepairContext) => string) =>
  ({
    target: '#gateRepair.Refused',
    actions: {
      type: 'keepEnd',
      params: ({ event, context }: At & { event: E }) => ({ end, reason: reason(event, context) }),
    },
  }) as const;
const because = ({ reason }: { reason: string }): string => reason;
const said = ({ message }: { message: string }): string => message;
const raced = refused('raced', () => 'the gate moved while it was repaired');
const keptFamily = { type: 'keepFamily', params: fact<FamilyOutcome> } as const;
const done = {
  target: '#gateRepair.Repaired',
  actions: {
    type: 'keepEnd',
    params: ({ context }: At) => ({ end: context.landed ? ('completed' as const) : ('repaired' as const), reason: '' }),
  },
} as const;

export const gateRepairMachine = gateRepair.createMachine({
  id: 'gateRepair',
  context: ({ input }) => ({
    ...input,
    revision: 0,
    opId: '',
    holder: '',
    landed: false,
    holders: 0,
    requests: 0,
    end: 'store',
    reason: 'it has not ended',
  }),
  initial: 'Working',
  output: ({ context: { end, reason, holders, requests } }) => ({
    type: 'repair.ended',
    end,
    reason,
    holders,
    requests,
  }),
  on: { ...deafToLateFailures },
  states: {
    Working: {
      initial: 'Observing',
      on: {
        'store.unanswered': '.Resting',
        'store.refused': refused('store', because),
        'effect.failed': refused('store', ({ effect, message }) => `${effect} failed: ${message}`),
      },
      states: {
        Observing: {
          invoke: { id: 'lookAtGate', src: 'lookAtGate', input: instance, ...ends },
          on: {
            'freeze.seen': [
              { guard: { type: 'isAnother', params: fact }, ...raced },
              {
                guard: { type: 'isNameless', params: fact },
                ...refused('holder-unknown', () => 'the gate does not say who froze it'),
              },
              { target: 'Probing', actions: { type: 'keepFreeze', params: fact } },
            ],
            'gate.absent': refused('no-gate', () => 'nothing was ever registered'),
            /** What we had written has landed, though its answer was lost. */
            'gate.open': [
              { guard: { type: 'isOurs', params: fact }, target: 'Forgetting' },
              refused('not-frozen', () => 'the gate is open'),
            ],
            'gate.otherwise': refused(
              'wrong-op-kind',
              ({ kind }) => `the gate is ${kind}, not frozen by a registration`,
            ),
            'gate.unreadable': refused('store', () => 'the gate cannot be read'),
          },
        },
        Resting: { after: { askAgain: 'Observing' } },
        Probing: {
          invoke: {
            id: 'railWait',
            src: 'railWait',
            input: ({ context: { wait, rail, holder } }) => ({
              ...wait,
              rail,
              op: 'principalLiveness',
              args: { principal: holder },
            }),
            ...ends,
          },
          on: {
            'wait.answered': [
              { guard: { type: 'isGone', params: fact }, target: 'Clearing' },
              {
                guard: { type: 'isLive', params: fact },
                ...refused('holder-alive', (_, { holder }) => `${holder}, which froze it, is connected`),
              },
              refused('holder-unknown', ({ data }, { holder }) => {
                const { note } = (data as Liveness | null) ?? {};
                return `whether ${holder} is gone cannot be told${typeof note === 'string' ? `: ${note}` : ''}`;
              }),
            ],
            'wait.refused': refused('liveness-unestablishable', said),
            'wait.unreadable': refused('liveness-unestablishable', said),
            'wait.denied': refused('liveness-unestablishable', said),
            'wait.failed': refused('liveness-unestablishable', said),
            'wait.silent': {
              target: 'Looking',
              actions: {
                type: 'keepEnd',
                params: ({ event }) => ({ end: 'liveness-unestablishable', reason: event.message }),
              },
            },
          },
        },
        /** Nobody answered; what the lease says of that is told with it. */
        Looking: {
          invoke: { id: 'lookForHolder', src: 'lookForHolder', ...ends },
          on: {
            'holder.absent': refused(
              'liveness-unestablishable',
              (_, { reason }) => `${reason}; nobody holds the delivery lease`,
            ),
            'holder.there': refused(
              'liveness-unestablishable',
              ({ holder }, { reason }) => `${reason}; the delivery lease is ${holder}`,
            ),
            'holder.unknown': refused('liveness-unestablishable', (event, { reason }) => `${reason}; ${event.reason}`),
          },
        },
        Clearing: {
          invoke: {
            id: 'family',
            src: 'family',
            input: ({ context }) => ({
              ...instance({ context }),
              opId: context.opId,
              freezeToken: String(context.revision),
              rail: context.rail,
              batch: context.batch,
              wait: context.wait,
            }),
            ...ends,
          },
          on: {
            'family.ended': [
              { guard: { type: 'isCleared', params: fact }, target: 'Judging', actions: keptFamily },
              { guard: { type: 'isRaced', params: fact }, ...refused('raced', because) },
              refused('eviction-unverified', because),
            ],
          },
        },
        Judging: {
          invoke: { id: 'lookAtRegistration', src: 'lookAtRegistration', input: freeze, ...ends },
          on: { 'registration.seen': { target: 'Reopening', actions: { type: 'keepLanded', params: fact } } },
        },
        Reopening: {
          invoke: { id: 'openGate', src: 'openGate', input: freeze, ...ends },
          on: { 'gate.written': 'Forgetting', 'gate.raced': raced },
        },
        Forgetting: {
          invoke: { id: 'forgetCursor', src: 'forgetCursor', input: freeze, ...ends },
          on: { 'cursor.forgotten': done },
        },
      },
    },
    Repaired: { type: 'final' },
    Refused: { type: 'final' },
  },
});
