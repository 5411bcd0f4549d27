/**
 * nameWait: work that dials a broker by its name, done again while the name does not resolve.
 *
 *   N1  only a name without an address is waited for: whatever else comes of the work ends the wait at once
 *   N2  each time is told, and followed by the work again after a rest
 *   N3  the wait is bounded from the first time on
 *
 * What the work gave, or why it failed, is kept by whoever does it.
 */
import { assign, raise, setup } from 'xstate';
import type { NameFact } from './daemon.facts.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, surpriseOf } from './effects.ts';

export type WorkFact = { type: 'work.done' } | { type: 'work.failed' } | NameFact;

export interface NameWaitInput {
  readonly nameWaitMs: number;
}
export interface NameWaitContext extends NameWaitInput {
  readonly nameless: number;
  readonly namelessSince: number | null;
}

const nameWait = setup({
  types: { context: {} as NameWaitContext, events: {} as WorkFact | EffectFailed, input: {} as NameWaitInput },
  actors: { work: asked<WorkFact, undefined>('work') },
  actions: {
    told: raise(answerOf<WorkFact>()),
    faulted: raise(surpriseOf),
    keepNameless: assign(({ context }, { at }: NameFact) => ({
      nameless: context.nameless + 1,
      namelessSince: context.namelessSince ?? at,
    })),
    tellNameless: (_, _facts: NameFact) => {},
  },
  guards: {
    isNameWorthWaiting: ({ context: { namelessSince, nameWaitMs } }, { at }: { at: number }) =>
      at - (namelessSince ?? at) < nameWaitMs,
  },
  delays: { dialAgain: 500 },
});

export const nameWaitMachine = nameWait.createMachine({
  id: 'nameWait',
  context: ({ input }) => ({ ...input, nameless: 0, namelessSince: null }),
  initial: 'Working',
  on: { ...deafToLateFailures },
  states: {
    Working: {
      invoke: { id: 'work', src: 'work', ...ends },
      on: {
        'work.done': 'Done',
        'work.failed': 'Failed',
        'effect.failed': 'Failed',
        'name.unresolved': [
          {
            guard: { type: 'isNameWorthWaiting', params: fact },
            target: 'Resting',
            actions: [
              { type: 'keepNameless', params: fact },
              { type: 'tellNameless', params: fact },
            ],
          },
          { target: 'Failed' },
        ],
      },
    },
    Resting: { after: { dialAgain: 'Working' } },
    Done: { type: 'final' },
    Failed: { type: 'final' },
  },
});
