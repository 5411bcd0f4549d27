/**
 * What the machine of a durable membership promises on every edge. Longer than 300 lines: it is one list, read from above to
 * below beside the chart, and each promise stands alone.
 */
import { isDeepStrictEqual } from 'node:util';
import type { ContextFrom } from 'xstate';
import { isForward, openGeneration } from '../../../src/domain/backstop.ts';
import type { durableMembershipMachine } from '../../../src/machines/durable-membership.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type Context = ContextFrom<typeof durableMembershipMachine>;
type MembershipStep = Step<Context>;

const asking = 'Subscribed.JoinedLive.Asking';
const resting = 'Subscribed.JoinedLive.Resting';
const joinedLive = 'Subscribed.JoinedLive';
const durable = 'Subscribed.JoinedDurable';
const verifying = 'Subscribed.JoinedDurable.Verifying';
const unverified = 'Subscribed.JoinedDurable.Unverified';
const standing = 'Subscribed.JoinedDurable.Standing';

const isCutOff = (at: MembershipStep['before']) => at.is('Subscribed.LiveCutOff') || at.is('Subscribed.DurableCutOff');

const isNews = (step: MembershipStep) =>
  step.heard('plane.ready', 'class.durable', 'connection.restored', 'join.requested');
const forward = ({ before, fact }: MembershipStep) =>
  isForward(before.context.backstop, { generation: fact.generation, joinCursor: fact.joinCursor });
const failing = (step: MembershipStep, child: string) => step.heard('effect.failed') && step.from === child;
/** Whether the pause of this very state is over. */
const elapsedIn = (step: MembershipStep, state: string) =>
  step.elapsed === 'askAgain' && step.event.type.endsWith(`.${state}`);
const backstopOf = (step: MembershipStep) => step.after.context.backstop;
/** The back-off after this step is longer than the one before it could have been. */
const counted = ({ before, after }: MembershipStep) => after.context.failures === before.context.failures + 1;
const asks = (step: MembershipStep, id: string) => step.started(id);

export const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'A1',
    says: 'a join subscribes at once and asks nobody first',
    when: (step) => step.heard('join.requested') && (step.before.is('Left') || step.before.is('Closing')),
    holds: (step) =>
      (step.started('subscribeLive')?.channel === 'team.general' &&
        step.after.is('Subscribed.JoiningLive') &&
        asks(step, 'askDurable') === undefined) ||
      'it does not begin with the subscription',
  },
  {
    clause: 'A1',
    says: 'a join begins with a clean slate: nothing is told of the one before it',
    when: (step) =>
      (step.heard('join.requested') && (step.before.is('Left') || step.before.is('Closing'))) ||
      (step.heard('leave.requested') && !step.before.is('Closing')),
    holds: ({ after: { context } }) =>
      (context.failures === 0 && context.why === '' && context.dropped === 0) || 'something old is told',
  },
  {
    clause: 'A1',
    says: 'joined live is what the broker took, and nothing else: whatever the daemon does, it goes on',
    when: ({ before, after }) => after.tagged('live') && !before.tagged('live'),
    holds: (step) =>
      (step.heard('live.bound') && step.after.is(joinedLive)) ||
      (step.heard('connection.restored') && isCutOff(step.before)) ||
      `it is joined by ${step.fact.type}`,
  },
  {
    clause: 'A1',
    says: 'the subscription runs exactly as long as it is joined',
    when: () => true,
    holds: ({ after }) =>
      after.is('Subscribed') === after.running('subscribeLive') || 'subscribed and not joined, or the other way round',
  },
  {
    clause: 'A1',
    says: 'nothing but the broker, a lost connection, a leave, or another hand ends a live membership',
    when: ({ before, after }) => before.tagged('live') && !after.tagged('live'),
    holds: (step) =>
      step.heard('live.refused', 'live.lost', 'connection.lost', 'leave.requested', 'membership.closed') ||
      failing(step, 'subscribeLive') ||
      `it ends by ${step.fact.type}`,
  },
  {
    clause: 'A1',
    says: 'a refused subscription is left, with the refusal',
    when: (step) => step.heard('live.refused') && step.before.is('Subscribed'),
    holds: ({ after, fact }) => (after.is('Left') && after.context.why === fact.reason) || 'it is joined all the same',
  },
  {
    clause: 'A1',
    says: 'a subscription that was lost is made again, with back-off and its cause, and at once when the connection is back',
    when: (step) =>
      (step.before.is('Subscribed') && (step.heard('live.lost') || failing(step, 'subscribeLive'))) ||
      (step.before.is('SubscribingAgain') &&
        (step.elapsed === 'subscribeAgain' || step.heard('connection.restored', 'join.requested'))),
    holds: (step) =>
      step.before.is('SubscribingAgain')
        ? step.started('subscribeLive') !== undefined || 'it stays away'
        : (step.after.is('SubscribingAgain') &&
            step.armed('subscribeAgain') &&
            counted(step) &&
            step.after.context.why !== '') ||
          'it is not made again',
  },
  {
    clause: 'A2',
    says: 'durable is said only of a grant of the registry that is not older than what is known',
    when: ({ before, after }) => after.tagged('durable') && !before.tagged('durable'),
    holds: (step) =>
      (step.from === 'askDurable' && step.heard('durable.granted') && forward(step)) || `said on ${step.fact.type}`,
  },
  {
    clause: 'A2',
    says: 'a grant that is not older is said to be durable',
    when: (step) => step.heard('durable.granted') && forward(step),
    holds: (step) =>
      (step.after.is(standing) &&
        backstopOf(step).generation === step.fact.generation &&
        backstopOf(step).joinCursor === step.fact.joinCursor) ||
      'the grant is not kept',
  },
  {
    clause: 'A2',
    says: 'what is durable has no cause and no age; what is not has both',
    when: ({ after }) => after.tagged('live'),
    holds: ({ after }) => {
      const { reason, since } = after.context.backstop;
      return after.tagged('durable') === (reason === '' && since === 0) || `the cause is "${reason}" since ${since}`;
    },
  },
  {
    clause: 'A2',
    says: 'the age counts from the first cause, the cause is the latest',
    when: (step) =>
      step.before.tagged('live') && step.after.is(joinedLive) && step.heard('durable.withheld', 'durable.unanswered'),
    holds: (step) => {
      if (step.before.is(`${asking}.Again`)) return step.after.is(asking) || 'the news is forgotten';
      const { since } = step.before.context.backstop;
      const { reason, since: now } = backstopOf(step);
      return (reason === step.fact.reason && now === (since === 0 ? step.fact.at : since)) || 'cause or age is another';
    },
  },
  {
    clause: 'A2',
    says: 'a surprise is a cause too',
    when: (step) => failing(step, 'askDurable') && step.before.is(asking),
    holds: (step) =>
      (step.after.is(resting) && backstopOf(step).reason.includes('surprise') && counted(step)) || 'it is not told',
  },
  {
    clause: 'A2',
    says: 'a channel that became live has no backstop any more',
    when: (step) => step.heard('class.live') && step.before.is(durable),
    holds: (step) =>
      (step.after.is(resting) && backstopOf(step).reason === step.fact.reason && counted(step)) || 'it stays durable',
  },
  {
    clause: 'A2',
    says: 'silence while it is asked about does not undo what is durable, a refusal does',
    when: (step) =>
      step.before.is(verifying) &&
      (step.heard('durable.unanswered', 'durable.withheld') || failing(step, 'askDurable')),
    holds: (step) =>
      (step.heard('durable.withheld')
        ? step.after.is(resting)
        : step.after.is(unverified) && step.armed('askAgain') && counted(step)) ||
      'silence counts as an answer, or a refusal as none',
  },
  {
    clause: 'A2',
    says: 'an outcome is settled when the registry or the silence has answered, never while it is asked',
    when: ({ after }) => after.tagged('settled'),
    holds: ({ after }) =>
      !(after.running('askDurable') || after.running('closeDurable') || after.is('Subscribed.JoiningLive')) ||
      'it is still asked',
  },
  {
    clause: 'A2',
    says: 'a settled outcome is told as soon as there is one',
    when: ({ after }) => after.tagged('live') && !after.running('askDurable'),
    holds: ({ after }) => after.tagged('settled') || 'nobody learns of it',
  },
  {
    clause: 'A3',
    says: 'whoever is joined live is asked about as long as it is not durable',
    when: ({ before, after }) => after.is(joinedLive) && !before.is(resting),
    holds: (step) =>
      step.after.is(asking)
        ? step.after.running('askDurable') || 'nobody asks'
        : (step.armed('askAgain') && counted(step)) || step.ignored || 'it is not asked again, or without back-off',
  },
  {
    clause: 'A3',
    says: 'the pause between two questions ends with a question',
    when: (step) => elapsedIn(step, resting) && step.before.is(resting),
    holds: (step) => asks(step, 'askDurable') !== undefined || 'nobody asks',
  },
  {
    clause: 'A3',
    says: 'news ends the pause at once',
    when: (step) => isNews(step) && step.before.is(resting),
    holds: (step) => asks(step, 'askDurable') !== undefined || 'it waits for its time',
  },
  {
    clause: 'A3',
    says: 'news while a question is under way is not lost: an answer that establishes nothing is asked once more',
    when: (step) =>
      (isNews(step) && step.before.is(`${asking}.Once`)) ||
      (step.before.is(`${asking}.Again`) && step.heard('durable.withheld', 'durable.unanswered')),
    holds: (step) =>
      step.before.is(`${asking}.Once`)
        ? (step.after.is(`${asking}.Again`) && asks(step, 'askDurable') === undefined) || 'it is lost, or asked twice'
        : asks(step, 'askDurable') !== undefined || 'it is lost',
  },
  {
    clause: 'A3',
    says: 'a new question begins without old news',
    when: (step) => asks(step, 'askDurable') !== undefined && step.after.is(joinedLive),
    holds: ({ after }) => after.is(`${asking}.Once`) || 'it would be asked for ever',
  },
  {
    clause: 'A3',
    says: 'the plane is followed wherever something is owed by it, and closely where something is not established',
    when: () => true,
    holds: (step) => {
      const follows = step.after.is(joinedLive) || step.after.is(durable) || step.after.is('Closing');
      const urgent = step.started('followPlane')?.urgent;
      return (
        (follows === step.after.running('followPlane') &&
          (urgent === undefined || urgent === !step.after.is(durable))) ||
        'it is followed otherwise'
      );
    },
  },
  {
    clause: 'A1',
    says: 'nothing is joined before somebody asks for it',
    when: ({ before }) => !before.begun,
    holds: ({ after }) => after.is('Left') || 'it joins by itself',
  },
  {
    clause: 'A3',
    says: 'whoever follows the plane and fails is started again',
    when: (step) => failing(step, 'followPlane') && step.before.running('followPlane'),
    holds: (step) =>
      (step.started('followPlane') !== undefined &&
        step.after.tagged('durable') === step.before.tagged('durable') &&
        step.after.tagged('live') === step.before.tagged('live') &&
        step.after.tagged('settled') &&
        (step.after.tagged('durable') || counted(step)) &&
        (!step.after.is('Closing') || step.after.context.why.includes('surprise'))) ||
      'nobody follows it, or it spins',
  },
  {
    clause: 'A3',
    says: 'what is durable is asked about again after a while, when the connection is back, and when it is joined again',
    when: (step) =>
      step.before.is(standing) &&
      (step.elapsed === 'verifyEvery' || step.heard('connection.restored', 'join.requested')),
    holds: (step) =>
      (asks(step, 'askDurable')?.generation === step.before.context.backstop.generation && step.after.is(verifying)) ||
      'it is taken for granted',
  },
  {
    clause: 'A3',
    says: 'a verification that was not answered is made again: after a while, and at once when there is news',
    when: (step) =>
      step.before.is(unverified) &&
      (elapsedIn(step, unverified) || step.heard('plane.ready', 'connection.restored', 'join.requested')),
    holds: (step) => (asks(step, 'askDurable') !== undefined && step.after.is(verifying)) || 'it is taken for granted',
  },
  {
    clause: 'A3',
    says: 'a verification arms the next one',
    when: ({ before, after }) => after.is(standing) && !before.is(standing),
    holds: (step) => step.armed('verifyEvery') || 'it is the last one',
  },
  {
    clause: 'A4',
    says: 'generation, cursor and the closed generation never move back',
    when: ({ before }) => before.begun,
    holds: ({ before, after }) => {
      const was = before.context.backstop;
      const is = after.context.backstop;
      const backwards =
        is.generation < was.generation ||
        is.closed < was.closed ||
        (is.generation === was.generation && is.joinCursor < was.joinCursor);
      return !backwards || 'it moved back';
    },
  },
  {
    clause: 'A4',
    says: 'an answer to a question that nobody is asking any more changes nothing',
    when: ({ late }) => late !== undefined,
    holds: (step) => step.ignored || 'a late answer counts',
  },
  {
    clause: 'A4',
    says: 'a grant that is older changes neither generation nor cursor, and is no backstop',
    when: (step) => step.heard('durable.granted') && !forward(step),
    holds: (step) => {
      const [was, is] = [step.before.context.backstop, backstopOf(step)];
      const same = was.generation === is.generation && was.joinCursor === is.joinCursor;
      if (step.before.is(verifying)) return (same && step.after.is(standing)) || 'it undoes what is known';
      return (
        (same && step.after.is(resting) && is.reason.includes('older') && counted(step)) || 'it counts as an answer'
      );
    },
  },
  {
    clause: 'A5',
    says: 'a leave ends the live subscription and asks to close the generation that is known',
    when: (step) => step.heard('leave.requested') && !step.before.is('Closing'),
    holds: (step) => {
      const asked = asks(step, 'closeDurable');
      const { generation } = step.before.context.backstop;
      return (
        (!step.after.running('subscribeLive') &&
          asked?.generation === generation &&
          asked.channel === 'team.general') ||
        'it names another generation, or is still subscribed'
      );
    },
  },
  {
    clause: 'A5',
    says: 'a leave that is not answered is asked for again: after a while, and at once when there is news',
    when: (step) =>
      step.before.is('Closing') &&
      (step.heard('leave.unanswered') ||
        failing(step, 'closeDurable') ||
        (step.before.is('Closing.Resting') &&
          (elapsedIn(step, 'Closing.Resting') || step.heard('plane.ready', 'connection.restored', 'leave.requested')))),
    holds: (step) =>
      step.before.is('Closing.Resting')
        ? asks(step, 'closeDurable') !== undefined || 'nobody asks'
        : (step.after.is('Closing.Resting') &&
            step.armed('askAgain') &&
            counted(step) &&
            step.after.context.why !== '') ||
          'it is given up, or without its cause',
  },
  {
    clause: 'A5',
    says: 'a leave ends with what the registry says: closed, nothing to close, or refused with the reason',
    when: (step) => step.before.is('Closing') && step.heard('leave.closed', 'leave.absent', 'leave.refused'),
    holds: (step) => {
      const { context } = step.after;
      if (!step.after.is('Left')) return 'it goes on';
      if (step.heard('leave.refused')) return context.why === step.fact.reason || 'the refusal is not told';
      if (context.backstop.owedLeave !== null) return 'a leave is owed still';
      if (step.heard('leave.absent')) {
        const { backstop } = step.before.context;
        return isDeepStrictEqual(context.backstop, { ...backstop, owedLeave: null }) || 'something changed';
      }
      return (
        (context.dropped === step.fact.dropped &&
          context.backstop.closed >= step.fact.generation &&
          context.backstop.reason === '') ||
        'what was withdrawn is not told'
      );
    },
  },
  {
    clause: 'A5',
    says: 'who joins again before its leave was answered owes it, and does not take what it names for open any more',
    when: (step) => step.heard('join.requested') && step.before.is('Closing'),
    holds: (step) => {
      const { generation } = step.before.context.backstop;
      const { owedLeave } = backstopOf(step);
      return (owedLeave === generation && openGeneration(backstopOf(step)) === 0) || 'it counts on what it is leaving';
    },
  },
  {
    clause: 'A5',
    says: 'a leave that is owed is carried out before every question, until something is granted or the leave is settled',
    when: (step) => asks(step, 'askDurable') !== undefined,
    holds: (step) => asks(step, 'askDurable')?.owedLeave === backstopOf(step).owedLeave || 'it is forgotten',
  },
  {
    clause: 'A5',
    says: 'only a grant or the end of the leave settles it',
    when: ({ before }) => before.begun && before.context.backstop.owedLeave !== null,
    holds: (step) =>
      backstopOf(step).owedLeave !== null ||
      step.heard('durable.granted', 'membership.closed', 'leave.closed', 'leave.absent', 'leave.refused') ||
      `settled by ${step.fact.type}`,
  },
  {
    clause: 'A5',
    says: 'a grant settles what was owed',
    when: (step) => step.heard('durable.granted') && forward(step),
    holds: (step) => backstopOf(step).owedLeave === null || 'it would be left at the next question',
  },
  {
    clause: 'A5',
    says: 'nobody leaves without being asked to, being refused, or being closed by another hand',
    when: ({ before, after }) => before.begun && after.is('Left') && !before.is('Left'),
    holds: (step) =>
      step.heard('leave.closed', 'leave.absent', 'leave.refused', 'live.refused', 'membership.closed') ||
      `left by ${step.fact.type}`,
  },
  {
    clause: 'A6',
    says: 'a generation that another hand closed is left with its reason, and not opened again',
    when: (step) => step.heard('membership.closed') && step.before.is('Subscribed'),
    holds: (step) =>
      (step.after.is('Left') &&
        backstopOf(step).closed >= step.fact.generation &&
        step.after.context.why !== '' &&
        asks(step, 'askDurable') === undefined) ||
      'it is opened again',
  },
  {
    clause: 'A6',
    says: 'a question names the generation that is thought to be open, so that the registry can say that it was closed',
    when: (step) => asks(step, 'askDurable') !== undefined,
    holds: (step) =>
      asks(step, 'askDurable')?.generation === openGeneration(backstopOf(step)) || 'it names another generation',
  },
  {
    clause: 'A7',
    says: 'a lost connection ends what is live at once and says why; what was granted stays durable',
    when: (step) => step.heard('connection.lost') && step.before.tagged('live'),
    holds: ({ before, after }) =>
      (isCutOff(after) &&
        after.tagged('settled') &&
        after.tagged('durable') === before.tagged('durable') &&
        isDeepStrictEqual(after.context.backstop, before.context.backstop) &&
        (after.tagged('durable') || after.context.why !== '')) ||
      'it is said to be live, or not told, or the grant is forgotten',
  },
  {
    clause: 'A7',
    says: 'nobody is asked anything while the connection is down',
    when: ({ after }) => isCutOff(after),
    holds: ({ after }) =>
      !(after.running('askDurable') || after.running('followPlane') || after.tagged('live')) || 'somebody is asked',
  },
  {
    clause: 'A7',
    says: 'when the broker has the subscriptions again it is live again, and asked about at once',
    when: (step) => step.heard('connection.restored') && isCutOff(step.before),
    holds: (step) =>
      (step.after.tagged('live') &&
        step.after.tagged('durable') === step.before.tagged('durable') &&
        step.after.context.why === '' &&
        asks(step, 'askDurable') !== undefined) ||
      'it is not live, or taken for granted',
  },
  {
    clause: 'A7',
    says: 'nothing but the proof, the broker, or a leave ends the wait for it',
    when: (step) => isCutOff(step.before) && !isCutOff(step.after),
    holds: (step) =>
      step.heard('connection.restored', 'live.refused', 'live.lost', 'leave.requested') ||
      failing(step, 'subscribeLive') ||
      `it ends by ${step.fact.type}`,
  },
];
