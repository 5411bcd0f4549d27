import type { ContextFrom } from 'xstate';
import { attachMachine } from '../../../src/machines/attach.machine.ts';
import { named, type PathPromise, samplesOf } from '../../support/paths/samples.ts';
import { started, wait } from './family.ts';

type Context = ContextFrom<typeof attachMachine>;

const gone = (principal: string) => ({ principal, kicked: 0, remaining: 0, verifiedGone: true, scanComplete: true });
const isGone = (data: unknown): boolean => JSON.stringify(data) === JSON.stringify({ results: [gone('m.s')] });

const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'AT1',
    says: 'it is attached when the holder was issued, and only then',
    when: (step) => step.before.begun && step.after.is('Attached') !== step.before.is('Attached'),
    holds: (step) =>
      step.before.is('Attached') ||
      (step.heard('holder.issued') && step.after.context.principal === step.fact.principal) ||
      step.fact.type,
  },
  {
    clause: 'AT1',
    says: 'a session that has a holder, and a store that does not take its row, end it without one',
    when: (step) => step.before.begun && step.before.is('Issuing') && step.after.is('Refused'),
    holds: (step) => {
      const { end, reason } = step.after.context;
      const said = String(step.fact.principal ?? step.fact.reason ?? step.fact.message ?? 'did not answer');
      const fits = end === (step.heard('session.taken') ? 'taken' : 'failed') && reason.includes(said);
      return (fits && !started(step.effects)) || `${end}: ${reason}`;
    },
  },
  {
    clause: 'AT2',
    says: 'it is evicted after it was revoked',
    when: (step) => step.started('railWait') !== undefined,
    holds: (step) => {
      const { op, args } = step.started('railWait') as { op: string; args: { principals: string[] } };
      return (step.heard('holder.revoked') && op === 'evictPrincipals' && args.principals.join() === 'm.s') || op;
    },
  },
  {
    clause: 'AT2',
    says: 'its row is removed only when an answer proved it gone',
    when: (step) => step.started('removeHolder') !== undefined,
    holds: (step) =>
      (step.heard('wait.answered') && isGone(step.fact.data) && step.started('removeHolder')?.credentialId === 'U1') ||
      step.fact.type,
  },
  {
    clause: 'AT2',
    says: 'it has ended when its row was removed',
    when: ({ after }) => after.status === 'done' && after.is('Ended'),
    holds: (step) => step.heard('holder.removed') || step.fact.type,
  },
  {
    clause: 'AT3',
    says: 'a session that ended meanwhile has its holder revoked when it is issued',
    when: (step) => step.before.begun && step.before.is('Issuing.Unwanted') && step.heard('holder.issued'),
    holds: (step) =>
      (step.after.is('Ending.Revoking') &&
        step.started('revokeHolder')?.credentialId === 'U1' &&
        step.after.context.end === 'ended') ||
      'it stays',
  },
  {
    clause: 'AT3',
    says: 'the end of an attached session revokes its holder',
    when: (step) => step.before.begun && step.before.is('Attached') && step.heard('session.ended'),
    holds: (step) =>
      (step.started('revokeHolder')?.principal === 'm.s' && step.after.context.end === 'ended') || 'it does not',
  },
  {
    clause: 'AT4',
    says: 'what is not proved ends as kept, with the reason',
    when: (step) => step.before.begun && step.before.is('Ending') && step.after.is('Kept'),
    holds: (step) => {
      const { end, reason } = step.after.context;
      const said = String(step.fact.message ?? step.fact.reason ?? '');
      const fits = end === 'kept' && reason !== '' && reason.includes(said);
      return (fits && !started(step.effects)) || reason;
    },
  },
  {
    clause: 'AT4',
    says: 'an answer that proves nothing keeps it',
    when: (step) => step.heard('wait.answered') && !isGone(step.fact.data),
    holds: (step) => step.after.is('Kept') || 'it goes on',
  },
  {
    clause: 'AT4',
    says: 'a silent store is asked again, after a rest, from the revocation on',
    when: (step) =>
      (step.before.begun && step.before.is('Ending') && step.heard('store.unanswered')) || step.elapsed === 'askAgain',
    holds: (step) =>
      step.elapsed === 'askAgain'
        ? step.started('revokeHolder') !== undefined || 'it is not'
        : (step.after.is('Ending.Resting') && step.armed('askAgain')) || 'it does not rest',
  },
  {
    clause: 'AT5',
    says: 'a holder in doubt is revoked, whether it is wanted still or not',
    when: (step) => step.heard('holder.doubtful'),
    holds: (step) => {
      const { principal, credentialId } = step.started('revokeHolder') ?? {};
      return (step.after.is('Ending.Revoking') && principal === 'm.s' && credentialId === 'U1') || 'it is left';
    },
  },
  {
    clause: 'AT5',
    says: 'it is told as failed, with what was not known of it',
    when: (step) => step.heard('holder.doubtful'),
    holds: ({ after: { context }, fact }) =>
      (context.end === 'failed' && context.reason === fact.reason) || `${context.end}: ${context.reason}`,
  },
  {
    clause: 'AT5',
    says: 'as what it ends is known before its end begins, and stays unless the holder is kept',
    when: (step) => step.before.begun && step.before.is('Ending') && !step.after.is('Kept'),
    holds: ({ before: { context: was }, after: { context: is } }) =>
      (is.end === was.end && is.reason === was.reason) || `${is.end}: ${is.reason}`,
  },
];

const trouble = [{ type: 'store.unanswered' }, { type: 'store.refused', reason: 'publish was denied' }] as const;

export const samples = samplesOf(attachMachine, {
  inputs: { session: { session: 's1', rail: 'ctl.delivery-admin', wait } },
  events: [{ type: 'session.ended' }],
  answers: {
    issueHolder: [
      { type: 'holder.issued', principal: 'm.s', credentialId: 'U1' },
      { type: 'session.taken', principal: 'm.s' },
      { type: 'holder.doubtful', principal: 'm.s', credentialId: 'U1', reason: 'the row may be there' },
      ...trouble,
    ],
    revokeHolder: [{ type: 'holder.revoked' }, ...trouble],
    railWait: [
      named('gone', { type: 'wait.answered', data: { results: [gone('m.s')] } }),
      named('still there', {
        type: 'wait.answered',
        data: { results: [{ ...gone('m.s'), remaining: 1, verifiedGone: false }] },
      }),
      named('another', { type: 'wait.answered', data: { results: [gone('m.t')] } }),
      { type: 'wait.refused', code: 'rail.not-wired', message: 'not wired' },
      { type: 'wait.unreadable', message: 'cannot be read' },
      { type: 'wait.denied', message: 'publish was denied' },
      { type: 'wait.silent', attempts: 3, message: 'nobody answered' },
      { type: 'wait.failed', message: 'askRail failed: a surprise' },
    ],
    removeHolder: [{ type: 'holder.removed' }, ...trouble],
  },
  bounded: { Attached: 'whoever attached: the session ends' },
  clamp: ({ end }) => ({ end }),
  happy: ['Issuing.Wanted', 'Attached', 'Ending.Revoking', 'Ending.Evicting', 'Ending.Removing', 'Ended'],
  promises,
});
