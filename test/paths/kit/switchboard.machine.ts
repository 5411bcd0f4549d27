/**
 * switchboard: a machine with everything that makes exploring hard. The tests of the kit use it.
 *
 *   S1  a caller has one line, however often it calls
 *   S2  a line that ends or fails is forgotten
 *   S3  the switchboard gives up after three refusals in a row
 *   S4  a new operator takes the old one's place, under the same system id
 */
import { assign, enqueueActions, raise, sendParent, sendTo, setup, spawnChild, stopChild } from 'xstate';
import {
  answerOf,
  asked,
  deafToLateFailures,
  type EffectFailed,
  ends,
  failuresOf,
  heard,
  surpriseOf,
} from '../../../src/machines/effects.ts';

type DialFact = { type: 'trunk.up' } | { type: 'trunk.refused' };

export type SwitchboardEvent =
  | DialFact
  | EffectFailed
  | { type: 'trunk.down' }
  | { type: 'call.opened'; caller: string }
  | { type: 'call.said'; caller: string; words: string }
  | { type: 'line.ended'; caller: string }
  | { type: 'operator.relieved' }
  | { type: 'stop.requested' };

interface SwitchboardContext {
  readonly callers: readonly string[];
  readonly refusals: number;
}

const switchboard = setup({
  types: { context: {} as SwitchboardContext, events: {} as SwitchboardEvent, input: {} as { callers: string[] } },
  actors: {
    dial: asked<DialFact, SwitchboardContext>('dial'),
    listen: heard<{ type: 'trunk.down' }, undefined>('listen'),
    line: heard<{ type: 'line.ended'; caller: string }, { caller: string }>('line'),
    operator: heard<{ type: 'operator.relieved' }, undefined>('operator'),
  },
  actions: {
    told: raise(answerOf<SwitchboardEvent>()),
    faulted: raise(surpriseOf),
    countRefusal: assign(({ context }) => ({ refusals: context.refusals + 1 })),
    forgetRefusals: assign({ refusals: 0 }),
    openLine: enqueueActions(({ enqueue, context }, { caller }: { caller: string }) => {
      enqueue.assign({ callers: [...context.callers, caller] });
      enqueue.spawnChild('line', { id: `line.${caller}`, input: { caller } });
    }),
    closeLine: enqueueActions(({ enqueue, context }, { caller }: { caller: string }) => {
      enqueue.assign({ callers: context.callers.filter((each) => each !== caller) });
      enqueue.stopChild(`line.${caller}`);
    }),
    closeAllLines: enqueueActions(({ enqueue, context }) => {
      for (const caller of context.callers) enqueue.stopChild(`line.${caller}`);
      enqueue.assign({ callers: [] });
    }),
    seatOperator: spawnChild('operator', { id: 'operator', systemId: 'operator' }),
    relieveOperator: stopChild('operator'),
    passOn: sendTo(
      (_, { caller }: { caller: string; words: string }) => `line.${caller}` as never,
      (_, { words }) => ({ type: 'words', words }) as never,
    ),
    report: sendParent((_, report: { type: string }) => report),
  },
  guards: {
    isNew: ({ context }, { caller }: { caller: string }) => !context.callers.includes(caller),
    isKnown: ({ context }, { caller }: { caller: string }) => context.callers.includes(caller),
    isLine: (_, { effect }: { effect: string }) => effect.startsWith('line.'),
    isExhausted: ({ context }) => context.refusals >= 3,
  },
  delays: { pause: 1_000, patience: 5_000 },
});

const fact = <E>({ event }: { event: E }): E => event;
const callerOf = ({ event }: { event: EffectFailed }) => ({ caller: event.effect.slice('line.'.length) });

export const switchboardMachine = switchboard.createMachine({
  id: 'switchboard',
  context: { callers: [], refusals: 0 },
  initial: 'Dialing',
  on: { ...deafToLateFailures },
  states: {
    Dialing: {
      invoke: { id: 'dial', src: 'dial', input: ({ context }) => context, ...ends },
      after: { patience: 'Refused' },
      on: { 'trunk.up': 'Open', 'trunk.refused': 'Refused', 'effect.failed': 'Refused', 'stop.requested': 'Stopped' },
    },
    Open: {
      tags: 'serving',
      invoke: { id: 'listen', src: 'listen', onError: { actions: 'faulted' } },
      entry: ['forgetRefusals', 'seatOperator', { type: 'report', params: { type: 'board.open' } }],
      exit: ['closeAllLines', 'relieveOperator'],
      on: {
        ...failuresOf('line'),
        ...failuresOf('operator'),
        'call.opened': { guard: { type: 'isNew', params: fact }, actions: { type: 'openLine', params: fact } },
        'call.said': { guard: { type: 'isKnown', params: fact }, actions: { type: 'passOn', params: fact } },
        'line.ended': { guard: { type: 'isKnown', params: fact }, actions: { type: 'closeLine', params: fact } },
        'operator.relieved': { actions: ['relieveOperator', 'seatOperator'] },
        'trunk.down': 'Dialing',
        'effect.failed': [
          { guard: { type: 'isLine', params: fact }, actions: { type: 'closeLine', params: callerOf } },
          { target: 'Dialing' },
        ],
        'stop.requested': 'Stopped',
      },
    },
    Refused: {
      entry: 'countRefusal',
      always: [{ guard: 'isExhausted', target: 'GivenUp' }, { target: 'Pausing' }],
    },
    Pausing: { after: { pause: 'Dialing' }, on: { 'stop.requested': 'Stopped' } },
    Stopped: { type: 'final', entry: { type: 'report', params: { type: 'board.stopped' } } },
    GivenUp: { type: 'final', entry: { type: 'report', params: { type: 'board.givenUp' } } },
  },
});
