import type { ContextFrom } from 'xstate';
import { railWaitMachine } from '../../../src/machines/rail-wait.machine.ts';
import { type PathPromise, samplesOf } from '../../support/paths/samples.ts';

type Context = ContextFrom<typeof railWaitMachine>;

const ENDS = {
  'rail.answered': ['Answered', 'wait.answered'],
  'rail.refused': ['Refused', 'wait.refused'],
  'rail.unreadable': ['Unreadable', 'wait.unreadable'],
  'rail.denied': ['Denied', 'wait.denied'],
  'effect.failed': ['Failed', 'wait.failed'],
} as const;

const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'W1',
    says: 'the first attempt is made at once, with the whole wait before it',
    when: ({ before }) => !before.begun,
    holds: (step) =>
      (step.started('askRail')?.since === null && step.armed('deadline')) || 'nothing is asked, or nothing bounds it',
  },
  {
    clause: 'W1',
    says: 'another attempt follows a silent one only, and only after the gap',
    when: (step) => step.started('askRail') !== undefined && step.before.begun,
    holds: (step) =>
      (step.before.is('Waiting.Resting') && step.elapsed === 'nextGap') || `it follows ${step.fact.type}`,
  },
  {
    clause: 'W1',
    says: 'an attempt that was silent is counted, and the next one knows when the first began',
    when: (step) => step.heard('rail.silent'),
    holds: ({ before, after, fact }) =>
      (after.context.attempts === before.context.attempts + 1 &&
        after.context.since === fact.since &&
        after.context.leftMs === fact.leftMs) ||
      'it is lost',
  },
  {
    clause: 'W1',
    says: 'the gap over, it asks again with what the first attempt began at',
    when: (step) => step.elapsed === 'nextGap',
    holds: (step) => step.started('askRail')?.since === step.before.context.since || 'it counts anew',
  },
  {
    clause: 'W2',
    says: 'a silent attempt is followed by a gap while there is room for another one, and by nothing when there is none',
    when: (step) => step.heard('rail.silent'),
    holds: (step) => {
      const hasRoom = (step.fact.leftMs as number) >= 100;
      return (
        (step.after.is(hasRoom ? 'Waiting.Resting' : 'Waiting.Spent') && step.armed('nextGap') === hasRoom) ||
        'it does otherwise'
      );
    },
  },
  {
    clause: 'W3',
    says: 'at the deadline it is over, whatever is under way',
    when: (step) => step.elapsed === 'deadline',
    holds: ({ after }) => (after.is('Silent') && after.status === 'done') || 'it goes on',
  },
  {
    clause: 'W3',
    says: 'what is over asks nothing',
    when: ({ after }) => after.status === 'done',
    holds: (step) => (step.started('askRail') === undefined && !step.armed('nextGap')) || 'something follows',
  },
  {
    clause: 'W4',
    says: 'an answer, a refusal, an unreadable reply, a denial and a surprise end it at once, each under its own name',
    when: (step) => step.heard(...Object.keys(ENDS)) && !step.ignored,
    holds: (step) => {
      const [state, type] = ENDS[step.fact.type as keyof typeof ENDS];
      return (step.after.is(state) && step.after.context.outcome.type === type) || 'it ends otherwise';
    },
  },
  {
    clause: 'W4',
    says: 'what the daemon said is handed on as it came',
    when: (step) => step.heard('rail.answered', 'rail.refused', 'rail.denied', 'effect.failed') && !step.ignored,
    holds: ({ after, fact }) => {
      const outcome = after.context.outcome as unknown as Record<string, unknown>;
      if (fact.type === 'rail.answered') return outcome.data === fact.data || 'the answer is lost';
      const reason = (fact.type === 'rail.denied' ? fact.subject : fact.message) as string;
      return String(outcome.message).includes(reason) || 'the reason is lost';
    },
  },
  {
    clause: 'W5',
    says: 'silence and a reply that cannot be read name the rail and the operation',
    when: ({ after }) => after.status === 'done' && (after.is('Silent') || after.is('Unreadable')),
    holds: ({ after }) => {
      const { message } = after.context.outcome as { message: string };
      return (message.includes('ctl.delivery-admin') && message.includes('principalLiveness')) || message;
    },
  },
  {
    clause: 'W5',
    says: 'an attempt for which no time was left leaves the last reason as it was',
    when: (step) => step.heard('rail.silent'),
    holds: ({ before, after, fact }) =>
      after.context.why === (fact.why === '' ? before.context.why : fact.why) || after.context.why,
  },
  {
    clause: 'W5',
    says: 'silence tells how many attempts were silent, and the last reason',
    when: (step) => step.elapsed === 'deadline',
    holds: ({ before, after }) => {
      const outcome = after.context.outcome;
      if (outcome.type !== 'wait.silent') return 'it does not tell';
      const reason = before.context.why === '' ? 'under way' : before.context.why;
      return (outcome.attempts === before.context.attempts && outcome.message.includes(reason)) || outcome.message;
    },
  },
];

export const samples = samplesOf(railWaitMachine, {
  inputs: {
    liveness: {
      rail: 'ctl.delivery-admin',
      op: 'principalLiveness',
      args: { principal: 'manager.i1' },
      waitMs: 60_000,
      firstGapMs: 1_000,
      gapLimitMs: 5_000,
      gapFloorMs: 50,
      attemptMs: 15_000,
    },
  },
  events: [],
  answers: {
    askRail: [
      { type: 'rail.answered', data: { liveness: 'gone' } },
      { type: 'rail.refused', code: 'rail.not-wired', message: 'not wired' },
      { type: 'rail.denied', subject: 'cotal.main.ctl', operation: 'publish' },
      { type: 'rail.unreadable' },
      { type: 'rail.silent', why: 'no-responders', since: 7, leftMs: 59_990 },
      { type: 'rail.silent', why: 'timeout', since: 7, leftMs: 100 },
      { type: 'rail.silent', why: 'timeout', since: 7, leftMs: 99 },
      { type: 'rail.silent', why: 'disconnected', since: 7, leftMs: -3 },
      { type: 'rail.silent', why: '', since: 7, leftMs: -1 },
    ],
  },
  clamp: ({ attempts }) => ({ attempts: Math.min(attempts, 2) }),
  happy: ['Waiting.Asking', 'Waiting.Resting', 'Waiting.Asking', 'rail.answered → Answered'],
  promises,
});
