import type { ContextFrom } from 'xstate';
import { retirementMachine } from '../../../src/machines/retirement.machine.ts';
import { type PathPromise, samplesOf } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';
import { started, wait } from './family.ts';

type Context = ContextFrom<typeof retirementMachine>;
type Given = { uid: string; opId: string; revision: number; principal: string };

const WRITES = ['markRetiring', 'removeBelongings', 'writeTombstone', 'settleRetirement'] as const;
const follows = (effect: string, fact: string, clause: string, says: string): PathPromise<Context> => ({
  clause,
  says,
  when: (step) => step.started(effect) !== undefined,
  holds: (step) => step.heard(fact) || `on ${step.fact.type}`,
});

/** Another lifecycle has the name by now. */
const isSuccessor = (step: Step<Context>): boolean =>
  step.heard('lifecycle.active', 'lifecycle.retiring', 'lifecycle.retired') &&
  step.before.context.uid !== '' &&
  step.before.context.uid !== step.fact.uid;

const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'RT1',
    says: 'something is removed only when the family was cleared',
    when: (step) => step.started('removeBelongings') !== undefined,
    holds: (step) => (step.heard('family.ended') && step.fact.end === 'cleared') || `on ${step.fact.type}`,
  },
  {
    clause: 'RT1',
    says: 'the family is that of this lifecycle and of this freeze',
    when: (step) => step.started('family') !== undefined,
    holds: (step) => {
      const given = step.started('family') as Record<string, string>;
      const { uid } = step.before.context;
      const fits = given.endpoint === 'agent' && given.instance === uid && given.freezeToken === step.fact.freezeToken;
      return (step.heard('lifecycle.marked') && fits && given.opId === step.after.context.opId) || 'of another';
    },
  },
  follows('writeTombstone', 'belongings.removed', 'RT2', 'the tombstone follows the removal'),
  follows('settleRetirement', 'tombstone.written', 'RT3', 'it is settled after the tombstone'),
  {
    clause: 'RT2',
    says: 'every write is of the lifecycle that was seen, at the revision that its head has',
    when: (step) => WRITES.some((id) => step.started(id) !== undefined),
    holds: (step) =>
      WRITES.flatMap((id) => (step.started(id) as Given | undefined) ?? []).every(
        ({ uid, opId, revision }) =>
          (uid === 'u1' || uid === 'u2') &&
          uid === step.after.context.uid &&
          opId === step.after.context.opId &&
          revision === step.after.context.revision &&
          revision > 0,
      ) || 'of another',
  },
  {
    clause: 'RT2',
    says: 'what a fact says of the revision is what goes on',
    when: (step) =>
      step.heard('lifecycle.marked', 'belongings.removed') ||
      (step.heard('lifecycle.active', 'lifecycle.retiring') && !isSuccessor(step)),
    holds: ({ after, fact }) => after.context.revision === fact.revision || 'it is not',
  },
  {
    clause: 'RT2',
    says: 'what was removed is counted, over every attempt',
    when: (step) => step.heard('belongings.removed'),
    holds: ({ before: { context: was }, after: { context: is }, fact }) =>
      (is.durables === was.durables + (fact.durables as number) &&
        is.memberships === was.memberships + (fact.memberships as number) &&
        is.marks === was.marks + (fact.marks as number)) ||
      'it is not',
  },
  {
    clause: 'RT3',
    says: 'retired is said when it is settled, or when it is found settled',
    when: ({ after }) => after.status === 'done' && after.context.end === 'retired',
    holds: (step) =>
      (step.after.is('Retired') &&
        (step.heard('lifecycle.settled') ||
          isSuccessor(step) ||
          (step.heard('lifecycle.retired') && step.before.context.uid !== ''))) ||
      step.fact.type,
  },
  {
    clause: 'RT4',
    says: 'one that is retired already reports that, and zero',
    when: (step) => step.heard('lifecycle.retired') && step.before.context.uid === '',
    holds: (step) => {
      const { end, durables, memberships, marks, uid } = step.after.context;
      const zero = durables + memberships + marks === 0;
      const isIt = uid === step.fact.uid;
      return (step.after.is('Retired') && end === 'already' && zero && isIt && !started(step.effects)) || end;
    },
  },
  {
    clause: 'RT4',
    says: 'one that was never there is told as that',
    when: (step) => step.heard('lifecycle.absent'),
    holds: (step) =>
      (step.after.is('Unknown') && step.after.context.end === 'unknown' && !started(step.effects)) || 'it goes on',
  },
  {
    clause: 'RT5',
    says: 'a retirement that was begun goes on under its own operation; a new one begins its own',
    when: (step) => step.heard('lifecycle.active', 'lifecycle.retiring') && !isSuccessor(step),
    holds: (step) =>
      step.started('markRetiring')?.opId === (step.fact.opId ?? step.before.context.opId) || 'under another',
  },
  {
    clause: 'RT5',
    says: 'what is not verified and what another wrote stop it with the reason',
    when: (step) =>
      (step.heard('family.ended') && step.fact.end !== 'cleared') ||
      step.heard('lifecycle.raced', 'lifecycle.unreadable') ||
      (step.heard('store.refused', 'effect.failed') && !step.ignored),
    holds: (step) => {
      const { end, reason } = step.after.context;
      const ends: Record<string, string> = { 'lifecycle.raced': 'raced', 'family.ended': String(step.fact.end) };
      const said = String(step.fact.reason ?? step.fact.message ?? '');
      const fits = end === (ends[step.fact.type] ?? 'failed') && reason !== '' && reason.includes(said);
      return (step.after.is('Stopped') && fits && !started(step.effects)) || `${end}: ${reason}`;
    },
  },
  {
    clause: 'RT5',
    says: 'after silence it looks where the lifecycle stands',
    when: (step) => step.heard('store.unanswered') || step.elapsed === 'askAgain',
    holds: (step) =>
      step.elapsed === 'askAgain'
        ? step.started('lookAtLifecycle') !== undefined || 'it does not look'
        : (step.after.is('Working.Resting') && step.armed('askAgain')) || 'it does not rest',
  },
  {
    clause: 'RT6',
    says: 'one that was begun is about the same lifecycle to its end',
    when: (step) => step.before.begun && step.before.context.uid !== '',
    holds: (step) => step.after.context.uid === step.before.context.uid || `it is about ${step.after.context.uid}`,
  },
  {
    clause: 'RT6',
    says: 'a successor under the name says that it is retired, and nothing is asked for any more',
    when: isSuccessor,
    holds: (step) => {
      const { end, reason } = step.after.context;
      return (step.after.is('Retired') && end === 'retired' && reason === '' && !started(step.effects)) || end;
    },
  },
];

const trouble = [{ type: 'store.unanswered' }, { type: 'store.refused', reason: 'publish was denied' }] as const;
const family = (end: string, reason = '') => ({ type: 'family.ended', end, reason, holders: 1, requests: 1 });
const raced = { type: 'lifecycle.raced' } as const;

export const samples = samplesOf(retirementMachine, {
  inputs: {
    alice: { principal: 'local.alice', opId: 'op1', by: 'm.x', rail: 'ctl.delivery-admin', batch: 256, wait },
  },
  events: [],
  answers: {
    lookAtLifecycle: [
      { type: 'lifecycle.active', uid: 'u1', revision: 3 },
      { type: 'lifecycle.retiring', uid: 'u1', revision: 4, opId: 'op0' },
      { type: 'lifecycle.retired', uid: 'u1' },
      { type: 'lifecycle.active', uid: 'u2', revision: 8 },
      { type: 'lifecycle.retiring', uid: 'u2', revision: 9, opId: 'op2' },
      { type: 'lifecycle.retired', uid: 'u2' },
      { type: 'lifecycle.absent' },
      { type: 'lifecycle.unreadable' },
      ...trouble,
    ],
    markRetiring: [{ type: 'lifecycle.marked', freezeToken: '7', revision: 5 }, raced, ...trouble],
    family: [family('cleared'), family('unverified', 'local.alice is there'), family('raced', 'another wrote')],
    removeBelongings: [{ type: 'belongings.removed', revision: 6, durables: 1, memberships: 2, marks: 1 }, ...trouble],
    writeTombstone: [{ type: 'tombstone.written' }, ...trouble],
    settleRetirement: [{ type: 'lifecycle.settled' }, raced, ...trouble],
  },
  clamp: ({ uid, opId }) => ({ uid, opId }),
  happy: [
    'Working.Observing',
    'lifecycle.active → Working.Marking',
    'Working.Clearing',
    'Working.Removing',
    'Working.Tombstoning',
    'Working.Settling',
    'Retired',
  ],
  promises,
});
