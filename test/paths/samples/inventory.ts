import type { ContextFrom } from 'xstate';
import { inventoryMachine } from '../../../src/machines/inventory.machine.ts';
import { named, samplesOf } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type Context = ContextFrom<typeof inventoryMachine>;
type InventoryStep = Step<Context>;

/** `b` alone is more than there is room for. */
const counted = [
  { key: 'a', messages: 1 },
  { key: 'b', messages: 9 },
  { key: 'c', messages: 1 },
  { key: 'd', messages: 1 },
];
const everybody = (context: Context): readonly string[] => [
  ...(context.round ?? []),
  ...(context.later ?? []).map(({ key }) => key),
];
const toldOf = (step: InventoryStep) => step.reported('members.owed')?.members as readonly string[] | undefined;
const isGivenUp = (step: InventoryStep) => step.heard('round.unread', 'round.void', 'effect.failed');
const isSame = (one: readonly unknown[] | undefined, other: readonly unknown[]) =>
  JSON.stringify(one) === JSON.stringify(other);

export const samples = samplesOf(inventoryMachine, {
  inputs: { 'room for three': { room: 3 } },
  events: [
    named('four are counted', { type: 'members.counted', members: counted } as const),
    named('one is counted', { type: 'members.counted', members: [{ key: 'e', messages: 1 }] } as const),
  ],
  answers: {
    readRound: [
      named('both are left', { type: 'round.read', members: ['c', 'd'] } as const),
      named('nobody is left', { type: 'round.read', members: [] } as const),
      { type: 'round.unread', members: ['c'] },
    ],
    handOut: [{ type: 'round.taken' }, { type: 'round.void', members: ['d'] }],
  },
  clamp: ({ round, later }) => ({ round, later: later.map(({ key }) => key) }),
  goals: ['Idle'],
  bounded: { Idle: 'the reader, which counts again when it begins anew' },
  happy: ['Idle', 'Reading', 'HandingOut'],
  promises: [
    {
      clause: 'V1',
      says: 'a round is the next ones in their order, as many as there is room for, and the reading is of them',
      when: (step) => step.started('readRound') !== undefined,
      holds: (step) => {
        const { round, later, room } = step.after.context;
        const size = (keys: readonly string[]) =>
          keys.reduce((sum, key) => sum + (counted.find((one) => one.key === key)?.messages ?? 1), 0);
        if (!isSame(step.started('readRound')?.members as string[], round) || round.length === 0)
          return 'another round is read';
        if (round.length > 1 && size(round) > room) return 'there is no room for them';
        const [next] = later;
        return next === undefined || size(round) + next.messages > room || 'there was room for more';
      },
    },
    {
      clause: 'V1',
      says: 'nobody is left out and nobody is read for again: a round that was taken is followed by those after it',
      when: (step) => step.heard('round.taken'),
      holds: ({ before, after }) =>
        isSame(everybody(after.context), everybody(before.context).slice(before.context.round.length)) ||
        'somebody is left out, or twice there',
    },
    {
      clause: 'V1',
      says: 'as long as somebody is left it goes on reading, and then it is done',
      when: (step) => step.heard('round.taken'),
      holds: (step) =>
        (step.before.context.later.length > 0
          ? step.after.is('Reading') && step.started('readRound') !== undefined
          : step.after.is('Idle')) || 'it stops too early, or not',
    },
    {
      clause: 'V2',
      says: 'who is left of a round is told of when it was read, and what was read is handed out',
      when: (step) => step.heard('round.read'),
      holds: (step) =>
        (isSame(toldOf(step), step.fact.members) &&
          step.started('handOut') !== undefined &&
          step.after.is('HandingOut')) ||
        'they are not told of',
    },
    {
      clause: 'V2',
      says: 'nobody is told of otherwise',
      when: (step) => step.before.begun,
      holds: (step) =>
        toldOf(step) === undefined || step.heard('round.read') || isGivenUp(step) || 'somebody is told of',
    },
    {
      clause: 'V3',
      says: 'where it is not to be had, who did not come and everybody after them are told of, and it is over',
      when: (step) => isGivenUp(step) && !step.late,
      holds: (step) => {
        const { before, after, fact } = step;
        const { round, later } = before.context;
        const left = fact.type === 'effect.failed' ? round : fact.members;
        const all = [...left, ...later.map(({ key }) => key)];
        return (
          (isSame(toldOf(step), all) && after.is('Idle') && everybody(after.context).length === 0) || 'somebody waits'
        );
      },
    },
    {
      clause: 'V3',
      says: 'a surprise is told, and nothing else is',
      when: (step) => step.before.begun,
      holds: (step) =>
        step.effects.some((effect) => effect.kind === 'act' && effect.action === 'tellFailed') ===
          (step.heard('effect.failed') && !step.late) || 'it is hidden, or made up',
    },
    {
      clause: 'V4',
      says: 'who is counted is read for from the first on, whatever was going on, and nobody else is',
      when: (step) => step.heard('members.counted'),
      holds: (step) =>
        (step.after.is('Reading') &&
          step.started('readRound') !== undefined &&
          isSame(
            everybody(step.after.context),
            step.fact.members.map(({ key }: { key: string }) => key),
          )) ||
        'they are not read for',
    },
  ],
});
