/** What the credential machine is made of: its context, effects, actions, guards and delays. The chart is in `credential.machine.ts`. */
import { assign, raise, sendParent, setup } from 'xstate';
import { backstopLeft } from '../domain/outage.ts';
import { backOff } from '../domain/pacing.ts';
import { type Answered, isWanted, type Reload, type Settled } from '../domain/reload.ts';
import type {
  CredentialEvent,
  CredentialInput,
  CredentialReport,
  ExpiryFact,
  LifeFact,
  LookFact,
  ProofFact,
  ResidentFact,
} from './credential.facts.ts';
import { answerOf, asked, surpriseOf } from './effects.ts';

export interface CredentialContext extends CredentialInput {
  /** Looks of our own since the last renewal that found none, or dials that failed. */
  readonly failures: number;
  readonly waitMs: number;
  /** Monotonic time of the expiry. */
  readonly since: number;
  readonly backstopWaitMs: number;
  readonly asked: readonly Reload[];
  readonly later: readonly Reload[];
}

export const credential = setup({
  types: { context: {} as CredentialContext, events: {} as CredentialEvent, input: {} as CredentialInput },
  actors: {
    measureLife: asked<LifeFact, undefined>('measureLife'),
    readCredential: asked<LookFact, undefined>('readCredential'),
    proveCredential: asked<ProofFact, undefined>('proveCredential'),
    openResident: asked<ResidentFact, undefined>('openResident'),
    measureExpiry: asked<ExpiryFact, { since: number }>('measureExpiry'),
  },
  actions: {
    told: raise(answerOf<CredentialEvent>()),
    faulted: raise(surpriseOf),
    admit: raise((_, reload: Reload): CredentialEvent => ({ ...reload, type: 'reload.admitted' })),
    queue: assign(({ context }, { ticket, expected }: Reload) => ({ later: [...context.later, { ticket, expected }] })),
    board: assign(({ context }) => ({ asked: [...context.asked, ...context.later], later: [] })),
    keepLeft: assign((_, { left }: Settled) => ({ asked: [], later: left })),
    forgetWaiting: assign({ asked: [], later: [] }),
    countFailure: assign(({ context }) => ({ failures: context.failures + 1 })),
    forgetFailures: assign({ failures: 0 }),
    keepWait: assign((_, { waitMs }: { waitMs: number }) => ({ waitMs })),
    keepConnection: assign((_, { connection }: { connection: number }) => ({ connection })),
    keepExpiry: assign((_, { at }: { at: number }) => ({ since: at })),
    waitForBackstop: assign(({ context }, { elapsedMs }: { elapsedMs: number }) => ({
      backstopWaitMs: backstopLeft({ elapsedMs, stalledMs: 0 }, context.backstopMs),
    })),
    report: sendParent((_, report: CredentialReport) => report),
    /** Bound by the services: the candidate that was proved is the one in use from here on. */
    adopt: () => {},
    /** Bound by the services: the connection that was dialled is the resident one from here on. */
    moveIn: () => {},
    /** Bound by the services: hands the answers to whoever holds the tickets. */
    answer: (_, _settled: { answers: readonly Answered[] }) => {},
    /** Bound by the services: whoever waits hears nothing. */
    silence: () => {},
    tellExpired: () => {},
    tellLapsed: () => {},
    tellAdopted: (_, _facts: { fingerprint: string }) => {},
    tellNotRenewed: (_, _facts: { why: string }) => {},
    tellNotDialled: (_, _facts: { why: string }) => {},
  },
  guards: {
    isResident: ({ context }, { connection }: { connection: number }) => connection === context.connection,
    isEarly: (_, { isDue }: { isDue: boolean }) => !isDue,
    hasFailed: ({ context }) => context.failures > 0,
    isOwnLook: ({ context }) => context.asked.length === 0,
    isWanted: ({ context }, { fingerprint }: { fingerprint: string }) => isWanted(context, fingerprint),
    isAwaited: ({ context }) => context.later.length > 0,
    isPastBackstop: ({ context }, { elapsedMs }: { elapsedMs: number }) =>
      backstopLeft({ elapsedMs, stalledMs: 0 }, context.backstopMs) <= 0,
    isOf: (_, { effect, of }: { effect: string; of: readonly string[] }) => of.includes(effect),
  },
  delays: {
    tick: ({ context }) => context.waitMs,
    flightDeadline: 4_000,
    lookAgain: ({ context }) => backOff(context.failures, 1_000, 300_000),
    waitForRenewal: ({ context }) => backOff(context.failures, 500, 5_000),
    dialAgain: ({ context }) => backOff(context.failures, 500, 5_000),
    backstop: ({ context }) => context.backstopWaitMs,
  },
});
