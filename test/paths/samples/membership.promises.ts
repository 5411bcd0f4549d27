import type { ContextFrom } from 'xstate';
import { planMembership, type RowReading } from '../../../src/domain/membership.ts';
import type { membershipMachine } from '../../../src/machines/membership.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type Context = ContextFrom<typeof membershipMachine>;
type MembershipStep = Step<Context>;

const effects = ['readRow', 'openRow', 'catchUp', 'activateRow', 'closeRow', 'withdraw'];
const startedIn = (step: MembershipStep) => effects.filter((id) => step.started(id) !== undefined);
/** What the row that was read asks for, given the request that is being met. */
const planOf = ({ before, fact }: MembershipStep) =>
  planMembership(before.context.asks[0] ?? { kind: 'resume' }, fact as unknown as RowReading);
const isPlan = (step: MembershipStep, kind: string) => step.heard('row.read') && planOf(step).kind === kind;
const answerIn = (step: MembershipStep) => step.reported('request.answered')?.answer;
const written = (step: MembershipStep, by: string) => step.from === by && step.heard('row.written');
const isTrouble = (step: MembershipStep) => step.from !== undefined && step.heard('broker.silent', 'effect.failed');

export const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'M1',
    says: 'the catch-up begins only when the row is written or was found pending, and from the cursor that the row has',
    when: (step) => step.started('catchUp') !== undefined,
    holds: (step) => {
      const cursor = written(step, 'openRow') ? step.fact.joinCursor : step.fact.row?.joinCursor;
      const inTime = written(step, 'openRow') || isPlan(step, 'catch-up');
      return (inTime && step.started('catchUp')?.joinCursor === cursor) || `it begins on ${step.fact.type}`;
    },
  },
  {
    clause: 'M2',
    says: 'a new row gets the next generation, and no cursor from anybody',
    when: (step) => isPlan(step, 'open') || step.started('openRow') !== undefined,
    holds: (step) => {
      const { key, generation, ...more } = step.started('openRow') ?? {};
      const next = (step.fact.row?.generation ?? step.before.context.generation) + 1;
      return (
        (isPlan(step, 'open') &&
          key === step.before.context.key &&
          generation === next &&
          Object.keys(more).length === 0) ||
        'it is opened wrongly'
      );
    },
  },
  {
    clause: 'M3',
    says: 'a join is answered durable only when its row became active after the copies were complete, or was active',
    when: (step) => answerIn(step)?.durable === true,
    holds: (step) => written(step, 'activateRow') || isPlan(step, 'stands') || `it is answered on ${step.fact.type}`,
  },
  {
    clause: 'M3',
    says: 'a row becomes active only after the copies up to the writer are complete',
    when: (step) => step.started('activateRow') !== undefined || step.heard('copies.complete'),
    holds: (step) =>
      (step.heard('copies.complete') && step.started('activateRow')?.generation === step.before.context.generation) ||
      `it becomes active on ${step.fact.type}`,
  },
  {
    clause: 'M3',
    says: 'a membership that stands, and one that became active, is answered with its generation and cursor',
    when: (step) => isPlan(step, 'stands') || written(step, 'activateRow'),
    holds: (step) => {
      const read = isPlan(step, 'stands') ? step.fact.row : undefined;
      const { generation, joinCursor } = read ?? step.before.context;
      const answer = answerIn(step);
      return (
        (answer?.durable === true && answer.generation === generation && answer.joinCursor === joinCursor) ||
        'it is not'
      );
    },
  },
  {
    clause: 'M4',
    says: 'a row that is pending is caught up with, whoever left it so',
    when: (step) => isPlan(step, 'catch-up'),
    holds: (step) => step.started('catchUp')?.generation === step.fact.row?.generation || 'it stays pending',
  },
  {
    clause: 'M5',
    says: 'a catch-up that retention cut short is told, and its generation is closed',
    when: (step) => step.heard('retention.ate'),
    holds: (step) => {
      const told = step.effects.some(
        (effect) =>
          effect.kind === 'act' &&
          effect.action === 'tellLostToRetention' &&
          (effect.params as { first?: number }).first === step.fact.first,
      );
      const closes = step.started('closeRow')?.generation === step.before.context.generation;
      return (told && closes && step.after.is('Abandoning')) || 'it passes for whole';
    },
  },
  {
    clause: 'M5',
    says: 'its join is then answered as not durable, with the reason',
    when: (step) => step.before.is('Abandoning') && written(step, 'closeRow'),
    holds: (step) => {
      const answer = answerIn(step);
      return (answer?.durable === false && String(answer.reason).includes('retention')) || 'it is answered otherwise';
    },
  },
  {
    clause: 'M6',
    says: 'a request that is refused changes nothing and is answered with the reason',
    when: (step) => isPlan(step, 'refuse'),
    holds: (step) => {
      const plan = planOf(step);
      const refused = plan.kind === 'refuse' && answerIn(step)?.reason === plan.reason;
      const isLeave = step.before.context.asks[0]?.kind === 'leave';
      const shape = isLeave ? answerIn(step)?.left === false : answerIn(step)?.durable === false;
      return (refused && shape && startedIn(step).every((id) => id === 'readRow')) || 'it changes something';
    },
  },
  {
    clause: 'M6',
    says: 'a write that met another one reads the row again',
    when: (step) => step.heard('write.conflicted'),
    holds: (step) => (step.started('readRow') !== undefined && answerIn(step) === undefined) || 'it goes on blindly',
  },
  {
    clause: 'M6',
    says: 'requests are met one at a time, in their order, and each is answered once',
    when: (step) => answerIn(step) !== undefined,
    holds: (step) => {
      const { asks, met } = step.before.context;
      const [ask, ...rest] = asks;
      const ticket = ask === undefined || ask.kind === 'resume' ? '' : ask.ticket;
      const isNext = step.reported('request.answered')?.ticket === ticket;
      const { asks: left, met: now } = step.after.context;
      return (isNext && JSON.stringify(left) === JSON.stringify(rest) && now === met + 1) || 'the order is lost';
    },
  },
  {
    clause: 'M6',
    says: 'only one effect runs at a time',
    when: ({ after }) => after.status === 'active',
    holds: ({ after }) => effects.filter((id) => after.running(id)).length <= 1 || 'two run',
  },
  {
    clause: 'M6',
    says: 'a request is queued whatever is being done, and met at once when nothing is',
    when: (step) => step.heard('request.asked'),
    holds: (step) => {
      const queued = step.after.context.asks.at(-1) === step.fact.ask;
      const more = step.after.context.asks.length === step.before.context.asks.length + 1;
      return (queued && more && (!step.before.is('Settled') || step.started('readRow') !== undefined)) || 'it is lost';
    },
  },
  {
    clause: 'M6',
    says: 'the next request is begun when one was answered, and quiet is reported when there is none',
    when: (step) => answerIn(step) !== undefined,
    holds: (step) => {
      if (step.after.context.asks.length > 0) return step.started('readRow') !== undefined || 'the next one waits';
      const quiet = step.reported('membership.quiet');
      return (step.after.is('Settled') && quiet?.asks === step.after.context.met) || 'nobody is told';
    },
  },
  {
    clause: 'M7',
    says: 'a leave is answered only after withdrawal and removal, with what was dropped',
    when: (step) => answerIn(step)?.left === true || step.heard('member.withdrawn'),
    holds: (step) =>
      (step.heard('member.withdrawn') &&
        answerIn(step)?.left === true &&
        answerIn(step)?.dropped === step.fact.dropped) ||
      `it is answered on ${step.fact.type}`,
  },
  {
    clause: 'M7',
    says: 'a generation is closed before it is withdrawn, and a closed one is withdrawn again',
    when: (step) =>
      step.started('withdraw') !== undefined ||
      isPlan(step, 'withdraw') ||
      (step.before.is('Closing') && written(step, 'closeRow')),
    holds: (step) => {
      const due = isPlan(step, 'withdraw') || (step.before.is('Closing') && written(step, 'closeRow'));
      const generation = isPlan(step, 'withdraw') ? step.fact.row?.generation : step.before.context.generation;
      return (due && step.started('withdraw')?.generation === generation) || 'it is withdrawn too early, or not';
    },
  },
  {
    clause: 'M7',
    says: 'the generation that is left is the one that is closed',
    when: (step) => isPlan(step, 'close'),
    holds: (step) => step.started('closeRow')?.generation === step.fact.row?.generation || 'another one is closed',
  },
  {
    clause: 'M4',
    says: 'a broker that is silent, or an effect that fails, answers nothing: the row is read again after a pause that grows',
    when: isTrouble,
    holds: (step) => {
      const counted = step.after.context.failures === step.before.context.failures + 1;
      return (
        (step.after.is('Resting') && step.armed('backOff') && counted && answerIn(step) === undefined) || 'it goes on'
      );
    },
  },
  {
    clause: 'M4',
    says: 'what was read or written starts the pauses over',
    when: (step) => step.heard('row.read') || written(step, 'openRow'),
    holds: (step) => isPlan(step, 'refuse') || step.after.context.failures === 0 || 'the pauses stay long',
  },
  {
    clause: 'M4',
    says: 'the end of the pause reads the row',
    when: (step) => step.elapsed === 'backOff',
    holds: (step) => step.started('readRow')?.key === step.before.context.key || 'nothing is read',
  },
  {
    clause: 'M6',
    says: 'it begins settled and says so',
    when: ({ before }) => !before.begun,
    holds: (step) =>
      (step.after.is('Settled') && step.reported('membership.quiet')?.asks === 0) || 'it begins elsewhere',
  },
];
