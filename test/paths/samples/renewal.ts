import type { ContextFrom } from 'xstate';
import { renewalMachine } from '../../../src/machines/renewal.machine.ts';
import { named, type PathPromise, samplesOf } from '../../support/paths/samples.ts';
import { wait } from './family.ts';

type Context = ContextFrom<typeof renewalMachine>;

const isAdopted = (data: unknown, offered: string): boolean => {
  const { adopted, fingerprint } = (data as { adopted?: unknown; fingerprint?: unknown } | null) ?? {};
  return adopted === true && fingerprint === offered;
};

const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'RN1',
    says: 'something is signed only when the renewal lease is ours, and what is due',
    when: (step) => step.started('signCredentials') !== undefined,
    holds: (step) =>
      (step.heard('renewal.ours') &&
        step.started('signCredentials')?.names === step.before.context.names &&
        step.before.context.names.length > 0) ||
      `on ${step.fact.type}`,
  },
  {
    clause: 'RN1',
    says: 'the renewal lease is asked for when something is due or still to be offered',
    when: (step) => step.started('ownRenewal') !== undefined,
    holds: (step) =>
      step.heard('credentials.due') ||
      (step.heard('credentials.fresh') && step.before.context.offered !== '') ||
      step.fact.type,
  },
  {
    clause: 'RN2',
    says: 'the daemon is told the fingerprint that was signed',
    when: (step) => step.started('railWait') !== undefined,
    holds: (step) => {
      const { op, args } = step.started('railWait') as { op: string; args: { expected: string } };
      const signed =
        step.heard('credentials.signed') && step.fact.fingerprint !== '' ? step.fact.fingerprint : undefined;
      const wanted = signed ?? step.before.context.offered;
      return (op === 'reloadCreds' && args.expected === wanted && wanted !== '') || JSON.stringify(args);
    },
  },
  {
    clause: 'RN2',
    says: 'adopted is recorded of the answer that says so for this fingerprint only',
    when: (step) => step.heard('wait.answered'),
    holds: (step) => {
      const good = isAdopted(step.fact.data, step.before.context.offered);
      const given = step.started('recordOutcome');
      return (
        (given?.outcome === (good ? 'adopted' : 'refused') && (step.after.context.offered === '') === good) ||
        String(given?.outcome)
      );
    },
  },
  {
    clause: 'RN3',
    says: 'what was not adopted stays offered, or what the store has in its place',
    when: (step) =>
      step.before.begun && step.before.context.offered !== '' && !step.heard('wait.answered', 'credentials.signed'),
    holds: (step) => {
      const stored = step.heard('credentials.fresh') ? String(step.fact.fingerprint) : '';
      const { offered, fingerprint } = step.after.context;
      if (step.heard('credentials.fresh') && fingerprint !== offered) return 'another one would be recorded';
      return offered === (stored === '' ? step.before.context.offered : stored) || 'it is forgotten';
    },
  },
  {
    clause: 'RN3',
    says: 'while nothing is due, what is offered is offered again without being signed again',
    when: (step) => step.heard('renewal.ours') && step.before.context.names.length === 0,
    holds: (step) => step.started('railWait') !== undefined || 'it is signed',
  },
  {
    clause: 'RN3',
    says: 'an answer that was a refusal, silence or unreadable is recorded with its reason',
    when: (step) => step.heard('wait.refused', 'wait.unreadable', 'wait.denied', 'wait.silent', 'wait.failed'),
    holds: (step) => {
      const given = step.started('recordOutcome');
      const wanted = step.heard('wait.refused') ? 'refused' : 'failed';
      return (given?.outcome === wanted && given.reason === step.fact.message) || String(given?.outcome);
    },
  },
  {
    clause: 'RN4',
    says: 'what ends a pass is recorded',
    when: (step) => step.heard('renewal.held', 'renewal.unanswered', 'signing.failed', 'store.unreadable'),
    holds: (step) => {
      const given = step.started('recordOutcome');
      const said = String(step.fact.by ?? step.fact.reason);
      const wanted = step.heard('renewal.held') ? 'held' : 'failed';
      return (given?.outcome === wanted && String(given.reason).includes(said)) || 'it is not';
    },
  },
  {
    clause: 'RN4',
    says: 'what was signed without the daemon being concerned is recorded as signed',
    when: (step) => step.heard('credentials.signed') && step.after.is('Recording'),
    holds: (step) => {
      const given = step.started('recordOutcome');
      return (given?.outcome === 'signed' && given.names === step.fact.names && step.fact.fingerprint === '') || 'not';
    },
  },
  {
    clause: 'RN4',
    says: 'a record is followed by a rest',
    when: (step) => step.heard('outcome.recorded'),
    holds: (step) => (step.after.is('Resting') && step.armed('rest')) || 'it is not',
  },
  {
    clause: 'RN5',
    says: 'a rest counts its pass, and only a look that finds nothing to do forgets them',
    when: (step) => step.before.begun && !step.ignored,
    holds: (step) => {
      const [before, after] = [step.before.context.passes, step.after.context.passes];
      const isFresh = step.heard('credentials.fresh') && step.after.is('Waiting');
      const isRest = step.after.is('Resting') && !step.before.is('Resting');
      return after === (isFresh ? 0 : before + (isRest ? 1 : 0)) || `${before}, then ${after}`;
    },
  },
  {
    clause: 'RN5',
    says: 'a look says how long the next one may be away',
    when: (step) => step.heard('credentials.due', 'credentials.fresh'),
    holds: (step) => step.after.context.waitMs === step.fact.waitMs || 'it is not kept',
  },
  {
    clause: 'RN4',
    says: 'nothing due is waited for, with a timer',
    when: (step) => step.heard('credentials.fresh') && step.before.context.offered === '',
    holds: (step) =>
      (step.after.is('Waiting') && step.armed('untilDue') && step.after.context.waitMs === step.fact.waitMs) ||
      'it is not',
  },
  {
    clause: 'RN4',
    says: 'a surprise is followed by a rest and another pass',
    when: (step) => step.heard('effect.failed') && !step.ignored,
    holds: (step) =>
      (step.after.is('Resting') &&
        step.armed('rest') &&
        step.after.context.reason.includes(String(step.fact.message))) ||
      'it ends',
  },
  {
    clause: 'RN4',
    says: 'a timer that has elapsed is followed by a look',
    when: (step) => step.elapsed !== undefined,
    holds: (step) => step.started('lookAtCredentials') !== undefined || 'it is not',
  },
];

const adopted = (fingerprint: string) => ({ type: 'wait.answered', data: { adopted: true, fingerprint } });

export const samples = samplesOf(renewalMachine, {
  inputs: { owner: { rail: 'ctl.delivery-admin', wait, retryMs: 60_000 } },
  events: [],
  answers: {
    lookAtCredentials: [
      { type: 'credentials.due', names: ['delivery'], waitMs: 8_640_000 },
      { type: 'credentials.fresh', waitMs: 43_200_000, fingerprint: 'f1' },
      { type: 'credentials.fresh', waitMs: 43_200_000, fingerprint: 'f2' },
      { type: 'credentials.fresh', waitMs: 43_200_000, fingerprint: '' },
      { type: 'store.unreadable', reason: 'delivery.creds is missing' },
    ],
    ownRenewal: [
      { type: 'renewal.ours' },
      { type: 'renewal.held', by: 'm.other' },
      { type: 'renewal.unanswered', reason: 'the store did not answer' },
    ],
    signCredentials: [
      { type: 'credentials.signed', names: ['delivery'], fingerprint: 'f1' },
      { type: 'credentials.signed', names: ['observer'], fingerprint: '' },
      { type: 'signing.failed', reason: 'no space left' },
    ],
    railWait: [
      named('adopted', adopted('f1')),
      named('another adopted', adopted('f0')),
      named('the one of the store adopted', adopted('f2')),
      named('not adopted', { type: 'wait.answered', data: { adopted: false, fingerprint: 'f1' } }),
      named('nothing', { type: 'wait.answered', data: null }),
      { type: 'wait.refused', code: 'rail.not-started', message: 'it has not finished starting' },
      { type: 'wait.unreadable', message: 'cannot be read' },
      { type: 'wait.denied', message: 'publish was denied' },
      { type: 'wait.silent', attempts: 3, message: 'nobody answered' },
      { type: 'wait.failed', message: 'askRail failed: a surprise' },
    ],
    recordOutcome: [{ type: 'outcome.recorded' }],
  },
  goals: ['Waiting'],
  clamp: ({ offered, names, outcome, passes }) => ({ offered, due: names.length > 0, outcome, passes: passes > 0 }),
  happy: ['Looking', 'Owning', 'Signing', 'Reloading', 'Recording', 'Resting', 'Looking', 'Waiting'],
  promises,
});
