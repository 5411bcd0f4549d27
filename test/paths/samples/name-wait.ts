import type { ContextFrom } from 'xstate';
import { nameWaitMachine } from '../../../src/machines/name-wait.machine.ts';
import { type PathPromise, samplesOf } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type Context = ContextFrom<typeof nameWaitMachine>;

const nameless = (at: number) =>
  ({ type: 'name.unresolved', host: 'broker', reason: 'EAI_AGAIN', message: 'EAI_AGAIN', at }) as const;
const isInTime = ({ before: { context }, fact: { at } }: Step<Context>) =>
  Number(at) - (context.namelessSince ?? Number(at)) < context.nameWaitMs;
const ENDS = { 'work.done': 'Done', 'work.failed': 'Failed', 'effect.failed': 'Failed' } as const;

const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'N1',
    says: 'the work is begun at once',
    when: ({ before }) => !before.begun,
    holds: (step) => step.started('work') !== undefined || 'nothing is done',
  },
  {
    clause: 'N1',
    says: 'whatever comes of the work but a name without an address ends the wait at once',
    when: (step) => step.heard('work.done', 'work.failed', 'effect.failed'),
    holds: ({ after, fact }) => after.is(ENDS[fact.type as keyof typeof ENDS]) || 'it waits',
  },
  {
    clause: 'N2',
    says: 'a name without an address is told and counted, and the work is rested from, as long as there is time',
    when: (step) => step.heard('name.unresolved') && isInTime(step),
    holds: (step) => {
      const { nameless: times, namelessSince } = step.after.context;
      const isKept =
        times === step.before.context.nameless + 1 &&
        namelessSince === (step.before.context.namelessSince ?? step.fact.at);
      const isTold = step.effects.some((effect) => effect.kind === 'act' && effect.action === 'tellNameless');
      return (isKept && isTold && step.armed('dialAgain') && step.after.is('Resting')) || 'it is not waited for';
    },
  },
  {
    clause: 'N2',
    says: 'the rest ends with the work',
    when: (step) => step.elapsed === 'dialAgain',
    holds: (step) => step.started('work') !== undefined || 'nothing is done',
  },
  {
    clause: 'N3',
    says: 'the time since the first one over, it ends',
    when: (step) => step.heard('name.unresolved') && !isInTime(step),
    holds: ({ after, armed }) => (after.is('Failed') && !armed('dialAgain')) || 'it waits for ever',
  },
];

export const samples = samplesOf(nameWaitMachine, {
  inputs: { only: { nameWaitMs: 60_000 } },
  events: [],
  answers: {
    work: [{ type: 'work.done' }, { type: 'work.failed' }, nameless(1_000), nameless(60_999), nameless(61_000)],
  },
  clamp: ({ namelessSince }) => ({ namelessSince }),
  happy: ['Working', 'Done'],
  promises,
});
