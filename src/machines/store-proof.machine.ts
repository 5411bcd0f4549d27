/**
 * storeProof: whether the holder of the delivery lease re-reads the very store that we write into.
 *
 *   SP1  matched is said only after the holder's answer to this challenge was verified against the lease row and our store
 *   SP2  a mismatch is told with both names, and is not a failure
 *   SP3  what cannot be told fails closed: a refusal, an unreadable reply, a row that cannot be read, a holder that is silent
 *   SP4  without any holder there is no daemon yet, which is told as that
 */
import { assign, raise, setup } from 'xstate';
import type { RailWaitBounds } from '../domain/manager-numbers.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, surpriseOf } from './effects.ts';
import { type RailWaitOutcome, railWaitMachine } from './rail-wait.machine.ts';

export type VerifyFact =
  | { type: 'proof.matched'; incarnation: string }
  | { type: 'proof.mismatched'; ours: string; theirs: string }
  | { type: 'proof.undetermined'; reason: string };
export type HolderFact =
  | { type: 'holder.absent' }
  /** In words: who holds the lease, and how. */
  | { type: 'holder.there'; holder: string }
  | { type: 'holder.unknown'; reason: string };

/**
 * `matched`: the same store. `mismatched`: another one. `no-daemon`: nobody holds the lease. `refused`: the daemon said no.
 * `silent`: it holds the lease and says nothing. `undetermined`: it cannot be told.
 */
export type ProofEnd = 'matched' | 'mismatched' | 'no-daemon' | 'refused' | 'silent' | 'undetermined';
export interface ProofOutcome {
  readonly type: 'proof.ended';
  readonly end: ProofEnd;
  readonly message: string;
  /** Both names, where they differ. */
  readonly ours: string;
  readonly theirs: string;
}

export interface StoreProofInput {
  readonly rail: string;
  readonly challenge: string;
  readonly wait: RailWaitBounds;
}

export interface StoreProofContext extends StoreProofInput {
  readonly answer: unknown;
  readonly outcome: ProofOutcome;
}

const storeProof = setup({
  types: {
    context: {} as StoreProofContext,
    events: {} as RailWaitOutcome | VerifyFact | HolderFact | EffectFailed,
    input: {} as StoreProofInput,
    output: {} as ProofOutcome,
  },
  actors: {
    railWait: railWaitMachine,
    verifyProof: asked<VerifyFact, { challenge: string; answer: unknown }>('verifyProof'),
    lookForHolder: asked<HolderFact, undefined>('lookForHolder'),
  },
  actions: {
    told: raise(answerOf<RailWaitOutcome | VerifyFact | HolderFact>()),
    faulted: raise(surpriseOf),
    keepAnswer: assign((_, { data }: { data: unknown }) => ({ answer: data })),
    keepEnd: assign((_, of: { end: ProofEnd; message: string; ours?: string; theirs?: string }) => ({
      outcome: { type: 'proof.ended' as const, ours: '', theirs: '', ...of },
    })),
  },
});

const ending = <E>(target: string, end: ProofEnd, message: (event: E) => string) =>
  ({
    target,
    actions: { type: 'keepEnd', params: ({ event }: { event: E }) => ({ end, message: message(event) }) },
  }) as const;
const said = ({ message }: { message: string }): string => message;
const because = ({ reason }: { reason: string }): string => reason;

export const storeProofMachine = storeProof.createMachine({
  id: 'storeProof',
  context: ({ input }) => ({
    ...input,
    answer: null,
    outcome: { type: 'proof.ended', end: 'undetermined', message: 'it has not ended', ours: '', theirs: '' },
  }),
  initial: 'Challenging',
  output: ({ context }) => context.outcome,
  on: {
    ...deafToLateFailures,
    'effect.failed': ending('.Undetermined', 'undetermined', ({ effect, message }) => `${effect} failed: ${message}`),
  },
  states: {
    Challenging: {
      invoke: {
        id: 'railWait',
        src: 'railWait',
        input: ({ context: { rail, challenge, wait } }) => ({
          ...wait,
          rail,
          op: 'reloadStoreIdentity',
          args: { challenge },
        }),
        ...ends,
      },
      on: {
        'wait.answered': {
          target: 'Verifying',
          actions: { type: 'keepAnswer', params: ({ event }) => event },
        },
        'wait.refused': ending('Refused', 'refused', said),
        'wait.unreadable': ending('Undetermined', 'undetermined', said),
        'wait.denied': ending('Undetermined', 'undetermined', said),
        'wait.failed': ending('Undetermined', 'undetermined', said),
        'wait.silent': {
          target: 'Looking',
          actions: { type: 'keepEnd', params: ({ event }) => ({ end: 'silent', message: event.message }) },
        },
      },
    },
    Verifying: {
      invoke: {
        id: 'verifyProof',
        src: 'verifyProof',
        input: ({ context: { challenge, answer } }) => ({ challenge, answer }),
        ...ends,
      },
      on: {
        'proof.matched': ending(
          'Matched',
          'matched',
          ({ incarnation }) => `the holder ${incarnation} re-reads our store`,
        ),
        'proof.mismatched': {
          target: 'Mismatched',
          actions: {
            type: 'keepEnd',
            params: ({ event: { ours, theirs } }) => ({
              end: 'mismatched',
              message: `we write into ${ours}, the daemon re-reads ${theirs}`,
              ours,
              theirs,
            }),
          },
        },
        'proof.undetermined': ending('Undetermined', 'undetermined', because),
      },
    },
    /** Nobody answered. Whether anybody could have is what the lease row says. */
    Looking: {
      invoke: { id: 'lookForHolder', src: 'lookForHolder', ...ends },
      on: {
        'holder.absent': {
          target: 'NoDaemon',
          actions: {
            type: 'keepEnd',
            params: ({ context }) => ({
              end: 'no-daemon',
              message: `${context.outcome.message}; nobody holds the delivery lease`,
            }),
          },
        },
        'holder.there': {
          target: 'Undetermined',
          actions: {
            type: 'keepEnd',
            params: ({ context, event }) => ({
              end: 'silent',
              message: `${context.outcome.message}; the delivery lease is ${event.holder}`,
            }),
          },
        },
        'holder.unknown': {
          target: 'Undetermined',
          actions: {
            type: 'keepEnd',
            params: ({ context, event }) => ({
              end: 'undetermined',
              message: `${context.outcome.message}; ${event.reason}`,
            }),
          },
        },
      },
    },
    Matched: { type: 'final' },
    Mismatched: { type: 'final' },
    NoDaemon: { type: 'final' },
    Refused: { type: 'final' },
    Undetermined: { type: 'final' },
  },
});
