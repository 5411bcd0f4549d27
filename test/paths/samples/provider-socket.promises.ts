import type { ContextFrom } from 'xstate';
import type { providerSocketMachine } from '../../../src/machines/provider-socket.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type Context = ContextFrom<typeof providerSocketMachine>;
type SocketStep = Step<Context>;

const ended = (at: SocketStep['after']) => at.status === 'done';
const sinceUnbound = ({ before, fact }: SocketStep) => Math.abs(Number(fact.at) - before.context.unboundSince);
const sinceAsked = ({ before, fact }: SocketStep) => Math.abs(Number(fact.at) - before.context.registerAskedAt);
const silence = ({ fact }: SocketStep) => Number(fact.at) - Number(fact.lastSeen);

export const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'P1',
    says: 'deliverable and alive only by a register that was accepted on this very connection',
    when: ({ before, after }) => after.tagged('bound') && !before.tagged('bound'),
    holds: (step) =>
      (step.heard('register.accepted') && step.before.is('Unbound.Registering')) || `bound by ${step.fact.type}`,
  },
  {
    clause: 'P1',
    says: 'who is bound is who was accepted, in the mode that was accepted',
    when: (step) => step.heard('register.accepted') && !step.ignored,
    holds: ({ after, fact }) => {
      const mode = fact.mode === 'agent_scoped' ? 'Bound.AgentScoped' : 'Bound.Immediate';
      return (
        (after.is(mode) && after.context.provider === fact.provider && after.context.registerAskedAt === 0) ||
        'it is bound as somebody else'
      );
    },
  },
  {
    clause: 'P1',
    says: 'what is deliverable is bound, and what is bound has a provider',
    when: ({ after }) => after.tagged('deliverable') || after.tagged('bound'),
    holds: ({ after }) => (after.tagged('bound') && after.context.provider !== null) || 'it is bound to nobody',
  },
  {
    clause: 'P1',
    says: 'an accepted register that nobody asked for binds nothing',
    when: (step) => step.heard('register.accepted') && step.before.is('Unbound.Waiting'),
    holds: (step) => step.ignored || 'it is bound unasked',
  },
  {
    clause: 'P1',
    says: 'whoever deregisters holds nothing any more, and may register again',
    when: (step) => step.heard('provider.deregistered') && step.before.tagged('bound'),
    holds: ({ after, fact }) =>
      (after.is('Unbound.Waiting') && after.context.provider === null && after.context.unboundSince === fact.at) ||
      'something is held',
  },
  {
    clause: 'P3',
    says: 'a failed register leaves nothing deliverable',
    when: (step) => step.heard('register.failed') && (step.before.tagged('bound') || step.before.is('Unbound')),
    holds: ({ before, after }) =>
      (!after.tagged('deliverable') &&
        after.is(before.tagged('bound') ? 'Bound.Withdrawn' : 'Unbound.Waiting') &&
        after.context.registerAskedAt === 0) ||
      'something is deliverable',
  },
  {
    clause: 'P4',
    says: 'a register that was asked for is remembered with its time',
    when: (step) => step.heard('register.asked') && !ended(step.before),
    holds: ({ before, after, fact }) =>
      (after.context.registerAskedAt === fact.at &&
        after.tagged('bound') === before.tagged('bound') &&
        (after.tagged('bound') || after.is('Unbound.Registering'))) ||
      'it is forgotten',
  },
  {
    clause: 'P4',
    says: 'unbound is reaped when its bound is over, not before, and not while its register is within its deadline',
    when: (step) => step.heard('time.passed') && step.before.is('Unbound'),
    holds: (step) => {
      const { unboundMs, registerMs } = step.before.context.bounds;
      const isOver = sinceUnbound(step) >= unboundMs;
      const isUnanswered = !step.before.is('Unbound.Registering') || sinceAsked(step) >= registerMs;
      return step.after.is('Reaped') === (isOver && isUnanswered) || 'it is reaped too early, or kept for too long';
    },
  },
  {
    clause: 'P5',
    says: 'bound is reaped when its peer was silent for the bound, to the millisecond',
    when: (step) => step.heard('time.passed') && step.before.tagged('bound'),
    holds: (step) =>
      step.after.is('Reaped') === silence(step) >= step.before.context.bounds.reapMs ||
      'it is reaped too early, or kept for too long',
  },
  {
    clause: 'P5',
    says: 'time reaps or changes nothing',
    when: (step) => step.heard('time.passed') && !step.after.is('Reaped'),
    holds: (step) => step.ignored || 'time changed something',
  },
  {
    clause: 'P6',
    says: 'a challenger supersedes what is bound, and nothing else',
    when: (step) => step.heard('challenger.accepted'),
    holds: ({ before, after, ignored }) =>
      (before.tagged('bound') ? after.is('Superseded') : ignored) || 'the wrong one is superseded',
  },
  {
    clause: 'P6',
    says: 'a close and an overflow end the connection, whatever it was',
    when: (step) => step.heard('socket.closed', 'queue.overflowed') && !ended(step.before),
    holds: ({ after, fact }) =>
      after.is(fact.type === 'socket.closed' ? 'Closed' : 'Overloaded') || 'the connection goes on',
  },
  {
    clause: 'P6',
    says: 'what ended changes no more and is not deliverable',
    when: ({ before, after }) => ended(before) || ended(after),
    holds: (step) => {
      if (step.after.tagged('bound') || step.after.tagged('deliverable')) return 'it is deliverable';
      return !ended(step.before) || step.ignored || 'it changed';
    },
  },
];
