import type { ContextFrom } from 'xstate';
import { type MembershipPlan, planMembership, type RowReading } from '../../../src/domain/membership.ts';
import type { membershipMachine } from '../../../src/machines/membership.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type MembershipStep = Step<ContextFrom<typeof membershipMachine>>;
const effects = ['readRow', 'openRow', 'catchUp', 'activateRow', 'closeRow', 'withdraw'];
const startedBy: Readonly<Record<Exclude<MembershipPlan['kind'], 'refuse' | 'stands'>, string>> = {
  open: 'openRow',
  'catch-up': 'catchUp',
  close: 'closeRow',
  withdraw: 'withdraw',
};
const planOf = ({ before, fact }: MembershipStep): MembershipPlan =>
  planMembership(before.context.asks[0] ?? { kind: 'resume' }, fact as unknown as RowReading);
const answerOf = (step: MembershipStep) => step.reported('request.answered');
const ticketOf = ({ before }: MembershipStep) => {
  const [ask] = before.context.asks;
  return ask === undefined || ask.kind === 'resume' ? '' : ask.ticket;
};
const isRead = (step: MembershipStep) => step.before.is('Reading') && step.heard('row.read');

export const promises: readonly PathPromise<ContextFrom<typeof membershipMachine>>[] = [
  {
    clause: 'M6',
    says: 'a request is kept in its turn, in every state; where too many wait, the oldest of them makes room and counts as met',
    when: (step) => step.heard('request.asked'),
    holds: ({ before, after, fact }) => {
      const { asks, asksLimit, met } = before.context;
      const full = asks.length >= asksLimit;
      const kept = full ? [asks[0], ...asks.slice(2), fact.ask] : [...asks, fact.ask];
      return (
        (JSON.stringify(after.context.asks) === JSON.stringify(kept) && after.context.met === met + (full ? 1 : 0)) ||
        'it is lost'
      );
    },
  },
  {
    clause: 'M6',
    says: 'the row is read for each request, and one that comes while nothing is done is met at once',
    when: (step) => step.heard('request.asked') || (step.after.is('Reading') && !step.before.is('Reading')),
    holds: (step) =>
      step.heard('request.asked') && !step.before.is('Settled')
        ? effects.every((id) => step.started(id) === undefined) || 'a request is crossed'
        : step.started('readRow') !== undefined || 'it waits',
  },
  {
    clause: 'M6',
    says: 'one effect is under way at a time, and each knows which row it is for',
    when: ({ after }) => after.begun,
    holds: (step) =>
      (effects.filter((id) => step.after.running(id)).length <= 1 &&
        effects.every((id) => step.started(id) === undefined || step.started(id)?.key === step.after.context.key)) ||
      'two are',
  },
  {
    clause: 'M6',
    says: 'what follows from a row is the rule’s, and nothing else',
    when: isRead,
    holds: (step) => {
      const { kind } = planOf(step);
      if (kind !== 'refuse' && kind !== 'stands')
        return step.started(startedBy[kind]) !== undefined || `${kind} is due`;
      const answer = answerOf(step)?.answer;
      return answer !== undefined || 'it is not answered';
    },
  },
  {
    clause: 'M6',
    says: 'a refusal says why, in the form of what was asked',
    when: (step) => isRead(step) && planOf(step).kind === 'refuse',
    holds: (step) => {
      const plan = planOf(step);
      const answer = answerOf(step)?.answer;
      const form =
        step.before.context.asks[0]?.kind === 'leave'
          ? answer?.left === false && answer.dropped === 0
          : answer?.durable === false;
      return (form && plan.kind === 'refuse' && answer.reason === plan.reason) || 'it does not';
    },
  },
  {
    clause: 'M2',
    says: 'a request carries no generation: what is opened is the one after that of the row, or after the last one known of it',
    when: (step) => step.started('openRow') !== undefined,
    holds: (step) => {
      const { row } = step.fact as unknown as RowReading;
      const last = row?.generation ?? step.before.context.generation;
      return step.started('openRow')?.generation === last + 1 || 'it is another one';
    },
  },
  {
    clause: 'M1',
    says: 'a row that was written is caught up with before anything else, from its own cursor',
    when: (step) => step.before.is('Opening') && step.heard('row.written'),
    holds: ({ started, fact }) => {
      const input = started('catchUp');
      return (input?.joinCursor === fact.joinCursor && input?.generation === fact.generation) || 'it is not';
    },
  },
  {
    clause: 'M1',
    says: 'a row that was left pending is caught up with from the cursor that it has',
    when: (step) => isRead(step) && planOf(step).kind === 'catch-up',
    holds: ({ started, fact }) => {
      const { row } = fact as unknown as RowReading;
      return started('catchUp')?.joinCursor === row?.joinCursor || 'from another one';
    },
  },
  {
    clause: 'M3',
    says: 'durable is answered only for a row that stands, or that became active after its copies were complete',
    when: (step) => answerOf(step)?.answer?.durable === true,
    holds: (step) =>
      (step.before.is('Activating') && step.heard('row.written')) ||
      (isRead(step) && planOf(step).kind === 'stands') ||
      `answered on ${step.fact.type}`,
  },
  {
    clause: 'M3',
    says: 'it is activated only when its copies are complete, and then at once',
    when: (step) => step.started('activateRow') !== undefined || step.heard('copies.complete'),
    holds: (step) =>
      (step.before.is('CatchingUp') &&
        step.heard('copies.complete') &&
        step.started('activateRow')?.generation === step.before.context.generation) ||
      'it is activated otherwise',
  },
  {
    clause: 'M3',
    says: 'the answer says which generation, and from where',
    when: (step) => answerOf(step)?.answer?.durable === true,
    holds: (step) => {
      const { generation, joinCursor } = (answerOf(step)?.answer ?? {}) as { generation?: number; joinCursor?: number };
      const { row } = step.fact as unknown as RowReading;
      const known = isRead(step) ? (row ?? step.before.context) : step.before.context;
      return (generation === known.generation && joinCursor === known.joinCursor) || 'it is another one';
    },
  },
  {
    clause: 'M5',
    says: 'retention that ate part of the catch-up closes the generation, and that is told with both sequences',
    when: (step) => step.before.is('CatchingUp') && step.heard('retention.ate'),
    holds: (step) => {
      const [facts] = step.effects.flatMap((effect) =>
        effect.kind === 'act' && effect.action === 'tellLostToRetention'
          ? [effect.params as Record<string, unknown>]
          : [],
      );
      const { joinCursor, generation } = step.before.context;
      return (
        (step.started('closeRow')?.generation === generation &&
          facts?.first === step.fact.first &&
          facts?.joinCursor === joinCursor) ||
        'it is passed over'
      );
    },
  },
  {
    clause: 'M5',
    says: 'a generation that was given up is answered as not durable, with the reason',
    when: (step) => step.before.is('Abandoning') && step.heard('row.written'),
    holds: (step) => {
      const answer = answerOf(step)?.answer;
      return (answer?.durable === false && /retention/.test(answer.reason)) || 'it is not';
    },
  },
  {
    clause: 'M7',
    says: 'a leave is answered only after what was owed is taken back, and with its number',
    when: (step) => answerOf(step)?.answer?.left === true,
    holds: (step) =>
      (step.before.is('Withdrawing') &&
        step.heard('member.withdrawn') &&
        answerOf(step)?.answer.dropped === step.fact.dropped) ||
      `answered on ${step.fact.type}`,
  },
  {
    clause: 'M7',
    says: 'what was owed is taken back once the row is closed',
    when: (step) => step.before.is('Closing') && step.heard('row.written'),
    holds: ({ before, started }) => started('withdraw')?.generation === before.context.generation || 'it stays',
  },
  {
    clause: 'M7',
    says: 'the generation that is closed is the one that was read',
    when: (step) => isRead(step) && planOf(step).kind === 'close',
    holds: ({ started, fact }) =>
      started('closeRow')?.generation === (fact as unknown as RowReading).row?.generation || 'it is another one',
  },
  {
    clause: 'M4',
    says: 'a write that met another one reads the row again, and answers nothing',
    when: (step) => step.heard('write.conflicted') && !step.ignored,
    holds: (step) => (step.started('readRow') !== undefined && answerOf(step) === undefined) || 'it goes on',
  },
  {
    clause: 'M4',
    says: 'silence and failures answer nothing: the row is read again after a pause that grows',
    when: (step) => step.heard('broker.silent', 'effect.failed') && step.before.begun && !step.ignored,
    holds: (step) =>
      (step.after.is('Resting') &&
        step.armed('backOff') &&
        answerOf(step) === undefined &&
        step.after.context.failures === step.before.context.failures + 1 &&
        step.after.context.asks.length === step.before.context.asks.length) ||
      'it is concluded',
  },
  {
    clause: 'M4',
    says: 'the pause ends with the question',
    when: (step) => step.elapsed === 'backOff' && !step.ignored,
    holds: (step) => step.started('readRow') !== undefined || 'nobody asks',
  },
  {
    clause: 'M4',
    says: 'an effect that went well ends a row of failures',
    when: (step) => isRead(step) || (step.before.is('Opening') && step.heard('row.written')),
    holds: ({ after }) => after.context.failures === 0 || 'the next pause is longer',
  },
  {
    clause: 'M6',
    says: 'each request is answered once, to its own ticket, and taken off; then the next is met, or it is quiet',
    when: (step) => answerOf(step) !== undefined,
    holds: (step) => {
      const answers = step.effects.filter(
        (effect) => effect.kind === 'report' && effect.event.type === 'request.answered',
      );
      const { asks, met } = step.before.context;
      if (answers.length !== 1 || answerOf(step)?.ticket !== ticketOf(step)) return 'it is answered otherwise';
      if (step.after.context.met !== met + 1 || step.after.context.asks.length !== asks.length - 1)
        return 'it is not taken off';
      if (asks.length > 1) return step.started('readRow') !== undefined || 'the next one waits';
      return step.reported('membership.quiet')?.asks === met + 1 || 'it is not quiet';
    },
  },
  {
    clause: 'M6',
    says: 'quiet is said when nothing is left to do, with the number of requests that were met, and at no other time',
    when: (step) =>
      step.reported('membership.quiet') !== undefined || (step.after.is('Settled') && !step.before.is('Settled')),
    holds: (step) =>
      (step.after.is('Settled') &&
        step.after.context.asks.length === 0 &&
        step.reported('membership.quiet')?.asks === step.after.context.met) ||
      'something is left',
  },
];
