/**
 * railWait: one question on a rail, until a daemon answers it or the time is up.
 *
 *   W1  only an attempt that timed out, found no responder or no connection is followed by another one
 *   W2  gaps shrink toward the deadline; the last attempt still has time to be answered
 *   W3  at the deadline everything stops, also an attempt that is still connecting, and nothing is sent after it
 *   W4  a refusal, or a reply that cannot be read, ends it at once, with the daemon's reason
 *   W5  silence ends it with the rail's name
 *
 * The wait has no clock: each attempt says when the first one began and how much is left.
 */
import { assign, raise, setup } from 'xstate';
import type { RailWaitBounds } from '../domain/manager-numbers.ts';
import { gapBefore } from '../domain/pacing.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, surpriseOf } from './effects.ts';

export type RailFact =
  | { type: 'rail.answered'; data: unknown }
  | { type: 'rail.refused'; code: string; message: string }
  | { type: 'rail.denied'; subject: string; operation: string }
  | { type: 'rail.unreadable' }
  /**
   * `since`: when the first attempt began, by the clock of whoever asks. `leftMs`: from now to the end. `why` is empty where
   * no time was left to ask.
   */
  | { type: 'rail.silent'; why: string; since: number; leftMs: number };

/** How a wait ended. `message` is for a person; `answered` is the only good one. */
export type RailWaitOutcome =
  | { type: 'wait.answered'; data: unknown }
  | { type: 'wait.refused'; code: string; message: string }
  | { type: 'wait.unreadable'; message: string }
  | { type: 'wait.denied'; message: string }
  | { type: 'wait.silent'; attempts: number; message: string }
  | { type: 'wait.failed'; message: string };

export interface RailQuestion {
  readonly op: string;
  readonly args: unknown;
}

export interface RailWaitInput extends RailQuestion, RailWaitBounds {
  /** For the messages: `ctl.delivery-admin`. */
  readonly rail: string;
}

export interface RailWaitContext extends RailWaitInput {
  /** Attempts that were silent. */
  readonly attempts: number;
  readonly since: number | null;
  readonly leftMs: number;
  readonly why: string;
  readonly outcome: RailWaitOutcome;
}

/** What an attempt is asked with. */
export interface Attempt extends RailQuestion {
  readonly since: number | null;
  readonly waitMs: number;
  readonly attemptMs: number;
}

const railWait = setup({
  types: {
    context: {} as RailWaitContext,
    events: {} as RailFact | EffectFailed,
    input: {} as RailWaitInput,
    output: {} as RailWaitOutcome,
  },
  actors: { askRail: asked<RailFact, Attempt>('askRail') },
  actions: {
    told: raise(answerOf<RailFact>()),
    faulted: raise(surpriseOf),
    keepSilence: assign(({ context }, { why, since, leftMs }: { why: string; since: number; leftMs: number }) => ({
      attempts: context.attempts + 1,
      why: why === '' ? context.why : why,
      since,
      leftMs,
    })),
    keepOutcome: assign((_, outcome: RailWaitOutcome) => ({ outcome })),
    keepTimeUp: assign(({ context }) => ({ outcome: silence(context) })),
  },
  guards: {
    hasRoom: ({ context }, { leftMs }: { leftMs: number }) =>
      gapBefore(context.attempts + 1, leftMs, context) !== undefined,
  },
  delays: {
    deadline: ({ context }) => context.waitMs,
    nextGap: ({ context }) => gapBefore(context.attempts, context.leftMs, context) ?? context.waitMs,
  },
});

function silence({ rail, op, waitMs, attempts, why }: RailWaitContext): RailWaitOutcome {
  const last = why === '' ? 'an attempt was still under way' : `last: ${why}`;
  return {
    type: 'wait.silent',
    attempts,
    message: `nobody answered ${op} on ${rail} within ${waitMs / 1000} s (${last})`,
  };
}

const ending = <E>(target: string, outcome: (context: RailWaitContext, event: E) => RailWaitOutcome) =>
  ({
    target,
    actions: {
      type: 'keepOutcome',
      params: ({ context, event }: { context: RailWaitContext; event: E }) => outcome(context, event),
    },
  }) as const;

export const railWaitMachine = railWait.createMachine({
  id: 'railWait',
  context: ({ input }) => ({
    ...input,
    attempts: 0,
    since: null,
    leftMs: input.waitMs,
    why: '',
    outcome: { type: 'wait.failed', message: 'it has not ended' },
  }),
  initial: 'Waiting',
  output: ({ context }) => context.outcome,
  on: { ...deafToLateFailures },
  states: {
    Waiting: {
      after: { deadline: { target: 'Silent', actions: 'keepTimeUp' } },
      initial: 'Asking',
      states: {
        Asking: {
          invoke: {
            id: 'askRail',
            src: 'askRail',
            input: ({ context: { op, args, since, waitMs, attemptMs } }) => ({ op, args, since, waitMs, attemptMs }),
            ...ends,
          },
          on: {
            'rail.answered': ending('#railWait.Answered', (_, { data }) => ({ type: 'wait.answered', data })),
            'rail.refused': ending('#railWait.Refused', (_, { code, message }) => ({
              type: 'wait.refused',
              code,
              message,
            })),
            'rail.unreadable': ending('#railWait.Unreadable', ({ rail, op }) => ({
              type: 'wait.unreadable',
              message: `the reply to ${op} on ${rail} cannot be read`,
            })),
            'rail.denied': ending('#railWait.Denied', (_, { operation, subject }) => ({
              type: 'wait.denied',
              message: `${operation} on ${subject} was denied`,
            })),
            'rail.silent': [
              {
                guard: { type: 'hasRoom', params: fact },
                target: 'Resting',
                actions: { type: 'keepSilence', params: fact },
              },
              { target: 'Spent', actions: { type: 'keepSilence', params: fact } },
            ],
            'effect.failed': ending('#railWait.Failed', (_, { effect, message }) => ({
              type: 'wait.failed',
              message: `${effect} failed: ${message}`,
            })),
          },
        },
        Resting: { after: { nextGap: 'Asking' } },
        /** No attempt would be answered in time any more: the end is waited for. */
        Spent: {},
      },
    },
    Answered: { type: 'final' },
    Refused: { type: 'final' },
    Unreadable: { type: 'final' },
    Denied: { type: 'final' },
    Silent: { type: 'final' },
    Failed: { type: 'final' },
  },
});
