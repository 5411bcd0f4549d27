/** What a lane promises on every edge. Longer than 300 lines: one list, read beside the chart. */
import type { ContextFrom } from 'xstate';
import type { laneMachine } from '../../../src/machines/lane.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';
import { counted } from './lane.counted.ts';

type Context = ContextFrom<typeof laneMachine>;
type LaneStep = Step<Context>;

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
const nudges = ['entries.arrived', 'copies.confirmed', 'review.asked', 'row.changed'];
const resting = ['Idle', 'AwaitingConfirm'] as const;
const waits = [...resting, 'Collecting'] as const;
const over = ['GivenUp', 'Gone'] as const;
/** A post that comes while settled entries are collected and the window is full. */
const isMuted = ({ before, heard }: LaneStep) =>
  before.is('Collecting') && heard('entries.arrived') && before.context.outstanding >= before.context.window;
const isIn = (seen: LaneStep['after'], states: readonly string[]) => states.some((state) => seen.is(state));
const acted = (step: LaneStep, action: string): Record<string, unknown> | undefined => {
  for (const effect of step.effects)
    if (effect.kind === 'act' && effect.action === action) return effect.params as never;
  return undefined;
};
const mustRemove = ({ settled, outstanding, removalBatch }: Context) =>
  settled >= removalBatch || (settled > 0 && outstanding === 0);
const mustReview = ({ refused, reviews }: Context) => refused > 0 || reviews > 0;
const isTrouble = (step: LaneStep) =>
  step.from !== undefined && step.heard('broker.silent', 'effect.failed') && !step.before.is('Retired');
const isRetired = (step: LaneStep) => step.before.is('Retired.Removing');

export const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'R1',
    says: 'a lane asks the store for its place before anything else: at the beginning, after a pause, when it is woken',
    when: (step) =>
      !step.before.begun ||
      step.elapsed === 'backOff' ||
      step.elapsed === 'unknownRetry' ||
      (isIn(step.before, over) && step.heard(...nudges)),
    holds: (step) => step.started('recoverPlace') !== undefined || 'it goes by memory',
  },
  {
    clause: 'R1',
    says: 'only one effect runs at a time',
    when: ({ after }) => after.begun,
    holds: ({ after }) => effects.filter((id) => after.running(id)).length <= 1 || 'two run',
  },
  {
    clause: 'R2',
    says: 'the lane counts exactly what the facts say: nothing is settled that was not confirmed, refused or withdrawn',
    when: ({ before, ignored }) => before.begun && !ignored,
    holds: (step) => {
      const due = counted(step);
      for (const [field, value] of Object.entries(due)) {
        if (step.after.context[field as keyof Context] !== value) {
          return `${field} is ${step.after.context[field as keyof Context]} and not ${value}`;
        }
      }
      return true;
    },
  },
  {
    clause: 'R2',
    says: 'what is settled is removed, and only that',
    when: (step) => step.started('removeSettled') !== undefined,
    holds: (step) =>
      (step.started('removeSettled')?.settled === step.after.context.settled && step.after.context.settled > 0) ||
      'something else is removed',
  },
  {
    clause: 'R3',
    says: 'a batch is handed off only right after it was authorized',
    when: (step) => step.started('handOff') !== undefined || (step.heard('batch.authorized') && step.fact.release > 0),
    holds: (step) =>
      (step.heard('batch.authorized') && step.fact.release > 0 && step.started('handOff') !== undefined) ||
      `it is handed off on ${step.fact.type}`,
  },
  {
    clause: 'R3',
    says: 'handed-off copies are reviewed, and settled ones removed if they are many or nothing waits, before a new batch is chosen',
    when: (step) => step.started('authorizeBatch') !== undefined,
    holds: ({ after }) => (!mustReview(after.context) && !mustRemove(after.context)) || 'a batch is chosen too early',
  },
  {
    clause: 'R3',
    says: 'a review is made as soon as nothing else is under way, with all that were asked for',
    when: ({ before, after }) =>
      before.begun && mustReview(after.context) && isIn(after, [...waits, 'Unknown', 'Authorizing']),
    holds: ({ after, before, ignored }) =>
      (after.is('Authorizing') && before.is('Authorizing')) || ignored || 'it waits',
  },
  {
    clause: 'R3',
    says: 'a review is told how many are asked for',
    when: (step) => step.started('reviewCopies') !== undefined,
    holds: (step) =>
      (mustReview(step.after.context) && step.started('reviewCopies')?.reviews === step.after.context.reviews) ||
      'it is made for nothing',
  },
  {
    clause: 'R4',
    says: 'no batch is chosen while the window is full, or when nothing waits',
    when: (step) => step.started('authorizeBatch') !== undefined,
    holds: ({ after: { context } }) =>
      (context.outstanding < context.window && context.waiting > 0) || 'a batch is chosen all the same',
  },
  {
    clause: 'R2',
    says: 'what was stored, and what was refused without a copy, is marked before the next decision',
    when: (step) => step.heard('copies.stored') || (step.heard('batch.authorized') && step.fact.release === 0),
    holds: (step) => step.started('markHandedOff') !== undefined || 'a restart would not know',
  },
  {
    clause: 'R2',
    says: 'after each fact the lane does what is due next, in its order: review, remove, doubt, hand off, collect, wait, rest',
    when: (step) =>
      (step.heard('place.recovered', 'batch.empty') ||
        (step.before.is('Withdrawing') && step.heard('copies.withdrawn')) ||
        (step.before.is('MarkingHandedOff') && step.heard('mark.stored')) ||
        (step.before.is('Removing') && step.heard('entries.removed')) ||
        (isIn(step.before, waits) && step.heard(...nudges) && !isMuted(step))) &&
      step.after.status === 'active',
    holds: ({ after }) => {
      const { context } = after;
      const due = mustReview(context)
        ? 'Withdrawing'
        : mustRemove(context)
          ? 'Removing.Asking'
          : context.unknowns > 0
            ? context.unknowns > context.retries
              ? 'GivingUp'
              : 'Unknown'
            : context.waiting > 0 && context.outstanding < context.window
              ? 'Authorizing'
              : context.settled > 0
                ? 'Collecting'
                : context.outstanding > 0
                  ? 'AwaitingConfirm'
                  : 'Idle';
      return after.is(due) || `${due} is due`;
    },
  },
  {
    clause: 'R2',
    says: 'a hand-off that the broker refuses is told and tried again for ever, after a pause',
    when: (step) => step.heard('store.refused'),
    holds: (step) =>
      (acted(step, 'tellRefusedStore')?.code === step.fact.code &&
        step.after.is('BackingOff') &&
        step.armed('backOff')) ||
      'it is not',
  },
  {
    clause: 'R2',
    says: 'a broker that is silent, and an effect that fails, decides nothing: a pause, and the place is asked for again',
    when: isTrouble,
    holds: (step) => (step.after.is('BackingOff') && step.armed('backOff')) || 'something is decided',
  },
  {
    clause: 'R2',
    says: 'what comes while the window is full does not put off the removal of what is collected',
    when: isMuted,
    holds: (step) => (step.after.is('Collecting') && !step.armed('removalDelay')) || 'the removal begins anew',
  },
  {
    clause: 'R2',
    says: 'what is collected is removed after a while without a confirmation, though the others still wait',
    when: (step) => step.after.is('Collecting') || step.elapsed === 'removalDelay',
    holds: (step) =>
      step.elapsed === 'removalDelay'
        ? step.started('removeSettled') !== undefined || 'it is not removed'
        : step.armed('removalDelay') || step.before.is('Collecting') || 'it stays for ever',
  },
  {
    clause: 'R6',
    says: 'a retired lifecycle loses everything it has, on first meeting, with a count of failures of its own',
    when: (step) => step.heard('lifecycle.retired'),
    holds: (step) =>
      (step.started('removeEverything') !== undefined && step.after.context.failures === 0) || 'it is not removed',
  },
  {
    clause: 'R6',
    says: 'what came while everything was removed is removed as well',
    when: (step) => isRetired(step) && step.heard('entries.removed'),
    holds: ({ before, after }) => {
      const { waiting, reviews } = before.context;
      return (
        after.is(waiting > 0 || reviews > 0 ? 'Retired.Removing' : 'Gone') || 'something is left, or it never ends'
      );
    },
  },
  {
    clause: 'R6',
    says: 'a removal that failed is tried again after a pause, and given up, and told, after as many retries as are allowed',
    when: (step) => step.heard('removal.failed'),
    holds: (step) => {
      const isOut = step.before.context.failures >= step.before.context.retries;
      const told = acted(step, 'tellRemovalGivenUp') !== undefined;
      const again = step.armed('removalRetry') && step.after.context.failures === step.before.context.failures + 1;
      if (!isOut) return (again && !told) || 'it is given up too early';
      const isOver = step.before.is('Retired') ? step.after.is('Gone') : !step.after.is('Removing');
      return (told && isOver) || 'it is never given up';
    },
  },
  {
    clause: 'R6',
    says: 'whoever asked about a retired lifecycle is refused when its removal is given up, and only then',
    when: (step) => step.heard('removal.failed') || acted(step, 'refuseReviews') !== undefined,
    holds: (step) => {
      const isGivenUp = step.before.is('Retired') && acted(step, 'tellRemovalGivenUp') !== undefined;
      return (
        (acted(step, 'refuseReviews') !== undefined) === isGivenUp || 'somebody waits for ever, or is refused early'
      );
    },
  },
  {
    clause: 'R6',
    says: 'a silent broker, or an effect that fails, is no failed removal: the removal of a retired lifecycle goes on',
    when: (step) => isRetired(step) && step.heard('broker.silent', 'effect.failed'),
    holds: ({ before, after, armed }) =>
      (armed('removalRetry') && after.context.failures === before.context.failures) || 'it counts as one',
  },
  {
    clause: 'R6',
    says: 'the pause between two removals ends with a removal',
    when: (step) => step.elapsed === 'removalRetry',
    holds: (step) =>
      step.started(step.before.is('Retired') ? 'removeEverything' : 'removeSettled') !== undefined ||
      'nothing is removed',
  },
  {
    clause: 'R7',
    says: 'a lifecycle without a row is met again after a pause, reviewed first if that was asked, given up when it is time',
    when: (step) => step.heard('lifecycle.unknown'),
    holds: ({ after, armed }) => {
      const { context } = after;
      if (mustReview(context)) return after.is('Withdrawing') || 'the review waits';
      if (context.unknowns > context.retries) return after.is('GivingUp') || 'it is not given up';
      return (after.is('Unknown') && armed('unknownRetry')) || 'it is given up too early';
    },
  },
  {
    clause: 'R7',
    says: 'a lane that reconsidered asks for its place: the row may be there now',
    when: (step) => step.before.is('Reconsidering') && step.heard('copies.withdrawn'),
    holds: (step) => step.started('recoverPlace') !== undefined || 'it is not asked for',
  },
  {
    clause: 'R7',
    says: 'the verdict is stored before it is told, with the number of meetings, and only after the retries',
    when: (step) => step.started('markGivenUp') !== undefined || acted(step, 'tellGivenUp') !== undefined,
    holds: (step) => {
      const { unknowns, retries } = step.before.context;
      if (step.started('markGivenUp') === undefined) {
        const told = step.before.is('GivingUp') && step.heard('mark.stored');
        return (told && acted(step, 'tellGivenUp')?.attempts === unknowns) || 'it is told too early';
      }
      const { attempts } = step.started('markGivenUp') ?? {};
      return (
        (attempts === step.after.context.unknowns && step.after.context.unknowns > retries) ||
        'it is given up too early'
      );
    },
  },
  {
    clause: 'R7',
    says: 'a verdict that was stored is told, and one that stands is not told again; either way a review that came meanwhile is made',
    when: (step) => (step.before.is('GivingUp') && step.heard('mark.stored')) || step.heard('verdict.stands'),
    holds: (step) => {
      if ((acted(step, 'tellGivenUp') !== undefined) !== step.heard('mark.stored')) return 'it is told wrongly';
      return step.after.is(mustReview(step.before.context) ? 'Reconsidering' : 'GivenUp') || 'a review is never made';
    },
  },
  {
    clause: 'R5',
    says: 'a nudge is heard whatever is being done, and an idle lane acts on it at once',
    when: (step) => step.heard(...nudges),
    holds: ({ before, after, ignored }) =>
      ignored ? 'it is lost' : after.context.nudges === before.context.nudges + 1 || 'it is not counted',
  },
  {
    clause: 'R5',
    says: 'quiet is said with every nudge met: nothing to review, nothing that came and was not looked at, but for a removal given up',
    when: (step) => step.reported('lane.quiet') !== undefined,
    holds: (step) => {
      const report = step.reported('lane.quiet');
      const { member, nudges: met, waiting, outstanding, window } = step.after.context;
      if (report?.member !== member || report.nudges !== met) return 'it names another lane, or another count';
      const isRemovalGivenUp = acted(step, 'tellRemovalGivenUp') !== undefined;
      if (mustReview(step.after.context) && !isRemovalGivenUp) return 'a review is owed';
      const ends = { rested: resting, retired: ['Gone'], 'given-up': ['GivenUp'] } as Record<string, readonly string[]>;
      if (!isIn(step.after, ends[report.end] ?? [])) return `it is not ${report.end}`;
      return report.end === 'given-up' || isRemovalGivenUp || waiting === 0 || outstanding >= window || 'entries wait';
    },
  },
  {
    clause: 'R5',
    says: 'a lane that rests says that it is quiet, and one that is over says so at once',
    when: (step) => step.elapsed === 'laneRest' || (isIn(step.after, over) && !isIn(step.before, over)),
    holds: (step) => step.reported('lane.quiet') !== undefined || 'nobody is told',
  },
  {
    clause: 'R5',
    says: 'a lane that waits for somebody else has found its place, and says so',
    when: ({ before, after }) =>
      isIn(after, [...waits, 'BackingOff', 'Unknown']) && JSON.stringify(after.value) !== JSON.stringify(before.value),
    holds: (step) =>
      step.reported('lane.placed')?.member === step.after.context.member || 'its place in the queue is kept',
  },
  {
    clause: 'R5',
    says: 'a lane that looks for its place, or works, does not say that it has one',
    when: (step) => step.reported('lane.placed') !== undefined,
    holds: ({ after }) =>
      isIn(after, [...waits, 'BackingOff', 'Unknown']) || after.context.unknowns > 0 || 'it says so too early',
  },
  {
    clause: 'R5',
    says: 'a lane that comes to rest tells how many nudges it has met; one that waits without rest does not',
    when: (step) => step.reported('lane.placed') !== undefined,
    holds: (step) =>
      step.reported('lane.placed')?.rests === (isIn(step.after, resting) ? step.after.context.nudges : undefined) ||
      'it says something else',
  },
  {
    clause: 'R5',
    says: 'a lane that came to rest waits to be let go',
    when: ({ before, after }) => isIn(after, resting) && JSON.stringify(after.value) !== JSON.stringify(before.value),
    holds: (step) => step.armed('laneRest') || 'it lives for ever',
  },
];
