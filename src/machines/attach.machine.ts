/**
 * attach: one serving holder for one session, from its credential to the proof that nobody holds it any more.
 *
 *   AT1  it is attached only after the holder's row was written; a session that has a holder gets no second one
 *   AT2  the row is removed only after the holder was revoked and an answer proved it gone
 *   AT3  a session that ends while its holder is issued ends that holder too
 *   AT4  a holder that is not proved gone keeps its row: the next registration meets it
 *   AT5  a holder whose row may be there, and is not known to be, is ended like one that was attached: nothing blocks the session
 */
import { assign, raise, setup } from 'xstate';
import { type EvictionJudgement, readEviction } from '../domain/eviction.ts';
import type { RailWaitBounds } from '../domain/manager-numbers.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, surpriseOf } from './effects.ts';
import type { StoreTrouble } from './family.machine.ts';
import { type RailWaitOutcome, railWaitMachine } from './rail-wait.machine.ts';

export interface Holder {
  readonly session: string;
  readonly principal: string;
  readonly credentialId: string;
}
export type IssueFact =
  | { type: 'holder.issued'; principal: string; credentialId: string }
  | { type: 'session.taken'; principal: string }
  /** Its credential was made and stays here; whether its row is there is not known. */
  | { type: 'holder.doubtful'; principal: string; credentialId: string; reason: string }
  | StoreTrouble;
export type RevokeHolderFact = { type: 'holder.revoked' } | StoreTrouble;
export type RemoveHolderFact = { type: 'holder.removed' } | StoreTrouble;

export interface AttachOutcome {
  readonly type: 'attach.ended';
  readonly end: 'ended' | 'taken' | 'kept' | 'failed';
  readonly reason: string;
}

export interface AttachInput {
  readonly session: string;
  readonly rail: string;
  readonly wait: RailWaitBounds;
}
export interface AttachContext extends AttachInput {
  readonly principal: string;
  readonly credentialId: string;
  readonly end: AttachOutcome['end'];
  readonly reason: string;
}

const attach = setup({
  types: {
    context: {} as AttachContext,
    events: {} as
      | IssueFact
      | RevokeHolderFact
      | RemoveHolderFact
      | RailWaitOutcome
      | EffectFailed
      | { type: 'session.ended' },
    input: {} as AttachInput,
    output: {} as AttachOutcome,
  },
  actors: {
    issueHolder: asked<IssueFact, { session: string }>('issueHolder'),
    revokeHolder: asked<RevokeHolderFact, Holder>('revokeHolder'),
    railWait: railWaitMachine,
    removeHolder: asked<RemoveHolderFact, Holder>('removeHolder'),
  },
  actions: {
    told: raise(answerOf<IssueFact | RevokeHolderFact | RemoveHolderFact | RailWaitOutcome>()),
    faulted: raise(surpriseOf),
    keepHolder: assign((_, of: { principal: string; credentialId: string }) => ({
      principal: of.principal,
      credentialId: of.credentialId,
    })),
    keepEnd: assign((_, of: { end: AttachOutcome['end']; reason: string }) => of),
  },
  guards: {
    isGone: ({ context }, { data }: { data: unknown }) => judged(context, data).why === undefined,
  },
  delays: { askAgain: 500 },
});

const judged = ({ principal }: { principal: string }, data: unknown): EvictionJudgement =>
  readEviction([principal], data);
type At = { context: AttachContext };
const holder = ({ context: { session, principal, credentialId } }: At): Holder => ({
  session,
  principal,
  credentialId,
});
const ending = <E>(target: string, end: AttachOutcome['end'], reason: (event: E, context: AttachContext) => string) =>
  ({
    target: `#attach.${target}`,
    actions: {
      type: 'keepEnd',
      params: ({ event, context }: At & { event: E }) => ({ end, reason: reason(event, context) }),
    },
  }) as const;
const because = ({ reason }: { reason: string }): string => reason;
/** It was wanted that it ends: that is what is told when its holder is gone. */
const wanted = { type: 'keepEnd', params: { end: 'ended', reason: '' } } as const;
const said = ({ message }: { message: string }): string => message;
const surprise = ({ effect, message }: EffectFailed): string => `${effect} failed: ${message}`;

export const attachMachine = attach.createMachine({
  id: 'attach',
  context: ({ input }) => ({ ...input, principal: '', credentialId: '', end: 'failed', reason: 'it has not ended' }),
  initial: 'Issuing',
  output: ({ context: { end, reason } }) => ({ type: 'attach.ended', end, reason }),
  on: { ...deafToLateFailures },
  states: {
    Issuing: {
      invoke: {
        id: 'issueHolder',
        src: 'issueHolder',
        input: ({ context: { session } }) => ({ session }),
        ...ends,
      },
      initial: 'Wanted',
      states: {
        Wanted: {
          on: {
            'holder.issued': {
              target: '#attach.Attached',
              actions: { type: 'keepHolder', params: fact },
            },
            'session.ended': 'Unwanted',
          },
        },
        Unwanted: {
          on: {
            'holder.issued': { target: '#attach.Ending', actions: [{ type: 'keepHolder', params: fact }, wanted] },
          },
        },
      },
      on: {
        'holder.doubtful': {
          target: 'Ending',
          actions: [
            { type: 'keepHolder', params: fact },
            { type: 'keepEnd', params: ({ event: { reason } }) => ({ end: 'failed' as const, reason }) },
          ],
        },
        'session.taken': ending('Refused', 'taken', ({ principal }) => `${principal} holds this session already`),
        'store.unanswered': ending('Refused', 'failed', () => 'the store did not answer'),
        'store.refused': ending('Refused', 'failed', because),
        'effect.failed': ending('Refused', 'failed', surprise),
      },
    },
    Attached: { tags: 'serving', on: { 'session.ended': { target: 'Ending', actions: wanted } } },
    /** What it will have come to when the holder is gone is kept on the way here. */
    Ending: {
      initial: 'Revoking',
      on: {
        'store.unanswered': '.Resting',
        'store.refused': ending('Kept', 'kept', because),
        'effect.failed': ending('Kept', 'kept', surprise),
      },
      states: {
        Revoking: {
          invoke: { id: 'revokeHolder', src: 'revokeHolder', input: holder, ...ends },
          on: { 'holder.revoked': 'Evicting' },
        },
        Resting: { after: { askAgain: 'Revoking' } },
        Evicting: {
          invoke: {
            id: 'railWait',
            src: 'railWait',
            input: ({ context: { wait, rail, principal } }) => ({
              ...wait,
              rail,
              op: 'evictPrincipals',
              args: { principals: [principal] },
            }),
            ...ends,
          },
          on: {
            'wait.answered': [
              { guard: { type: 'isGone', params: fact }, target: 'Removing' },
              ending('Kept', 'kept', ({ data }, context) => judged(context, data).why ?? ''),
            ],
            'wait.refused': ending('Kept', 'kept', said),
            'wait.unreadable': ending('Kept', 'kept', said),
            'wait.denied': ending('Kept', 'kept', said),
            'wait.silent': ending('Kept', 'kept', said),
            'wait.failed': ending('Kept', 'kept', said),
          },
        },
        Removing: {
          invoke: { id: 'removeHolder', src: 'removeHolder', input: holder, ...ends },
          on: { 'holder.removed': '#attach.Ended' },
        },
      },
    },
    Ended: { type: 'final' },
    Refused: { type: 'final' },
    Kept: { type: 'final' },
  },
});
