/** What a provider link is made of: context, effects, actions, guards and delays. The chart is beside it. */
import { assign, raise, setup } from 'xstate';
import { answerOf, asked, heard, surpriseOf } from './effects.ts';
import type {
  Failure,
  HeartbeatFact,
  InventoryFact,
  LinkEnd,
  LinkEvent,
  LinkInput,
  RegisterFact,
  RetryFact,
  SocketFact,
} from './provider-link.facts.ts';

export interface LinkContext extends LinkInput {
  /** Failures in a row; an inventory reply forgets them. */
  readonly failures: number;
  /** 401s in a row; an open socket forgets them. */
  readonly unauthorized: number;
  readonly end: LinkEnd['end'];
  readonly failure: Failure | null;
  /** What the peer asked to wait, with the last failure. */
  readonly guidanceMs: number | null;
  readonly waitMs: number;
}

export const link = setup({
  types: {
    context: {} as LinkContext,
    events: {} as LinkEvent,
    input: {} as LinkInput,
    output: {} as LinkEnd,
    tags: {} as 'serving' | 'transport',
  },
  actors: {
    /** One attempt's socket: reads the token, dials, and tells what comes. Closed with the state. */
    holdSocket: heard<SocketFact, { renewToken: boolean }>('holdSocket'),
    writeRegister: asked<RegisterFact, undefined>('writeRegister'),
    sendHeartbeat: asked<HeartbeatFact, undefined>('sendHeartbeat'),
    syncInventory: asked<InventoryFact, undefined>('syncInventory'),
    planRetry: asked<RetryFact, { failures: number; guidanceMs: number | null }>('planRetry'),
  },
  actions: {
    told: raise(answerOf<LinkEvent>()),
    faulted: raise(surpriseOf),
    keepFailure: assign(
      ({ context }, { code, message, guidanceMs = null }: Failure & { guidanceMs?: number | null }) => ({
        failures: context.failures + 1,
        failure: { code, message },
        guidanceMs,
      }),
    ),
    keepRefusal: assign((_, { code, message }: Failure) => ({ end: 'refused' as const, failure: { code, message } })),
    countUnauthorized: assign(({ context }) => ({ unauthorized: context.unauthorized + 1 })),
    forgetUnauthorized: assign({ unauthorized: 0 }),
    forgetFailures: assign({ failures: 0, guidanceMs: null }),
    keepWait: assign((_, { waitMs }: { waitMs: number }) => ({ waitMs })),
    tellReady: () => {},
    tellRejected: (_, _facts: Failure & { guidanceMs: number | null }) => {},
    tellFailed: (_, _facts: Failure) => {},
    tellRefused: (_, _facts: Failure) => {},
    tellUncertified: (_, _facts: { agentId: string; seq: number }) => {},
    tellGap: (_, _facts: { agentId: string; expected: number; seq: number }) => {},
    tellInventoryRefused: (_, _facts: Failure) => {},
  },
  guards: {
    mayReadTokenAgain: ({ context }) => context.unauthorized < context.tokenRereads,
    leavesGap: (_, { gaps }: { gaps: number }) => gaps > 0,
    isUnregistered: (_, { code }: { code: string }) => code === 'provider_not_registered',
  },
  delays: {
    connectWithin: 15_000,
    registerWithin: 10_000,
    heartbeatEvery: 12_000,
    inventoryEvery: 60_000,
    inventoryAgain: 5_000,
    deadAfter: 120_000,
    retryAfter: ({ context }) => context.waitMs,
  },
});
