/**
 * eviction: a family of holders is verified gone, at most 256 a request, with a cursor that outlives whoever does it.
 *
 *   E1  whoever a request verified is recorded, by compare-and-set, before the next request leaves
 *   E2  it begins where the cursor of this very freeze says; a write without an answer is settled by reading the cursor again
 *   E3  an unserved verb, silence, an answer that does not fit, somebody who is still there: it ends with that reason, and
 *       what was proved until then stays recorded
 *   E4  the cursor of another freeze, or one that cannot be read, is left as it is
 *
 * A store that stays silent is asked again for as long as whoever asked for this waits.
 */
import { assign, raise, setup } from 'xstate';
import { type EvictionJudgement, readEviction } from '../domain/eviction.ts';
import type { RailWaitBounds } from '../domain/manager-numbers.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, surpriseOf } from './effects.ts';
import { type RailWaitOutcome, railWaitMachine } from './rail-wait.machine.ts';

/** Which freeze of which endpoint. */
export interface Freeze {
  readonly endpoint: string;
  readonly instance: string;
  readonly opId: string;
  readonly freezeToken: string;
}

export type CursorFact =
  /** `remaining`: who is not verified yet, sorted. */
  | { type: 'cursor.opened'; revision: number; remaining: readonly string[]; verified: number }
  | { type: 'cursor.foreign'; opId: string }
  | { type: 'cursor.unreadable' }
  | { type: 'store.unanswered' }
  | { type: 'store.refused'; reason: string };
export type RecordFact =
  | { type: 'cursor.recorded'; revision: number }
  | { type: 'cursor.conflicted' }
  | { type: 'store.unanswered' }
  | { type: 'store.refused'; reason: string };

/** `raced`: somebody else wrote the cursor. `requests`: how many were answered by the daemon. */
export interface EvictionOutcome {
  readonly type: 'eviction.ended';
  readonly end: 'verified' | 'unverified' | 'raced';
  readonly reason: string;
  readonly verified: number;
  readonly requests: number;
}

export interface EvictionInput extends Freeze {
  readonly rail: string;
  readonly holders: readonly string[];
  readonly batch: number;
  readonly wait: RailWaitBounds;
}

export interface EvictionContext extends EvictionInput {
  readonly revision: number;
  readonly remaining: readonly string[];
  readonly verified: number;
  readonly requests: number;
  readonly judged: EvictionJudgement;
  readonly end: EvictionOutcome['end'];
  readonly reason: string;
}

const nextBatch = ({ remaining, batch }: Pick<EvictionContext, 'remaining' | 'batch'>): readonly string[] =>
  remaining.slice(0, batch);

const NOBODY: EvictionJudgement = { verified: [] };

const eviction = setup({
  types: {
    context: {} as EvictionContext,
    events: {} as CursorFact | RecordFact | RailWaitOutcome | EffectFailed,
    input: {} as EvictionInput,
    output: {} as EvictionOutcome,
  },
  actors: {
    openCursor: asked<CursorFact, Freeze & { holders: readonly string[] }>('openCursor'),
    railWait: railWaitMachine,
    recordVerified: asked<RecordFact, Freeze & { revision: number; verified: readonly string[] }>('recordVerified'),
  },
  actions: {
    told: raise(answerOf<CursorFact | RecordFact | RailWaitOutcome>()),
    faulted: raise(surpriseOf),
    keepCursor: assign((_, of: { revision: number; remaining: readonly string[]; verified: number }) => ({
      revision: of.revision,
      remaining: of.remaining,
      verified: of.verified,
      judged: NOBODY,
    })),
    keepJudgement: assign(({ context }, { data }: { data: unknown }) => ({
      requests: context.requests + 1,
      judged: readEviction(nextBatch(context), data),
    })),
    keepRecorded: assign(({ context }, { revision }: { revision: number }) => {
      const gone = new Set(context.judged.verified);
      return {
        revision,
        remaining: context.remaining.filter((holder) => !gone.has(holder)),
        verified: context.verified + gone.size,
      };
    }),
    keepReason: assign((_, { reason }: { reason: string }) => ({ end: 'unverified' as const, reason })),
    keepJudgedReason: assign(({ context }) => ({ end: 'unverified' as const, reason: context.judged.why ?? '' })),
    keepRaced: assign({ end: 'raced', reason: 'somebody else wrote the repair cursor' }),
    keepVerified: assign({ end: 'verified', reason: '' }),
  },
  guards: {
    isAllGone: ({ context }) => context.remaining.length === 0,
    isNobodyProved: ({ context }, { data }: { data: unknown }) =>
      readEviction(nextBatch(context), data).verified.length === 0,
    isAnybodyLeft: ({ context }) => context.judged.why !== undefined,
  },
  delays: { askAgain: 500 },
});

const freezeOf = ({ endpoint, instance, opId, freezeToken }: Freeze): Freeze => ({
  endpoint,
  instance,
  opId,
  freezeToken,
});
const unverified = <E>(reason: (event: E) => string) =>
  ({
    target: '#eviction.Unverified',
    actions: { type: 'keepReason', params: ({ event }: { event: E }) => ({ reason: reason(event) }) },
  }) as const;
const said = ({ message }: { message: string }): string => message;
const because = ({ reason }: { reason: string }): string => reason;

export const evictionMachine = eviction.createMachine({
  id: 'eviction',
  context: ({ input }) => ({
    ...input,
    revision: 0,
    remaining: [],
    verified: 0,
    requests: 0,
    judged: NOBODY,
    end: 'unverified',
    reason: 'it has not ended',
  }),
  initial: 'Opening',
  output: ({ context: { end, reason, verified, requests } }) => ({
    type: 'eviction.ended',
    end,
    reason,
    verified,
    requests,
  }),
  on: {
    ...deafToLateFailures,
    'effect.failed': unverified(({ effect, message }) => `${effect} failed: ${message}`),
  },
  states: {
    Opening: {
      invoke: {
        id: 'openCursor',
        src: 'openCursor',
        input: ({ context }) => ({ ...freezeOf(context), holders: context.holders }),
        ...ends,
      },
      on: {
        'cursor.opened': { target: 'Choosing', actions: { type: 'keepCursor', params: fact } },
        'cursor.foreign': unverified(({ opId }) => `the repair cursor belongs to another freeze (operation ${opId})`),
        'cursor.unreadable': unverified(() => 'the repair cursor cannot be read'),
        'store.refused': unverified(because),
        'store.unanswered': 'Resting',
      },
    },
    Resting: { after: { askAgain: 'Opening' } },
    Choosing: {
      always: [{ guard: 'isAllGone', target: 'Verified', actions: 'keepVerified' }, { target: 'Requesting' }],
    },
    Requesting: {
      invoke: {
        id: 'railWait',
        src: 'railWait',
        input: ({ context }) => ({
          ...context.wait,
          rail: context.rail,
          op: 'evictPrincipals',
          args: { principals: nextBatch(context) },
        }),
        ...ends,
      },
      on: {
        'wait.answered': [
          {
            guard: { type: 'isNobodyProved', params: fact },
            target: 'Unverified',
            actions: [{ type: 'keepJudgement', params: fact }, 'keepJudgedReason'],
          },
          { target: 'Recording', actions: { type: 'keepJudgement', params: fact } },
        ],
        'wait.refused': unverified(said),
        'wait.unreadable': unverified(said),
        'wait.denied': unverified(said),
        'wait.silent': unverified(said),
        'wait.failed': unverified(said),
      },
    },
    Recording: {
      invoke: {
        id: 'recordVerified',
        src: 'recordVerified',
        input: ({ context }) => ({
          ...freezeOf(context),
          revision: context.revision,
          verified: context.judged.verified,
        }),
        ...ends,
      },
      on: {
        'cursor.recorded': [
          {
            guard: 'isAnybodyLeft',
            target: 'Unverified',
            actions: [{ type: 'keepRecorded', params: fact }, 'keepJudgedReason'],
          },
          { target: 'Choosing', actions: { type: 'keepRecorded', params: fact } },
        ],
        'cursor.conflicted': { target: 'Raced', actions: 'keepRaced' },
        'store.refused': unverified(because),
        /** It may have been stored: the cursor says. */
        'store.unanswered': 'Resting',
      },
    },
    Verified: { type: 'final' },
    Unverified: { type: 'final' },
    Raced: { type: 'final' },
  },
});
