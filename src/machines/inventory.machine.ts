/**
 * inventory: both stores are read once, in rounds, for all members whose lanes would look for their place at a start.
 *
 *   V1  everybody who was counted is read for once, in that order, as many in a round as there is room for, and at least one
 *   V2  nobody is told of before the round was read; the next one begins when the lanes of this one have taken what is theirs
 *   V3  where it is not to be had, or is worth nothing any more, everybody who was not told of yet, or has not come, is told
 *       of at once, and reads by himself
 *   V4  who is counted anew is read for anew: what was begun before is thrown away
 *
 * It says nothing but "these are owed something", as the writer does when it has stored a copy.
 */
import { assign, raise, sendParent, setup } from 'xstate';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, surpriseOf } from './effects.ts';

/** A member, and how many messages may have to be kept for it. */
export interface Counted {
  readonly key: string;
  readonly messages: number;
}

/** `members`: those of the round whose lanes did not come meanwhile. */
export type RoundFact = { type: 'round.read'; members: string[] } | { type: 'round.unread'; members: string[] };
/** What was read is taken by every lane it is of, or is not what is there. */
export type HandedFact = { type: 'round.taken' } | { type: 'round.void'; members: string[] };

export type InventoryEvent =
  | RoundFact
  | HandedFact
  | EffectFailed
  | { type: 'members.counted'; members: readonly Counted[] };

/** What the inventory tells its reader. */
export type InventoryReport = { type: 'members.owed'; members: string[] };

export interface InventoryInput {
  /** Messages of the members of one round, at most. */
  readonly room: number;
}

export interface InventoryContext extends InventoryInput {
  readonly round: readonly string[];
  /** Members of later rounds, in their order. */
  readonly later: readonly Counted[];
}

const inventory = setup({
  types: { context: {} as InventoryContext, events: {} as InventoryEvent, input: {} as InventoryInput },
  actors: {
    readRound: asked<RoundFact, { members: readonly string[] }>('readRound'),
    handOut: asked<HandedFact, undefined>('handOut'),
  },
  actions: {
    told: raise(answerOf<InventoryEvent>()),
    faulted: raise(surpriseOf),
    beginAnew: assign((_, { members }: { members: readonly Counted[] }) => ({ later: members })),
    nextRound: assign(({ context: { later, room } }) => {
      let left = room;
      const beyond = later.findIndex(({ messages }, i) => {
        left -= messages;
        return i > 0 && left < 0;
      });
      const end = beyond < 0 ? later.length : beyond;
      return { round: later.slice(0, end).map(({ key }) => key), later: later.slice(end) };
    }),
    tellOf: sendParent(
      (_, { members }: { members: readonly string[] }): InventoryReport => ({
        type: 'members.owed',
        members: [...members],
      }),
    ),
    forgetAll: assign({ round: [], later: [] }),
    tellFailed: (_, _facts: { effect: string; message: string }) => {},
  },
  guards: { isMoreLater: ({ context }) => context.later.length > 0 },
});

/** These of the round, and everybody after it. */
const left = (members: readonly string[], { later }: InventoryContext) => ({
  members: [...members, ...later.map(({ key }) => key)],
});
const givesUp = {
  target: 'Idle',
  actions: [
    {
      type: 'tellOf',
      params: ({ context, event }: { context: InventoryContext; event: { members: string[] } }) =>
        left(event.members, context),
    },
    'forgetAll',
  ],
} as const;

export const inventoryMachine = inventory.createMachine({
  id: 'inventory',
  context: ({ input }) => ({ ...input, round: [], later: [] }),
  initial: 'Idle',
  on: {
    ...deafToLateFailures,
    'members.counted': { target: '.Reading', actions: { type: 'beginAnew', params: fact } },
    'effect.failed': {
      target: '.Idle',
      actions: [
        { type: 'tellFailed', params: fact },
        { type: 'tellOf', params: ({ context }) => left(context.round, context) },
        'forgetAll',
      ],
    },
  },
  states: {
    Idle: {},
    Reading: {
      entry: 'nextRound',
      invoke: {
        id: 'readRound',
        src: 'readRound',
        input: ({ context }) => ({ members: context.round }),
        ...ends,
      },
      on: {
        'round.read': { target: 'HandingOut', actions: { type: 'tellOf', params: fact } },
        'round.unread': givesUp,
      },
    },
    HandingOut: {
      invoke: { id: 'handOut', src: 'handOut', ...ends },
      on: {
        'round.taken': [
          { guard: 'isMoreLater', target: 'Reading' },
          { target: 'Idle', actions: 'forgetAll' },
        ],
        'round.void': givesUp,
      },
    },
  },
});
