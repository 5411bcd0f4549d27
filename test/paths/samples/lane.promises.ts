import type { ContextFrom } from 'xstate';
import type { laneMachine } from '../../../src/machines/lane.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type LaneStep = Step<ContextFrom<typeof laneMachine>>;
const nudges = ['entries.arrived', 'copies.confirmed', 'review.asked', 'row.changed'];
const resting = ['Idle', 'AwaitingConfirm'] as const;
const waiting = ['Idle', 'AwaitingConfirm', 'Unknown', 'BackingOff'] as const;
const effects = [
  'recoverPlace',
  'authorizeBatch',
  'handOff',
  'markHandedOff',
  'removeSettled',
  'removeEverything',
  'reviewCopies',
  'markGivenUp',
];
const told = ({ effects: all }: LaneStep, action: string) =>
  all.flatMap((effect) =>
    effect.kind === 'act' && effect.action === action ? [effect.params as Record<string, unknown>] : [],
  )[0];
/** What is due next, by what is known after the step: the order in which a lane decides. */
function due({ after }: LaneStep): string {
  const { refused, reviews, settled, unknowns, waiting: owed, outstanding, window, retries } = after.context;
  if (refused > 0 || reviews > 0) return 'Withdrawing';
  if (settled > 0) return 'Removing';
  if (unknowns > 0) return unknowns > retries ? 'GivingUp' : 'Unknown';
  if (owed > 0 && outstanding < window) return 'Authorizing';
  return outstanding > 0 ? 'AwaitingConfirm' : 'Idle';
}
const decides = (step: LaneStep): true | string => {
  const next = due(step) as 'Idle';
  return step.after.is(next) || `${next} is due`;
};
/** The answers after which nothing is decided but what is due. */
const isAnswered = (step: LaneStep) =>
  (step.before.is('Recovering') && step.heard('place.recovered')) ||
  (step.before.is('Authorizing') && step.heard('batch.empty')) ||
  (step.before.is('MarkingHandedOff') && step.heard('mark.stored')) ||
  (step.before.is('Removing') && step.heard('entries.removed')) ||
  (step.before.is('Withdrawing') && step.heard('copies.withdrawn'));

export const promises: readonly PathPromise<ContextFrom<typeof laneMachine>>[] = [
  {
    clause: 'R1',
    says: 'a lane recovers its place before it does anything else',
    when: ({ before }) => !before.begun,
    holds: (step) =>
      (step.after.is('Recovering') && step.started('recoverPlace') !== undefined) || 'it begins otherwise',
  },
  {
    clause: 'R1',
    says: 'what it knew of its place is forgotten before it is asked for again',
    when: (step) => step.started('recoverPlace') !== undefined,
    holds: ({ after }) => {
      const { waiting: owed, outstanding, settled, refused } = after.context;
      return owed + outstanding + settled + refused === 0 || 'it is remembered';
    },
  },
  {
    clause: 'R1',
    says: 'the place is the store’s, and what was nudged meanwhile',
    when: (step) => step.before.is('Recovering') && step.heard('place.recovered'),
    holds: ({ before, after, fact }) => {
      const [was, now] = [before.context, after.context];
      return (
        (now.waiting === was.waiting + fact.waiting &&
          now.outstanding === fact.outstanding &&
          now.settled === was.settled + fact.settled &&
          now.refused === fact.refused &&
          now.unknowns + now.failures === 0) ||
        'it is another one'
      );
    },
  },
  {
    clause: 'R1',
    says: 'every effect knows whose it is',
    when: (step) => effects.some((id) => step.started(id) !== undefined),
    holds: (step) =>
      effects.every((id) => step.started(id) === undefined || step.started(id)?.member === step.after.context.member) ||
      'it is for somebody else',
  },
  {
    clause: 'R1',
    says: 'at most one effect is under way',
    when: ({ after }) => after.begun,
    holds: ({ after }) => effects.filter((id) => after.running(id)).length <= 1 || 'two are',
  },
  {
    clause: 'R2',
    says: 'only what is settled is removed: asked for with its number, when there is some',
    when: (step) => step.started('removeSettled') !== undefined,
    holds: ({ after, started }) =>
      (after.context.settled > 0 && started('removeSettled')?.settled === after.context.settled) ||
      'nothing is settled',
  },
  {
    clause: 'R2',
    says: 'a confirmation is counted in every state that has a place, and takes a copy off the outstanding ones',
    when: (step) =>
      step.heard('copies.confirmed') &&
      !step.after.is('Recovering') &&
      !step.after.is('Removing') &&
      !step.after.is('Retired.Removing'),
    holds: ({ before, after, fact }) =>
      (after.context.settled === before.context.settled + fact.count &&
        after.context.outstanding === Math.max(0, before.context.outstanding - fact.count)) ||
      'it is lost',
  },
  {
    clause: 'R2',
    says: 'what was removed is taken off, and what came meanwhile is not',
    when: (step) => step.before.is('Removing') && step.heard('entries.removed'),
    holds: ({ before, after, fact }) =>
      (after.context.settled === Math.max(0, before.context.settled - fact.met) && after.context.failures === 0) ||
      'it is miscounted',
  },
  {
    clause: 'R3',
    says: 'nothing is handed off but a batch that was authorized right before',
    when: (step) => step.started('handOff') !== undefined,
    holds: (step) =>
      (step.before.is('Authorizing') && step.heard('batch.authorized') && step.fact.release > 0) ||
      `handed off on ${step.fact.type}`,
  },
  {
    clause: 'R3',
    says: 'a batch with something to release is handed off, one without is marked',
    when: (step) => step.before.is('Authorizing') && step.heard('batch.authorized'),
    holds: (step) =>
      step.started(step.fact.release > 0 ? 'handOff' : 'markHandedOff') !== undefined || 'the batch is dropped',
  },
  {
    clause: 'R3',
    says: 'the refused ones of a batch are settled, and only as many arrivals are met as the batch met',
    when: (step) => step.before.is('Authorizing') && step.heard('batch.authorized', 'batch.empty'),
    holds: ({ before, after, fact }) =>
      (after.context.settled === before.context.settled + (fact.refuse ?? 0) &&
        after.context.waiting === Math.max(0, before.context.waiting - fact.met) &&
        after.context.unknowns === 0) ||
      'it is miscounted',
  },
  {
    clause: 'R3',
    says: 'the batch is asked for with the arrivals that it is to meet',
    when: (step) => step.started('authorizeBatch') !== undefined,
    holds: ({ after, started }) => started('authorizeBatch')?.waiting === after.context.waiting || 'it meets others',
  },
  {
    clause: 'R3',
    says: 'handed-off copies are looked at again before anything else is decided',
    when: isAnswered,
    holds: decides,
  },
  {
    clause: 'R3',
    says: 'a review is asked for with the number that it is to meet',
    when: (step) => step.started('reviewCopies') !== undefined,
    holds: ({ after, started }) => started('reviewCopies')?.reviews === after.context.reviews || 'it meets others',
  },
  {
    clause: 'R3',
    says: 'a review that was made is taken off, and what it took back with it',
    when: (step) => step.before.is('Withdrawing') && step.heard('copies.withdrawn'),
    holds: ({ before, after, fact }) => {
      const [was, now] = [before.context, after.context];
      return (
        (now.reviews === Math.max(0, was.reviews - fact.met) &&
          now.refused === 0 &&
          now.failures === 0 &&
          now.outstanding === Math.max(0, was.outstanding - fact.copies) &&
          now.settled === was.settled + fact.settled) ||
        'it is miscounted'
      );
    },
  },
  {
    clause: 'R3',
    says: 'a review that is asked for while the lane waits is made at once, also under a doubt',
    when: (step) => step.heard('review.asked', 'row.changed') && resting.some((state) => step.before.is(state)),
    holds: (step) => step.started('reviewCopies') !== undefined || 'it waits',
  },
  {
    clause: 'R3',
    says: 'a review that is asked for in the pause of a doubt is made when the pause is over, at the latest',
    when: (step) => step.heard('review.asked', 'row.changed') && step.before.is('Unknown'),
    holds: ({ after }) => after.is('Withdrawing') || (after.is('Unknown') && after.context.reviews > 0) || 'it is lost',
  },
  {
    clause: 'R4',
    says: 'no batch is chosen while the window is full',
    when: (step) => step.started('authorizeBatch') !== undefined,
    holds: ({ after }) =>
      (after.context.outstanding < after.context.window && after.context.waiting > 0) ||
      'the window is full, or nobody waits',
  },
  {
    clause: 'R4',
    says: 'what was stored is outstanding, but for what is confirmed already; then the mark is written',
    when: (step) => step.before.is('HandingOff') && step.heard('copies.stored'),
    holds: ({ before, after, fact, started }) =>
      (started('markHandedOff') !== undefined &&
        after.context.outstanding === before.context.outstanding + fact.count - fact.confirmed &&
        after.context.settled === before.context.settled + fact.confirmed &&
        after.context.failures === 0) ||
      'it is miscounted',
  },
  {
    clause: 'R5',
    says: 'every nudge is counted, in every state',
    when: (step) => step.heard(...nudges),
    holds: ({ before, after }) => after.context.nudges === before.context.nudges + 1 || 'it is not',
  },
  {
    clause: 'R5',
    says: 'an arrival and a review are remembered until they are met',
    when: (step) =>
      step.heard('entries.arrived', 'review.asked', 'row.changed') &&
      step.ignored === false &&
      !step.after.is('Recovering') &&
      step.started('reviewCopies') === undefined,
    holds: ({ before, after, fact }) => {
      const arrived = fact.type === 'entries.arrived' ? 1 : 0;
      return (
        (after.context.waiting === before.context.waiting + arrived &&
          after.context.reviews === before.context.reviews + 1 - arrived) ||
        'it is forgotten'
      );
    },
  },
  {
    clause: 'R5',
    says: 'news while the lane waits for its member is acted upon at once',
    when: (step) => step.heard(...nudges) && resting.some((state) => step.before.is(state)),
    holds: decides,
  },
  {
    clause: 'R5',
    says: 'a lane that waits for somebody else says so, so that another one may look for its place',
    when: (step) =>
      waiting.some(
        (state) =>
          step.after.is(state) && (!step.before.is(state) || (step.ignored === false && step.armed('laneRest'))),
      ),
    holds: (step) => step.reported('lane.placed')?.member === step.after.context.member || 'it does not',
  },
  {
    clause: 'R5',
    says: 'a lane with nothing to do rests, and then says that it is quiet, with all that it has met',
    when: (step) =>
      (step.elapsed === 'laneRest' && !step.ignored) ||
      resting.some((state) => step.after.is(state) && !step.before.is(state)),
    holds: (step) => {
      if (step.elapsed !== 'laneRest') return step.armed('laneRest') || 'it never says';
      const report = step.reported('lane.quiet');
      return (report?.end === 'rested' && report.nudges === step.after.context.nudges) || 'it does not say';
    },
  },
  {
    clause: 'R5',
    says: 'a lane is never said to be quiet while something is known to be due',
    when: (step) => step.reported('lane.quiet')?.end === 'rested',
    holds: decides,
  },
  {
    clause: 'R2',
    says: 'a broker that is silent, or an effect that fails, is asked for the place again after a pause that grows',
    when: (step) =>
      step.heard('broker.silent', 'effect.failed') && step.before.begun && !step.before.is('Retired') && !step.ignored,
    holds: ({ before, after, armed }) =>
      (after.is('BackingOff') && armed('backOff') && after.context.failures === before.context.failures + 1) ||
      'it goes on without knowing',
  },
  {
    clause: 'R2',
    says: 'a hand-off that the broker refuses is tried again, for ever, and told with its number',
    when: (step) => step.before.is('HandingOff') && step.heard('store.refused'),
    holds: (step) => {
      const facts = told(step, 'tellRefusedStore');
      const failures = step.before.context.failures + 1;
      return (
        (step.after.is('BackingOff') &&
          step.armed('backOff') &&
          facts?.code === step.fact.code &&
          facts?.failures === failures) ||
        'it is given up'
      );
    },
  },
  {
    clause: 'R2',
    says: 'the pause ends with the question',
    when: (step) => (step.elapsed === 'backOff' || step.elapsed === 'unknownRetry') && !step.ignored,
    holds: (step) => step.started('recoverPlace') !== undefined || 'nobody asks',
  },
  {
    clause: 'R6',
    says: 'a retired lifecycle loses everything, wherever that is learnt',
    when: (step) => step.heard('lifecycle.retired'),
    holds: (step) => step.started('removeEverything') !== undefined || 'it keeps something',
  },
  {
    clause: 'R6',
    says: 'everything is removed only of a lifecycle that is retired',
    when: (step) => step.started('removeEverything') !== undefined,
    holds: (step) => step.heard('lifecycle.retired') || step.before.is('Retired') || 'it is not',
  },
  {
    clause: 'R6',
    says: 'what comes while it is removed is removed as well; then it is reported, and nothing of it is left to be met',
    when: (step) => step.before.is('Retired.Removing') && step.heard('entries.removed'),
    holds: (step) => {
      const { waiting: owed, reviews } = step.before.context;
      if (owed + reviews > 0) return step.started('removeEverything') !== undefined || 'it is left';
      return (step.after.is('Gone') && step.reported('lane.quiet')?.end === 'retired') || 'it is not reported';
    },
  },
  {
    clause: 'R6',
    says: 'a removal that fails is tried again after a pause, so many times, and is then left, and that is told',
    when: (step) => step.heard('removal.failed'),
    holds: (step) => {
      const { failures, retries } = step.before.context;
      if (failures < retries) {
        return (step.armed('removalRetry') && step.after.context.failures === failures + 1) || 'it is not tried again';
      }
      const left = step.before.is('Retired')
        ? step.after.is('Gone')
        : step.after.context.settled === 0 && decides(step) === true;
      return (left && told(step, 'tellRemovalGivenUp')?.member === step.after.context.member) || 'it is not left';
    },
  },
  {
    clause: 'R6',
    says: 'after the pause the removal is asked for again',
    when: (step) => step.elapsed === 'removalRetry' && !step.ignored,
    holds: (step) =>
      step.started(step.before.is('Retired') ? 'removeEverything' : 'removeSettled') !== undefined || 'it is forgotten',
  },
  {
    clause: 'R6',
    says: 'silence decides nothing about a retired lifecycle: it is tried again',
    when: (step) => step.before.is('Retired.Removing') && step.heard('broker.silent', 'effect.failed'),
    holds: ({ before, after, armed }) =>
      (after.is('Retired.Resting') &&
        armed('removalRetry') &&
        after.context.failures === before.context.failures + 1) ||
      'it is decided',
  },
  {
    clause: 'R7',
    says: 'a missing row is counted, and met again after its pause, until the retries are used up; a review comes first',
    when: (step) => step.heard('lifecycle.unknown'),
    holds: (step) => {
      const { unknowns, retries, reviews, refused } = step.after.context;
      if (unknowns !== step.before.context.unknowns + 1) return 'it is not counted';
      if (reviews + refused > 0) return step.after.is('Withdrawing') || 'the review waits';
      if (unknowns > retries) return step.after.is('GivingUp') || 'it is met too often';
      return (step.after.is('Unknown') && step.armed('unknownRetry')) || 'it is not met again';
    },
  },
  {
    clause: 'R7',
    says: 'it is given up only when the retries are used up, with the number of meetings',
    when: (step) => step.started('markGivenUp') !== undefined,
    holds: ({ after, started }) =>
      (after.context.unknowns > after.context.retries && started('markGivenUp')?.attempts === after.context.unknowns) ||
      'it is given up early',
  },
  {
    clause: 'R7',
    says: 'the verdict is told once it is durable, with the number of meetings, and at no other time',
    when: (step) =>
      told(step, 'tellGivenUp') !== undefined || (step.before.is('GivingUp') && step.heard('mark.stored')),
    holds: (step) =>
      (step.before.is('GivingUp') &&
        step.heard('mark.stored') &&
        told(step, 'tellGivenUp')?.attempts === step.before.context.unknowns) ||
      'it is told otherwise',
  },
  {
    clause: 'R7',
    says: 'a verdict, new or standing, ends the meetings; what was asked for meanwhile comes first, and then it is met again',
    when: (step) => step.heard('verdict.stands') || (step.before.is('GivingUp') && step.heard('mark.stored')),
    holds: ({ before, after, started }) => {
      const { reviews, refused, waiting: owed } = before.context;
      if (reviews + refused === 0) return after.is('GivenUp') || 'it is passed over';
      const again = after.context.waiting === owed + 1 && after.context.unknowns === 0;
      return (started('reviewCopies') !== undefined && again) || 'the review waits';
    },
  },
  {
    clause: 'R7',
    says: 'a member that is given up is reported, with all that was met',
    when: (step) => step.after.is('GivenUp') && !step.before.is('GivenUp'),
    holds: (step) => {
      const report = step.reported('lane.quiet');
      return (report?.end === 'given-up' && report.nudges === step.after.context.nudges) || 'it is not reported';
    },
  },
  {
    clause: 'R7',
    says: 'news of a member that was given up, or is gone, asks the store again',
    when: (step) => step.heard(...nudges) && (step.before.is('GivenUp') || step.before.is('Gone')),
    holds: (step) => step.started('recoverPlace') !== undefined || 'it is passed over',
  },
];
