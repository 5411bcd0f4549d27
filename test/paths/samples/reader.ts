import type { ContextFrom } from 'xstate';
import { readerMachine } from '../../../src/machines/reader.machine.ts';
import { named, samplesOf } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type Context = ContextFrom<typeof readerMachine>;
type ReaderStep = Step<Context>;

const lane = { window: 256, removalBatch: 64, retries: 10, backOffMs: 250, backOffLimitMs: 30_000 };
const inventory = { room: 100 };
const members = (...names: string[]) => names;

/** Who is nudged by a fact, and by what. */
function nudgesOf({ fact }: ReaderStep): { member: string; nudge: string; count?: number }[] {
  const each = (names: string[], nudge: string) => names.map((member) => ({ member, nudge }));
  switch (fact.type) {
    case 'members.owed':
      return each(fact.members, 'entries.arrived');
    case 'rows.changed':
    case 'survey.made':
    case 'survey.counted':
      return each(fact.members, 'row.changed');
    case 'review.asked':
      return each([fact.member], 'review.asked');
    case 'confirmations.came':
      return fact.members.map(({ member, count }: { member: string; count: number }) => ({
        member,
        nudge: 'copies.confirmed',
        count,
      }));
    default:
      return [];
  }
}
const isNudge = (step: ReaderStep) =>
  step.heard('members.owed', 'rows.changed', 'survey.made', 'survey.counted', 'review.asked', 'confirmations.came');
const sentTo = ({ effects }: ReaderStep, id: string | undefined) =>
  effects.flatMap((effect) => (effect.kind === 'send' && effect.to === id ? [effect.event] : []));
const lanesOf = (context: Context) => Object.keys(context.lanes ?? {});
/** Reviews that a member waits with; undefined where it does not wait. */
const waitsWith = ({ waiting, reviews }: Context, member: string) =>
  waiting.includes(member) ? (reviews[member] ?? 0) : undefined;
const isOwnFailure = (step: ReaderStep) =>
  (step.from === 'survey' || step.from === 'inventory') && step.heard('effect.failed');

export const samples = samplesOf(readerMachine, {
  inputs: {
    'room for one': { laneLimit: 1, placingLimit: 2, restingLimit: 1, lane, inventory },
    'room for two, one by one': { laneLimit: 2, placingLimit: 1, restingLimit: 1, lane, inventory },
  },
  events: [
    { type: 'confirmations.bound' },
    { type: 'confirmations.lost', why: 'the subscription ended' },
    { type: 'confirmations.came', members: [{ member: 'a', count: 3 }] },
    { type: 'members.owed', members: members('a', 'b') },
    { type: 'rows.changed', members: members('b') },
    { type: 'review.asked', member: 'a' },
    named('the lane of a is quiet, all met', { type: 'lane.quiet', member: 'a', end: 'rested', nudges: 1 } as const),
    named('the lane of a is quiet, new', { type: 'lane.quiet', member: 'a', end: 'rested', nudges: 0 } as const),
    { type: 'lane.quiet', member: 'b', end: 'retired', nudges: 0 },
    named('the lane of a waits for a row', { type: 'lane.placed', member: 'a' } as const),
    named('the lane of a rests, all met', { type: 'lane.placed', member: 'a', rests: 1 } as const),
    named('the lane of a rests, new', { type: 'lane.placed', member: 'a', rests: 0 } as const),
    named('the lane of b rests, new', { type: 'lane.placed', member: 'b', rests: 0 } as const),
  ],
  answers: {
    survey: [
      { type: 'survey.made', members: members('a', 'b') },
      { type: 'survey.made', members: members() },
      { type: 'survey.counted', members: members('b'), counted: [{ key: 'a', messages: 3 }] },
      { type: 'broker.silent' },
    ],
  },
  spawned: ['lane.a.0', 'lane.b.0', 'lane.b.1'],
  clampChild: (id) => id.split('.').slice(0, -1).join('.'),
  clamp: ({ laneLimit, lanes, waiting, reviews, placing, resting, failures }) => ({
    room: laneLimit,
    lanes: Object.fromEntries(
      Object.entries(lanes)
        .sort()
        .map(([member, { sent }]) => [member, Math.min(sent, 2)]),
    ),
    waiting: Object.fromEntries(waiting.map((member) => [member, Math.min(reviews[member] ?? 0, 1)])),
    resting,
    placing: Object.keys(placing).sort(),
    failed: failures > 0,
  }),
  happy: ['Listening.Binding', 'Listening.Surveying', 'Listening.Reading'],
  promises: [
    {
      clause: 'R1',
      says: 'everybody is looked at after confirmations are listened for, not before',
      when: (step) => step.started('survey')?.all === true || step.heard('confirmations.bound'),
      holds: (step) =>
        !step.before.is('Listening.Binding') ||
        (step.heard('confirmations.bound') && step.started('survey')?.all === true) ||
        'it is looked at too early, or not',
    },
    {
      clause: 'R1',
      says: 'confirmations are listened for whatever is being looked at',
      when: ({ before, after }) => before.is('Listening') || after.is('Listening'),
      holds: ({ after }) => after.running('hearConfirmations') === after.is('Listening') || 'nobody listens',
    },
    {
      clause: 'R1',
      says: 'confirmations that may have been missed, and a first survey that failed, begin all over after a pause',
      when: (step) =>
        step.before.is('Listening') &&
        (step.heard('confirmations.lost') ||
          (step.from === 'hearConfirmations' && step.heard('effect.failed')) ||
          isOwnFailure(step) ||
          (step.before.is('Listening.Surveying') && step.heard('broker.silent'))),
      holds: ({ before, after, armed }) =>
        (after.is('BackingOff') && armed('backOff') && after.context.failures === before.context.failures + 1) ||
        'what was missed stays missed',
    },
    {
      clause: 'R1',
      says: 'the beginning, and the end of the pause, listens anew',
      when: (step) => !step.before.begun || step.elapsed === 'backOff',
      holds: (step) =>
        (step.after.is('Listening.Binding') && step.started('hearConfirmations') !== undefined) || 'nobody listens',
    },
    {
      clause: 'R1',
      says: 'the store is asked again every survey, and a silent broker is asked again at the next',
      when: (step) =>
        step.elapsed === 'surveyEvery' ||
        (step.before.is('Listening.Comparing') && step.heard('broker.silent', 'survey.made', 'survey.counted')) ||
        (step.before.is('Listening.Surveying') && step.heard('survey.made', 'survey.counted')),
      holds: (step) =>
        step.elapsed === 'surveyEvery'
          ? step.started('survey')?.all === false || 'it is not asked'
          : (step.after.is('Listening.Reading') && step.armed('surveyEvery')) || 'it is not asked again',
    },
    {
      clause: 'R1',
      says: 'a first survey that was made forgets the failures before it',
      when: (step) => step.before.is('Listening.Surveying') && step.heard('survey.made', 'survey.counted'),
      holds: ({ after }) => after.context.failures === 0 || 'the pauses stay long',
    },
    {
      clause: 'R8',
      says: 'who was counted is given to the inventory, and to no lane',
      when: (step) => step.heard('survey.counted'),
      holds: (step) => {
        const { counted } = step.fact;
        const isGiven = sentTo(step, 'inventory').some(
          (event) => event.type === 'members.counted' && JSON.stringify(event.members) === JSON.stringify(counted),
        );
        const { before, after } = step;
        const isNamed = counted.some(
          ({ key }: { key: string }) => after.context.waiting.includes(key) && !before.context.waiting.includes(key),
        );
        return (isGiven && after.running('inventory') && !isNamed) || 'nobody reads for them, or twice';
      },
    },
    {
      clause: 'R9',
      says: 'that confirmations are heard is reported each time, and that they are not any more is told and reported, and nothing else is',
      when: (step) =>
        step.before.is('Listening') ||
        step.reported('confirmations.bound') !== undefined ||
        step.reported('confirmations.lost') !== undefined,
      holds: (step) => {
        const bound = step.before.is('Listening.Binding') && step.heard('confirmations.bound');
        const isDeaf = step.from === 'hearConfirmations' && step.heard('effect.failed');
        const lost = step.before.is('Listening') && (step.heard('confirmations.lost') || isDeaf);
        const isTold = step.effects.some((effect) => effect.kind === 'act' && effect.action === 'tellLost');
        const right =
          (step.reported('confirmations.bound') !== undefined) === bound &&
          (step.reported('confirmations.lost') !== undefined) === lost;
        return (right && isTold === lost) || 'the daemon believes otherwise';
      },
    },
    {
      clause: 'R5',
      says: 'a nudge reaches the lane of its member and is counted, whatever the reader is doing',
      when: isNudge,
      holds: (step) => {
        for (const { member, nudge, count } of nudgesOf(step)) {
          const known = step.before.context.lanes[member];
          if (known === undefined) continue;
          const reached = sentTo(step, known.id).some((event) => event.type === nudge && event.count === count);
          if (!reached || step.after.context.lanes[member]?.sent !== known.sent + 1)
            return `${nudge} does not reach ${member}`;
        }
        return true;
      },
    },
    {
      clause: 'R5',
      says: 'a member without a lane gets one, or waits; reviews that it waits with are made first',
      when: isNudge,
      holds: (step) => {
        for (const { member, nudge } of nudgesOf(step)) {
          if (step.before.context.lanes[member] !== undefined) continue;
          const reviews = (step.before.context.reviews[member] ?? 0) + (nudge === 'review.asked' ? 1 : 0);
          const started = step.after.context.lanes[member];
          if (started === undefined) {
            if (waitsWith(step.after.context, member) !== reviews) return `${member} is forgotten`;
            continue;
          }
          const input = step.started(started.id);
          const sent = sentTo(step, started.id).filter((event) => event.type === 'review.asked').length;
          if (input?.member !== member || sent !== reviews || started.sent !== reviews)
            return `${member} starts wrongly`;
        }
        return true;
      },
    },
    {
      clause: 'R8',
      says: 'no more lanes live than there is room for, and no more look for their place at a time',
      when: ({ after }) => after.status === 'active',
      holds: ({ after: { context } }) =>
        (lanesOf(context).length <= context.laneLimit &&
          Object.keys(context.placing).length <= context.placingLimit &&
          Object.keys(context.placing).every((member) => member in context.lanes)) ||
        'there are more',
    },
    {
      clause: 'R8',
      says: 'no more lanes rest than may, each of them lives and is not looking for its place, and none of them was nudged since',
      when: ({ after }) => after.status === 'active',
      holds: (step) => {
        const { resting, restingLimit, lanes, placing } = step.after.context;
        if (resting.length > restingLimit) return 'more rest';
        if (resting.some((member) => !(member in lanes) || member in placing)) return 'who rests has no lane, or looks';
        const woken = isNudge(step) ? nudgesOf(step).filter(({ member }) => resting.includes(member)) : [];
        return woken.length === 0 || 'somebody was woken and counts as resting';
      },
    },
    {
      clause: 'R8',
      says: 'a lane that comes to rest with every nudge met rests, unless somebody needs its room',
      when: (step) => step.heard('lane.placed') && step.before.context.lanes?.[step.fact.member] !== undefined,
      holds: (step) => {
        const { member, rests } = step.fact;
        const met = rests !== undefined && step.before.context.lanes[member]?.sent === rests;
        const restsNow = step.after.context.resting.includes(member);
        if (!met) return restsNow === step.before.context.resting.includes(member) || 'it rests too early';
        return restsNow || step.after.context.lanes[member] === undefined || 'it does not rest';
      },
    },
    {
      clause: 'R8',
      says: 'nobody waits while there is room, once a nudge, a place found or a quiet lane gave the occasion',
      when: (step) =>
        isNudge(step) ||
        (step.heard('lane.placed') && !step.ignored) ||
        (step.heard('lane.quiet') && lanesOf(step.after.context).length < lanesOf(step.before.context).length),
      holds: ({ after: { context } }) =>
        context.waiting.length === 0 ||
        (lanesOf(context).length === context.laneLimit && context.resting.length === 0) ||
        Object.keys(context.placing).length === context.placingLimit ||
        'somebody waits for nothing',
    },
    {
      clause: 'R5',
      says: 'the lanes that are counted on are those that run',
      when: ({ after }) => after.status === 'active',
      holds: ({ after }) => Object.values(after.context.lanes).every(({ id }) => after.running(id)) || 'a lane is dead',
    },
    {
      clause: 'R5',
      says: 'a lane is let go when it has met every nudge that was sent to it, and not before; its place is given on',
      when: (step) => step.heard('lane.quiet') && step.before.context.lanes?.[step.fact.member] !== undefined,
      holds: (step) => {
        const { member, nudges } = step.fact;
        const known = step.before.context.lanes[member];
        if (known === undefined || known.sent !== nudges) return step.ignored || 'it is let go too early';
        const forgotten = step.effects.some(
          (effect) =>
            effect.kind === 'act' &&
            effect.action === 'forgetLane' &&
            (effect.params as { member?: string }).member === member,
        );
        return (forgotten && step.stopped(known.id) && step.after.context.lanes[member] === undefined) || 'it is kept';
      },
    },
    {
      clause: 'R5',
      says: 'a lane that failed is forgotten and waits for a place; no other lane notices',
      when: (step) => step.from?.startsWith('lane.') === true && step.heard('effect.failed'),
      holds: (step) => {
        const { before, after, from } = step;
        const [member] = lanesOf(before.context).filter((each) => before.context.lanes[each]?.id === from);
        if (member === undefined) return 'it was not known';
        const { [member]: _failed, ...others } = before.context.lanes;
        const forgotten = step.effects.some((effect) => effect.kind === 'act' && effect.action === 'forgetLane');
        const same = JSON.stringify(after.context.lanes) === JSON.stringify(others);
        const stays = JSON.stringify(after.value) === JSON.stringify(before.value);
        return (forgotten && same && stays && waitsWith(after.context, member) === 0) || 'others notice, or it is lost';
      },
    },
    {
      clause: 'R8',
      says: 'a lane is looking for its place until it says that it has one, or is over',
      when: (step) => step.heard('lane.placed') && step.before.context.placing?.[step.fact.member] === true,
      holds: ({ after, fact }) => after.context.placing[fact.member] === undefined || 'it counts as looking for ever',
    },
    {
      clause: 'R8',
      says: 'a new lane is looking for its place',
      when: ({ effects }) => effects.some((effect) => effect.kind === 'start' && effect.id.startsWith('lane.')),
      holds: ({ before, after }) =>
        lanesOf(after.context)
          .filter((member) => before.context.lanes[member]?.id !== after.context.lanes[member]?.id)
          .every((member) => after.context.placing[member] === true) || 'it is not counted',
    },
  ],
});
