/**
 * renewal: standing credentials are signed again at half of their life, by one renewer, into the store that the daemon re-reads.
 *
 *   RN1  nothing is signed before the renewal lease is ours
 *   RN2  adopted is recorded only of an answer that says so for the very fingerprint that was signed
 *   RN3  what was signed and not adopted is offered again, and not signed again; where the store has another one by now, that one
 *   RN4  every pass ends in a record of its outcome, and the next one is due: none is missed, none follows at once
 *   RN5  while something stays due the rests get longer, up to their limit and never past the next look that its life needs
 */
import { assign, raise, setup } from 'xstate';
import type { RailWaitBounds } from '../domain/manager-numbers.ts';
import { restAfter } from '../domain/renewal.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, surpriseOf } from './effects.ts';
import { type RailWaitOutcome, railWaitMachine } from './rail-wait.machine.ts';

export type DueFact =
  /** `waitMs`: the longest until the next look. */
  | { type: 'credentials.due'; names: readonly string[]; waitMs: number }
  /** `fingerprint`: of the delivery credential in the store; empty where it has none. */
  | { type: 'credentials.fresh'; waitMs: number; fingerprint: string }
  | { type: 'store.unreadable'; reason: string };
export type OwnFact =
  | { type: 'renewal.ours' }
  | { type: 'renewal.held'; by: string }
  | { type: 'renewal.unanswered'; reason: string };
export type SignFact =
  /** `fingerprint`: of the delivery credential; empty where it was not among them. */
  | { type: 'credentials.signed'; names: readonly string[]; fingerprint: string }
  | { type: 'signing.failed'; reason: string };
export type RecordedFact = { type: 'outcome.recorded' };

export interface RenewalRecord {
  readonly outcome: 'adopted' | 'signed' | 'held' | 'refused' | 'failed';
  readonly names: readonly string[];
  readonly fingerprint: string;
  readonly reason: string;
}

export interface RenewalInput {
  readonly rail: string;
  readonly wait: RailWaitBounds;
  /** Longest rest after a pass that did not help. */
  readonly retryMs: number;
}
export interface RenewalContext extends RenewalInput, RenewalRecord {
  readonly waitMs: number;
  /** Signed and not adopted yet. */
  readonly offered: string;
  /** Passes since nothing was due. */
  readonly passes: number;
}

type Adoption = { adopted?: unknown; fingerprint?: unknown };

const renewal = setup({
  types: {
    context: {} as RenewalContext,
    events: {} as DueFact | OwnFact | SignFact | RecordedFact | RailWaitOutcome | EffectFailed,
    input: {} as RenewalInput,
  },
  actors: {
    lookAtCredentials: asked<DueFact, undefined>('lookAtCredentials'),
    ownRenewal: asked<OwnFact, undefined>('ownRenewal'),
    signCredentials: asked<SignFact, { names: readonly string[] }>('signCredentials'),
    railWait: railWaitMachine,
    recordOutcome: asked<RecordedFact, RenewalRecord>('recordOutcome'),
  },
  actions: {
    told: raise(answerOf<DueFact | OwnFact | SignFact | RecordedFact | RailWaitOutcome>()),
    faulted: raise(surpriseOf),
    keepDue: assign((_, { names }: { names: readonly string[] }) => ({ names })),
    keepWait: assign((_, { waitMs }: { waitMs: number }) => ({ waitMs })),
    countPass: assign(({ context }) => ({ passes: context.passes + 1 })),
    keepFresh: assign({ passes: 0 }),
    keepSigned: assign(({ context }, of: { names: readonly string[]; fingerprint: string }) => ({
      names: of.names,
      fingerprint: of.fingerprint,
      offered: of.fingerprint === '' ? context.offered : of.fingerprint,
      outcome: 'signed' as const,
      reason: '',
    })),
    keepStored: assign(({ context }, stored: { fingerprint: string }) => {
      const fingerprint = stored.fingerprint === '' ? context.offered : stored.fingerprint;
      return { offered: fingerprint, fingerprint };
    }),
    keepOffer: assign(({ context }) => ({ fingerprint: context.offered })),
    keepOutcome: assign((_, of: { outcome: RenewalRecord['outcome']; reason: string }) => of),
    keepAdopted: assign({ outcome: 'adopted', reason: '', offered: '' }),
  },
  guards: {
    isOffered: ({ context }) => context.offered !== '',
    isAdopted: ({ context }, { data }: { data: unknown }) => {
      const { adopted, fingerprint } = (data as Adoption | null) ?? {};
      return adopted === true && fingerprint === context.offered;
    },
    isForDaemon: ({ context }, { fingerprint }: { fingerprint: string }) =>
      fingerprint !== '' || context.offered !== '',
    isNobodyDue: ({ context }) => context.names.length === 0,
  },
  delays: {
    untilDue: ({ context }) => context.waitMs,
    rest: ({ context }) => restAfter({ ...context, limitMs: context.retryMs }),
  },
});

const recorded = <E>(outcome: RenewalRecord['outcome'], reason: (event: E) => string) =>
  ({
    target: '#renewal.Recording',
    actions: { type: 'keepOutcome', params: ({ event }: { event: E }) => ({ outcome, reason: reason(event) }) },
  }) as const;
const because = ({ reason }: { reason: string }): string => reason;
const said = ({ message }: { message: string }): string => message;

export const renewalMachine = renewal.createMachine({
  id: 'renewal',
  context: ({ input }) => ({
    ...input,
    outcome: 'signed',
    names: [],
    fingerprint: '',
    reason: '',
    waitMs: input.retryMs,
    offered: '',
    passes: 0,
  }),
  initial: 'Looking',
  on: {
    ...deafToLateFailures,
    'effect.failed': {
      target: '.Resting',
      actions: {
        type: 'keepOutcome',
        params: ({ event: { effect, message } }) => ({ outcome: 'failed', reason: `${effect} failed: ${message}` }),
      },
    },
  },
  states: {
    Looking: {
      invoke: { id: 'lookAtCredentials', src: 'lookAtCredentials', ...ends },
      on: {
        'credentials.due': {
          target: 'Owning',
          actions: [
            { type: 'keepDue', params: fact },
            { type: 'keepWait', params: fact },
          ],
        },
        'credentials.fresh': [
          {
            guard: 'isOffered',
            target: 'Owning',
            actions: [
              { type: 'keepDue', params: () => ({ names: [] }) },
              { type: 'keepWait', params: fact },
              { type: 'keepStored', params: fact },
            ],
          },
          { target: 'Waiting', actions: [{ type: 'keepWait', params: fact }, 'keepFresh'] },
        ],
        'store.unreadable': recorded('failed', because),
      },
    },
    /** Nobody is due: the time until the first one is runs. */
    Waiting: { after: { untilDue: 'Looking' } },
    Owning: {
      invoke: { id: 'ownRenewal', src: 'ownRenewal', ...ends },
      on: {
        'renewal.ours': [{ guard: 'isNobodyDue', target: 'Reloading' }, { target: 'Signing' }],
        'renewal.held': recorded('held', ({ by }) => `${by} renews`),
        'renewal.unanswered': recorded('failed', because),
      },
    },
    Signing: {
      invoke: {
        id: 'signCredentials',
        src: 'signCredentials',
        input: ({ context: { names } }) => ({ names }),
        ...ends,
      },
      on: {
        'credentials.signed': [
          {
            guard: { type: 'isForDaemon', params: fact },
            target: 'Reloading',
            actions: [{ type: 'keepSigned', params: fact }, 'keepOffer'],
          },
          { target: 'Recording', actions: { type: 'keepSigned', params: fact } },
        ],
        'signing.failed': recorded('failed', because),
      },
    },
    Reloading: {
      invoke: {
        id: 'railWait',
        src: 'railWait',
        input: ({ context: { wait, rail, offered } }) => ({
          ...wait,
          rail,
          op: 'reloadCreds',
          args: { expected: offered },
        }),
        ...ends,
      },
      on: {
        'wait.answered': [
          { guard: { type: 'isAdopted', params: fact }, target: 'Recording', actions: 'keepAdopted' },
          recorded('refused', () => 'the daemon did not adopt it'),
        ],
        'wait.refused': recorded('refused', said),
        'wait.unreadable': recorded('failed', said),
        'wait.denied': recorded('failed', said),
        'wait.silent': recorded('failed', said),
        'wait.failed': recorded('failed', said),
      },
    },
    Recording: {
      invoke: {
        id: 'recordOutcome',
        src: 'recordOutcome',
        input: ({ context: { outcome, names, fingerprint, reason } }) => ({ outcome, names, fingerprint, reason }),
        ...ends,
      },
      on: { 'outcome.recorded': 'Resting' },
    },
    /** Also after a good one: the next look tells whether the store has what was signed. */
    Resting: { entry: 'countPass', after: { rest: 'Looking' } },
  },
});
