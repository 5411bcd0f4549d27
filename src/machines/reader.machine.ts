/**
 * reader: one lane for each member that is owed something, and no lane for the others.
 *
 *   R1  what is owed is asked of the store, at the start and again every survey, never of memory
 *   R5  lanes are independent; the reader only starts them, nudges them and lets them go, also one that failed
 *   R8  a start costs one survey and a lane a member; at most `laneLimit` lanes live at once, at most `placingLimit` of them
 *       look for their place and at most `restingLimit` of them rest, so that what one start holds in memory and asks of the
 *       broker does not grow, and what one event costs does not grow with the members
 *   R9  that confirmations are heard, and that they are not any more, is reported: a daemon is not ready without
 *
 * A lane is let go only when it has met every nudge that was sent to it: it says how many it has met.
 *
 * Longer than 300 lines: one chart, with the facts it hears in front of it.
 */
import { assign, enqueueActions, raise, sendParent, sendTo, setup } from 'xstate';
import { backOff } from '../domain/pacing.ts';
import {
  answerOf,
  asked,
  deafToLateFailures,
  type EffectFailed,
  ends,
  fact,
  failuresOf,
  heard,
  reasonOf,
  surpriseOf,
} from './effects.ts';
import { type Counted, type InventoryEvent, type InventoryInput, inventoryMachine } from './inventory.machine.ts';
import type { LaneEnd, LaneInput, LaneNudge, LaneReport } from './lane.facts.ts';
import { laneMachine } from './lane.machine.ts';

/** `counted`: members for whom the stores are read together. */
export type SurveyFact =
  | { type: 'survey.made'; members: string[] }
  | { type: 'survey.counted'; members: string[]; counted: Counted[] }
  | { type: 'broker.silent' };
export type ConfirmationFact =
  | { type: 'confirmations.bound' }
  /** Confirmed copies by member; `count` is how many of them the member's lane knew. */
  | { type: 'confirmations.came'; members: { member: string; count: number }[] }
  /** Some may have been missed. */
  | { type: 'confirmations.lost'; why: string };

/** What the reader tells its daemon. */
export type ReaderReport = Extract<ConfirmationFact, { type: 'confirmations.bound' | 'confirmations.lost' }>;

export type ReaderEvent =
  | SurveyFact
  | ConfirmationFact
  | LaneReport
  | EffectFailed
  /** New entries were stored for these members. */
  | { type: 'members.owed'; members: string[] }
  /** The ACL rows of these members changed. */
  | { type: 'rows.changed'; members: string[] }
  /** A leave or a changed grant waits for this member's copies to be looked at again. */
  | { type: 'review.asked'; member: string };

export interface ReaderInput {
  readonly laneLimit: number;
  /** Lanes that may look for their place at a time. */
  readonly placingLimit: number;
  /** Lanes that may rest at a time; beyond them the one that has rested longest is let go. */
  readonly restingLimit: number;
  readonly lane: Omit<LaneInput, 'member'>;
  readonly inventory: InventoryInput;
}

export interface ReaderContext extends ReaderInput {
  /** Lanes by member: the child's id and how many nudges it was sent. */
  readonly lanes: Readonly<Record<string, { id: string; sent: number }>>;
  /** Members that wait for a lane, first come, first served: a list, of which the head is taken at no cost. */
  readonly waiting: readonly string[];
  /** Reviews that the lanes of members that wait must make first. */
  readonly reviews: Readonly<Record<string, number>>;
  /** Members whose lane is looking for its place. */
  readonly placing: Readonly<Record<string, true>>;
  /** Members whose lane rests, who rests longest first. */
  readonly resting: readonly string[];
  readonly started: number;
  readonly failures: number;
}

/** What the lane of a member that rests would say. */
const quiet = ({ lanes }: ReaderContext, member: string): ReaderEvent => ({
  type: 'lane.quiet',
  member,
  end: 'rested',
  nudges: lanes[member]?.sent ?? 0,
});

const reader = setup({
  types: { context: {} as ReaderContext, events: {} as ReaderEvent, input: {} as ReaderInput },
  actors: {
    survey: asked<SurveyFact, { all: boolean }>('survey'),
    hearConfirmations: heard<ConfirmationFact, undefined>('hearConfirmations'),
    lane: laneMachine,
    inventory: inventoryMachine,
  },
  actions: {
    told: raise(answerOf<ReaderEvent>()),
    faulted: raise(surpriseOf),
    lost: raise(({ event }): ReaderEvent => ({ type: 'confirmations.lost', why: reasonOf({ event }) })),
    /** Sends each nudge to its member's lane; a member without one waits for a place. */
    nudge: enqueueActions(({ context, enqueue }, { nudges }: { nudges: readonly Nudge[] }) => {
      const lanes = { ...context.lanes };
      const reviews = { ...context.reviews };
      const woken = new Set<string>();
      const others = new Set<string>();
      for (const { member, nudge } of nudges) {
        const lane = lanes[member];
        if (lane !== undefined) {
          lanes[member] = { ...lane, sent: lane.sent + 1 };
          woken.add(member);
          enqueue.sendTo(lane.id, nudge);
          continue;
        }
        others.add(member);
        if (nudge.type === 'review.asked') reviews[member] = (reviews[member] ?? 0) + 1;
      }
      enqueue.assign({
        lanes,
        reviews,
        waiting: others.size === 0 ? context.waiting : [...new Set([...context.waiting, ...others])],
        resting: context.resting.filter((member) => !woken.has(member)),
      });
    }),
    /** Gives free places to those who wait; who rests longest makes room for them, as if it had said that it is quiet. */
    seat: enqueueActions(({ context, enqueue }) => {
      const { laneLimit, placingLimit, waiting } = context;
      const looking = Math.min(waiting.length, placingLimit - Object.keys(context.placing).length);
      if (looking <= 0) return;
      const lanes = { ...context.lanes };
      const free = Math.min(looking, laneLimit - Object.keys(lanes).length);
      for (const member of context.resting.slice(0, looking - free)) enqueue.raise(quiet(context, member));
      const reviews = { ...context.reviews };
      const placing = { ...context.placing };
      let { started } = context;
      for (const member of waiting.slice(0, free)) {
        const id = `lane.${member}.${started++}`;
        const asked = reviews[member] ?? 0;
        delete reviews[member];
        lanes[member] = { id, sent: asked };
        placing[member] = true;
        enqueue.spawnChild('lane', { id, input: { member, ...context.lane } });
        for (let i = 0; i < asked; i++) enqueue.sendTo(id, { type: 'review.asked' } satisfies LaneNudge);
      }
      enqueue.assign({ lanes, reviews, placing, started, waiting: waiting.slice(free) });
    }),
    letGo: enqueueActions(({ context, enqueue }, { member }: { member: string }) => {
      const { [member]: lane, ...lanes } = context.lanes;
      const { [member]: _placed, ...placing } = context.placing;
      if (lane !== undefined) enqueue.stopChild(lane.id);
      enqueue.assign({ lanes, placing, resting: context.resting.filter((each) => each !== member) });
    }),
    countPlaced: assign(({ context }, { member }: { member: string }) => {
      const { [member]: _placed, ...placing } = context.placing;
      return { placing };
    }),
    countResting: assign(({ context }, { member }: { member: string }) => ({
      resting: [...context.resting.filter((each) => each !== member), member],
    })),
    /** The longest rest ends where too many rest. */
    endLongestRest: enqueueActions(({ context, enqueue }) => {
      const [longest] = context.resting;
      if (longest !== undefined && context.resting.length > context.restingLimit)
        enqueue.raise(quiet(context, longest));
    }),
    /** A lane that failed waits for a place like any other: it is started anew with the next nudge or survey. */
    requeue: assign(({ context }, { member }: { member: string }) => {
      const { [member]: _failed, ...lanes } = context.lanes;
      const { [member]: _placed, ...placing } = context.placing;
      const others = (all: readonly string[]) => all.filter((each) => each !== member);
      return { lanes, placing, resting: others(context.resting), waiting: [...others(context.waiting), member] };
    }),
    readTogether: sendTo(
      'inventory',
      (_, { counted }: { counted: readonly Counted[] }): InventoryEvent => ({
        type: 'members.counted',
        members: counted,
      }),
    ),
    report: sendParent((_, report: ReaderReport) => report),
    /** Bound by the services: what the lane had in hand is dropped with it. */
    forgetLane: (_, _facts: { member: string; end?: LaneEnd }) => {},
    tellFailed: (_, _facts: { effect: string; message: string }) => {},
    tellLost: (_, _facts: { why: string }) => {},
    countFailure: assign(({ context }) => ({ failures: context.failures + 1 })),
    forgetFailures: assign({ failures: 0 }),
  },
  guards: {
    isPlacing: ({ context }, { member }: { member: string }) => context.placing[member] === true,
    isOfAll: (_, { effect }: { effect: string }) => effect === 'survey' || effect === 'inventory',
    isLane: ({ context }, { effect }: { effect: string }) => memberOf(context, effect) !== undefined,
    comesToRest: ({ context }, { member, rests }: { member: string; rests?: number }) =>
      rests !== undefined && context.lanes[member]?.sent === rests,
    hasMetAll: ({ context }, { member, nudges }: { member: string; nudges: number }) =>
      context.lanes[member]?.sent === nudges,
  },
  delays: {
    surveyEvery: 60_000,
    backOff: ({ context }) => backOff(context.failures, 250, 30_000),
  },
});

export interface Nudge {
  readonly member: string;
  readonly nudge: LaneNudge;
}
const memberOf = ({ lanes }: ReaderContext, id: string): string | undefined =>
  Object.keys(lanes).find((member) => lanes[member]?.id === id);
const failedLane = ({ context, event }: { context: ReaderContext; event: EffectFailed }) => ({
  member: memberOf(context, event.effect) ?? '',
});
const each = (members: readonly string[], nudge: LaneNudge) => ({
  nudges: members.map((member) => ({ member, nudge })),
});

const surveyed = {
  type: 'nudge',
  params: ({ event }: { event: { members: string[] } }) => each(event.members, { type: 'row.changed' }),
} as const;
const seen = {
  'survey.made': { target: 'Reading', actions: [surveyed, 'seat'] },
  'survey.counted': {
    target: 'Reading',
    actions: [surveyed, 'seat', { type: 'readTogether', params: fact }],
  },
} as const;

export const readerMachine = reader.createMachine({
  id: 'reader',
  context: ({ input }) => ({
    ...input,
    lanes: {},
    waiting: [],
    reviews: {},
    placing: {},
    resting: [],
    started: 0,
    failures: 0,
  }),
  initial: 'Listening',
  on: {
    ...deafToLateFailures,
    ...failuresOf('lane'),
    'effect.failed': {
      guard: { type: 'isLane', params: fact },
      actions: [
        { type: 'tellFailed', params: fact },
        { type: 'forgetLane', params: failedLane },
        { type: 'requeue', params: failedLane },
      ],
    },
    'members.owed': {
      actions: [{ type: 'nudge', params: ({ event }) => each(event.members, { type: 'entries.arrived' }) }, 'seat'],
    },
    'rows.changed': {
      actions: [{ type: 'nudge', params: ({ event }) => each(event.members, { type: 'row.changed' }) }, 'seat'],
    },
    'review.asked': {
      actions: [{ type: 'nudge', params: ({ event }) => each([event.member], { type: 'review.asked' }) }, 'seat'],
    },
    'confirmations.came': {
      actions: [
        {
          type: 'nudge',
          params: ({ event }) => ({
            nudges: event.members.map(({ member, count }) => ({ member, nudge: { type: 'copies.confirmed', count } })),
          }),
        },
        'seat',
      ],
    },
    'lane.placed': [
      {
        guard: { type: 'comesToRest', params: fact },
        actions: [
          { type: 'countPlaced', params: fact },
          { type: 'countResting', params: fact },
          'endLongestRest',
          'seat',
        ],
      },
      { guard: { type: 'isPlacing', params: fact }, actions: [{ type: 'countPlaced', params: fact }, 'seat'] },
    ],
    'lane.quiet': {
      guard: { type: 'hasMetAll', params: ({ event }) => event },
      actions: [
        { type: 'letGo', params: ({ event }) => event },
        { type: 'forgetLane', params: ({ event }) => event },
        'seat',
      ],
    },
  },
  states: {
    Listening: {
      invoke: [
        { id: 'hearConfirmations', src: 'hearConfirmations', onError: { actions: 'lost' } },
        {
          id: 'inventory',
          src: 'inventory',
          input: ({ context }) => context.inventory,
          onError: { actions: 'faulted' },
        },
      ],
      initial: 'Binding',
      states: {
        /** Confirmations are listened for before anything is looked at, so that none falls between. */
        Binding: {
          on: { 'confirmations.bound': { target: 'Surveying', actions: { type: 'report', params: fact } } },
        },
        /** Everybody who is owed something, or holds a copy, is looked at. */
        Surveying: {
          invoke: { id: 'survey', src: 'survey', input: { all: true }, ...ends },
          on: {
            ...seen,
            'broker.silent': { target: '#reader.BackingOff', actions: 'countFailure' },
          },
        },
        Reading: {
          tags: 'serving',
          entry: 'forgetFailures',
          after: { surveyEvery: 'Comparing' },
        },
        /** Only those are looked at for whom there was something to do at the last survey, and still is. */
        Comparing: {
          tags: 'serving',
          invoke: { id: 'survey', src: 'survey', input: { all: false }, ...ends },
          on: {
            ...seen,
            'broker.silent': 'Reading',
          },
        },
      },
      on: {
        'confirmations.lost': {
          target: 'BackingOff',
          actions: ['countFailure', { type: 'tellLost', params: fact }, { type: 'report', params: fact }],
        },
        'effect.failed': {
          guard: { type: 'isOfAll', params: fact },
          target: 'BackingOff',
          actions: 'countFailure',
        },
      },
    },
    BackingOff: { after: { backOff: 'Listening' } },
  },
});
