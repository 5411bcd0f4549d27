/**
 * registration: one registration of an endpoint's instance: freeze, clear the family, commit the epoch, reopen.
 *
 *   RG1  nothing is committed before the family was cleared, and the gate is reopened only after the commit
 *   RG2  every write is at the revision that was seen; whoever came first wins, and this one ends as raced
 *   RG3  a gate that is frozen by another operation is left as it is: that is the repair's
 *   RG4  what is not verified, and a window that is over, leave the gate frozen; what was achieved stays
 *   RG5  a store that was silent is asked where the gate stands, and what had landed is not done again
 */
import { assign, raise, setup } from 'xstate';
import type { RailWaitBounds } from '../domain/manager-numbers.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, surpriseOf } from './effects.ts';
import { type FamilyOutcome, familyMachine, type StoreTrouble } from './family.machine.ts';

export interface RegistrationOperation {
  readonly endpoint: string;
  readonly instance: string;
  readonly opId: string;
  /** Principal of whoever executes it: the gate names it, and a repair asks whether it is alive. */
  readonly by: string;
  readonly incarnation: string;
}
export type ObserveFact =
  /** Nobody is at it. `revision` is 0, and the coordinates too, where there is no gate yet. */
  | { type: 'gate.open'; revision: number; generation: number; processEpoch: number }
  /** Frozen by this very operation. */
  | { type: 'gate.ours'; revision: number; generation: number; processEpoch: number }
  /** Reopened by this very operation. */
  | { type: 'gate.settled'; generation: number; processEpoch: number }
  | { type: 'gate.frozen'; kind: string; holder: string; opId: string }
  | { type: 'gate.unusable'; reason: string }
  | StoreTrouble;
export type GateFact = { type: 'gate.written'; revision: number } | { type: 'gate.raced' } | StoreTrouble;
export type CommitFact =
  | { type: 'registration.committed'; processEpoch: number }
  | { type: 'registration.raced' }
  | StoreTrouble;
export type ForgetFact = { type: 'cursor.forgotten' } | StoreTrouble;

export interface RegistrationOutcome {
  readonly type: 'registration.ended';
  readonly end: 'registered' | 'frozen' | 'unverified' | 'raced' | 'failed' | 'cut-short';
  readonly reason: string;
  readonly processEpoch: number;
  readonly holders: number;
  readonly requests: number;
}

export interface RegistrationInput extends RegistrationOperation {
  readonly rail: string;
  readonly batch: number;
  readonly wait: RailWaitBounds;
  readonly windowMs: number;
}

export interface RegistrationContext extends RegistrationInput {
  readonly revision: number;
  readonly generation: number;
  readonly processEpoch: number;
  readonly holders: number;
  readonly requests: number;
  readonly end: RegistrationOutcome['end'];
  readonly reason: string;
}
export type GateCoordinates = RegistrationOperation & {
  readonly revision: number;
  readonly generation: number;
  readonly processEpoch: number;
};

const registration = setup({
  types: {
    context: {} as RegistrationContext,
    events: {} as ObserveFact | GateFact | CommitFact | ForgetFact | FamilyOutcome | EffectFailed,
    input: {} as RegistrationInput,
    output: {} as RegistrationOutcome,
  },
  actors: {
    observeGate: asked<ObserveFact, RegistrationOperation>('observeGate'),
    freezeGate: asked<GateFact, GateCoordinates>('freezeGate'),
    family: familyMachine,
    commitRegistration: asked<CommitFact, GateCoordinates>('commitRegistration'),
    reopenGate: asked<GateFact, GateCoordinates>('reopenGate'),
    forgetCursor: asked<ForgetFact, RegistrationOperation>('forgetCursor'),
  },
  actions: {
    told: raise(answerOf<ObserveFact | GateFact | CommitFact | ForgetFact | FamilyOutcome>()),
    faulted: raise(surpriseOf),
    keepGate: assign((_, of: { revision: number; generation: number; processEpoch: number }) => ({
      revision: of.revision,
      generation: of.generation,
      processEpoch: of.processEpoch,
    })),
    keepRevision: assign((_, { revision }: { revision: number }) => ({ revision })),
    keepEpoch: assign((_, { processEpoch }: { processEpoch: number }) => ({ processEpoch })),
    keepFamily: assign((_, { holders, requests }: { holders: number; requests: number }) => ({ holders, requests })),
    keepEnd: assign((_, of: { end: RegistrationOutcome['end']; reason: string }) => of),
  },
  guards: {
    isCleared: (_, { end }: { end: string }) => end === 'cleared',
    isRaced: (_, { end }: { end: string }) => end === 'raced',
  },
  delays: { askAgain: 500, window: ({ context }) => context.windowMs },
});

const coordinates = ({ context }: { context: RegistrationContext }): GateCoordinates => {
  const { endpoint, instance, opId, by, incarnation, revision, generation, processEpoch } = context;
  return { endpoint, instance, opId, by, incarnation, revision, generation, processEpoch };
};
const operation = ({ context }: { context: RegistrationContext }): RegistrationOperation => {
  const { endpoint, instance, opId, by, incarnation } = context;
  return { endpoint, instance, opId, by, incarnation };
};
const ending = <E>(target: string, end: RegistrationOutcome['end'], reason: (event: E) => string) =>
  ({
    target: `#registration.${target}`,
    actions: { type: 'keepEnd', params: ({ event }: { event: E }) => ({ end, reason: reason(event) }) },
  }) as const;
const raced = ending('Raced', 'raced', () => 'somebody else wrote the gate or the registration');
const because = ({ reason }: { reason: string }): string => reason;
const keptFamily = { type: 'keepFamily', params: fact<FamilyOutcome> } as const;
const keptEnd = (end: RegistrationOutcome['end']) =>
  ({
    type: 'keepEnd',
    params: ({ event: { reason } }: { event: { reason: string } }) => ({ end, reason }),
  }) as const;

export const registrationMachine = registration.createMachine({
  id: 'registration',
  context: ({ input }) => ({
    ...input,
    revision: 0,
    generation: 0,
    processEpoch: 0,
    holders: 0,
    requests: 0,
    end: 'failed',
    reason: 'it has not ended',
  }),
  initial: 'Working',
  output: ({ context: { end, reason, processEpoch, holders, requests } }) => ({
    type: 'registration.ended',
    end,
    reason,
    processEpoch,
    holders,
    requests,
  }),
  on: { ...deafToLateFailures },
  states: {
    Working: {
      initial: 'Observing',
      after: {
        window: ending('CutShort', 'cut-short', () => 'the window of one attempt is over; what was achieved is kept'),
      },
      on: {
        'store.unanswered': '.Resting',
        'store.refused': ending('Failed', 'failed', because),
        'effect.failed': ending('Failed', 'failed', ({ effect, message }) => `${effect} failed: ${message}`),
      },
      states: {
        Observing: {
          invoke: { id: 'observeGate', src: 'observeGate', input: operation, ...ends },
          on: {
            'gate.open': { target: 'Freezing', actions: { type: 'keepGate', params: fact } },
            'gate.ours': { target: 'Clearing', actions: { type: 'keepGate', params: fact } },
            'gate.settled': { target: 'Forgetting', actions: { type: 'keepEpoch', params: fact } },
            'gate.frozen': ending(
              'Frozen',
              'frozen',
              ({ kind, holder, opId }) =>
                `the gate is frozen by a ${kind} of ${holder} (operation ${opId}); "cotal reconcile-gate" repairs it`,
            ),
            'gate.unusable': ending('Failed', 'failed', because),
          },
        },
        Resting: { after: { askAgain: 'Observing' } },
        Freezing: {
          invoke: { id: 'freezeGate', src: 'freezeGate', input: coordinates, ...ends },
          on: {
            'gate.written': { target: 'Clearing', actions: { type: 'keepRevision', params: fact } },
            'gate.raced': raced,
          },
        },
        Clearing: {
          invoke: {
            id: 'family',
            src: 'family',
            input: ({ context: { endpoint, instance, opId, revision, rail, batch, wait } }) => ({
              endpoint,
              instance,
              opId,
              freezeToken: String(revision),
              rail,
              batch,
              wait,
            }),
            ...ends,
          },
          on: {
            'family.ended': [
              { guard: { type: 'isCleared', params: fact }, target: 'Committing', actions: keptFamily },
              {
                guard: { type: 'isRaced', params: fact },
                target: '#registration.Raced',
                actions: [keptFamily, keptEnd('raced')],
              },
              { target: '#registration.Unverified', actions: [keptFamily, keptEnd('unverified')] },
            ],
          },
        },
        Committing: {
          invoke: { id: 'commitRegistration', src: 'commitRegistration', input: coordinates, ...ends },
          on: {
            'registration.committed': { target: 'Reopening', actions: { type: 'keepEpoch', params: fact } },
            'registration.raced': raced,
          },
        },
        Reopening: {
          invoke: { id: 'reopenGate', src: 'reopenGate', input: coordinates, ...ends },
          on: { 'gate.written': 'Forgetting', 'gate.raced': raced },
        },
        Forgetting: {
          invoke: { id: 'forgetCursor', src: 'forgetCursor', input: operation, ...ends },
          on: { 'cursor.forgotten': ending('Registered', 'registered', () => '') },
        },
      },
    },
    Registered: { type: 'final' },
    Frozen: { type: 'final' },
    Unverified: { type: 'final' },
    Raced: { type: 'final' },
    Failed: { type: 'final' },
    CutShort: { type: 'final' },
  },
});
