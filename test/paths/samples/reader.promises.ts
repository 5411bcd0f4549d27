import type { ContextFrom } from 'xstate';
import type { readerMachine } from '../../../src/machines/reader.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type ReaderStep = Step<ContextFrom<typeof readerMachine>>;
const childOf = (member: string) => `lane.${member}`;
const sentTo = ({ effects }: ReaderStep, member: string) =>
  effects.flatMap((effect) => (effect.kind === 'send' && effect.to === childOf(member) ? [effect.event] : []));

/** Members that the fact speaks of, each with the nudge that its lane is owed. */
function nudgesOf({ fact, heard, before }: ReaderStep): { member: string; type: string }[] {
  const each = (members: string[], type: string) => members.map((member) => ({ member, type }));
  if (heard('members.owed')) return each(fact.members, 'entries.arrived');
  if (heard('rows.changed')) return each(fact.members, 'row.changed');
  if (heard('review.asked')) return each([fact.member], 'review.asked');
  if (heard('confirmations.came')) {
    return each(
      fact.members.map(({ member }: { member: string }) => member),
      'copies.confirmed',
    );
  }
  const surveyed = heard('survey.made') && (before.is('Listening.Surveying') || before.is('Listening.Comparing'));
  return surveyed ? each(fact.members, 'row.changed') : [];
}

export const promises: readonly PathPromise<ContextFrom<typeof readerMachine>>[] = [
  {
    clause: 'R1',
    says: 'confirmations are listened for before anything is looked at, and as long as anything is read',
    when: ({ after }) => after.status === 'active',
    holds: (step) =>
      step.from === 'hearConfirmations' ||
      step.after.is('Listening') === step.after.running('hearConfirmations') ||
      'a confirmation may fall between',
  },
  {
    clause: 'R1',
    says: 'it begins by listening',
    when: ({ before }) => !before.begun,
    holds: (step) =>
      (step.started('hearConfirmations') !== undefined && step.after.is('Listening.Binding')) || 'it begins otherwise',
  },
  {
    clause: 'R1',
    says: 'then everybody who is owed something is asked of the store',
    when: (step) => step.heard('confirmations.bound') && step.before.is('Listening.Binding'),
    holds: (step) => step.started('survey')?.all === true || 'nobody is looked for',
  },
  {
    clause: 'R1',
    says: 'it reads only after it has looked at everybody',
    when: ({ before, after }) => after.is('Listening.Reading') && !before.is('Listening.Reading'),
    holds: (step) => step.from === 'survey' || `it reads on ${step.fact.type}`,
  },
  {
    clause: 'R1',
    says: 'the comparison is made again and again, and its failure waits for the next',
    when: (step) =>
      (step.elapsed === 'surveyEvery' && !step.ignored) ||
      (step.after.is('Listening.Reading') && !step.before.is('Listening.Reading')),
    holds: (step) =>
      step.elapsed === 'surveyEvery'
        ? step.started('survey')?.all === false || 'it is not made'
        : step.armed('surveyEvery') || 'there is no next',
  },
  {
    clause: 'R1',
    says: 'a survey that is not answered is made again: at the start after a pause, later with the next comparison',
    when: (step) => step.from === 'survey' && step.heard('broker.silent'),
    holds: ({ before, after, armed }) =>
      before.is('Listening.Surveying')
        ? (after.is('BackingOff') && armed('backOff') && after.context.failures === before.context.failures + 1) ||
          'it is not'
        : after.is('Listening.Reading') || 'it is not',
  },
  {
    clause: 'R1',
    says: 'whatever was lost, all is listened for and looked at again after a pause that grows',
    when: (step) =>
      step.before.is('Listening') &&
      (step.heard('confirmations.lost', 'effect.failed') || step.from === 'hearConfirmations') &&
      step.from?.startsWith('lane.') !== true,
    holds: ({ before, after, armed }) =>
      (after.is('BackingOff') && armed('backOff') && after.context.failures === before.context.failures + 1) ||
      'it goes on',
  },
  {
    clause: 'R1',
    says: 'the pause ends with listening',
    when: (step) => step.elapsed === 'backOff' && !step.ignored,
    holds: (step) => step.started('hearConfirmations') !== undefined || 'nobody listens',
  },
  {
    clause: 'R1',
    says: 'a survey that was made ends a row of failures',
    when: (step) => step.before.is('Listening.Surveying') && step.heard('survey.made'),
    holds: ({ after }) => after.context.failures === 0 || 'the next pause is longer',
  },
  {
    clause: 'R5',
    says: 'news of a member goes to its lane, in every state, once, and is counted',
    when: (step) => nudgesOf(step).length > 0,
    holds: (step) =>
      nudgesOf(step).every(({ member, type }) => {
        const before = step.before.context.lanes[member];
        if (before === undefined) return true;
        const sent = sentTo(step, member);
        return sent.length === 1 && sent[0]?.type === type && step.after.context.lanes[member] === before + 1;
      }) || 'it is lost or doubled',
  },
  {
    clause: 'R5',
    says: 'a member without a lane gets one, or its place in the queue',
    when: (step) => nudgesOf(step).length > 0,
    holds: (step) =>
      nudgesOf(step).every(
        ({ member }) => step.after.running(childOf(member)) || step.after.context.waiting[member] !== undefined,
      ) || 'it is forgotten',
  },
  {
    clause: 'R5',
    says: 'a confirmation is handed on with its count',
    when: (step) => step.heard('confirmations.came') && step.before.context.lanes.a !== undefined,
    holds: (step) => sentTo(step, 'a')[0]?.count === 2 || 'the count is lost',
  },
  {
    clause: 'R5',
    says: 'reviews that were asked for in the queue are all made by the new lane, and counted as sent',
    when: (step) => ['a', 'b'].some((member) => step.started(childOf(member)) !== undefined),
    holds: (step) =>
      ['a', 'b'].every((member) => {
        if (step.started(childOf(member)) === undefined) return true;
        const asked = nudgesOf(step).filter((nudge) => nudge.member === member && nudge.type === 'review.asked').length;
        const reviews = (step.before.context.waiting[member] ?? 0) + asked;
        const sent = sentTo(step, member).filter(({ type }) => type === 'review.asked').length;
        return sent === reviews && step.after.context.lanes[member] === reviews;
      }) || 'a review is lost',
  },
  {
    clause: 'R5',
    says: 'a lane is told whose it is and what its limits are',
    when: (step) => ['a', 'b'].some((member) => step.started(childOf(member)) !== undefined),
    holds: (step) =>
      ['a', 'b'].every((member) => {
        const input = step.started(childOf(member));
        return input === undefined || (input.member === member && input.window === 4 && input.retries === 2);
      }) || 'it does not know',
  },
  {
    clause: 'R8',
    says: 'at most so many lanes live, and so many look for their place, as is allowed; nobody waits where there is room',
    when: ({ after }) => after.status === 'active',
    holds: ({ after }) => {
      const { lanes, placing, waiting, laneLimit, placingLimit } = after.context;
      const [alive, looking, queued] = [lanes, placing, waiting].map((each) => Object.keys(each).length);
      if ((alive ?? 0) > laneLimit || (looking ?? 0) > placingLimit) return 'too many';
      return (
        queued === 0 ||
        (alive ?? 0) >= laneLimit ||
        (looking ?? 0) >= placingLimit ||
        'there is room, and somebody waits'
      );
    },
  },
  {
    clause: 'R8',
    says: 'the lanes that are known are those that run, and nobody both has one and waits for it',
    when: ({ after }) => after.status === 'active',
    holds: ({ after }) =>
      ['a', 'b'].every(
        (member) =>
          (after.context.lanes[member] !== undefined) === after.running(childOf(member)) &&
          (after.context.lanes[member] === undefined || after.context.waiting[member] === undefined),
      ) || 'a lane is unknown',
  },
  {
    clause: 'R8',
    says: 'a lane that found its place makes room for the next',
    when: (step) => step.heard('lane.placed'),
    holds: ({ after, fact }) => after.context.placing[fact.member] === undefined || 'it still looks',
  },
  {
    clause: 'R5',
    says: 'a lane is let go exactly when it has met every nudge, and what it had in hand goes with it',
    when: (step) => step.heard('lane.quiet'),
    holds: (step) => {
      const { member, nudges } = step.fact;
      const met = step.before.context.lanes[member] === nudges;
      const dropped = step.effects.some((effect) => effect.kind === 'act' && effect.action === 'forgetLane');
      return (step.stopped(childOf(member)) === met && dropped === met) || 'a nudge is lost';
    },
  },
  {
    clause: 'R5',
    says: 'a lane that fails is told of and dropped alone',
    when: (step) => step.from?.startsWith('lane.') === true && step.before.running(step.from),
    holds: (step) => {
      const member = (step.from ?? '').slice('lane.'.length);
      const told = step.effects.some((effect) => effect.kind === 'act' && effect.action === 'tellFailed');
      const others = Object.keys(step.before.context.lanes).filter((each) => each !== member);
      return (
        (told &&
          step.after.context.lanes[member] === undefined &&
          others.every((each) => step.after.context.lanes[each] !== undefined)) ||
        'others go with it'
      );
    },
  },
  {
    clause: 'R1',
    says: 'it serves exactly while it reads',
    when: ({ after }) => after.status === 'active',
    holds: ({ after }) =>
      after.tagged('serving') === (after.is('Listening.Reading') || after.is('Listening.Comparing')) || 'the tag lies',
  },
];
