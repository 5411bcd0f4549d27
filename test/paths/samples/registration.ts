import type { ContextFrom } from 'xstate';
import { registrationMachine } from '../../../src/machines/registration.machine.ts';
import { type PathPromise, samplesOf } from '../../support/paths/samples.ts';
import { started, wait } from './family.ts';

type Context = ContextFrom<typeof registrationMachine>;
type Given = { revision: number; generation: number; processEpoch: number; opId: string };

const WRITES = ['freezeGate', 'commitRegistration', 'reopenGate'] as const;

const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'RG1',
    says: 'the commit is asked for only when the family was cleared',
    when: (step) => step.started('commitRegistration') !== undefined,
    holds: (step) => (step.heard('family.ended') && step.fact.end === 'cleared') || `on ${step.fact.type}`,
  },
  {
    clause: 'RG1',
    says: 'the gate is reopened only after the commit, with the epoch that was committed',
    when: (step) => step.started('reopenGate') !== undefined,
    holds: (step) =>
      (step.heard('registration.committed') &&
        (step.started('reopenGate') as Given).processEpoch === step.fact.processEpoch) ||
      `on ${step.fact.type}`,
  },
  {
    clause: 'RG1',
    says: 'registered is said when the gate is open and the cursor forgotten',
    when: ({ after }) => after.status === 'done' && after.context.end === 'registered',
    holds: (step) =>
      (step.heard('cursor.forgotten') && step.after.is('Working') === false && step.after.is('Registered')) ||
      step.fact.type,
  },
  {
    clause: 'RG1',
    says: 'the cursor is forgotten only when the gate was reopened by this operation',
    when: (step) => step.started('forgetCursor') !== undefined,
    holds: (step) =>
      (step.before.is('Working.Reopening') && step.heard('gate.written')) ||
      step.heard('gate.settled') ||
      step.fact.type,
  },
  {
    clause: 'RG2',
    says: 'every write is at the revision that was seen last',
    when: (step) => WRITES.some((id) => step.started(id) !== undefined),
    holds: (step) =>
      WRITES.flatMap((id) => (step.started(id) as Given | undefined) ?? []).every(
        ({ revision, opId }) => revision === step.after.context.revision && revision > 0 && opId === 'op1',
      ) || 'it is at another',
  },
  {
    clause: 'RG2',
    says: 'what the gate said is kept as it is',
    when: (step) => step.heard('gate.open', 'gate.ours'),
    holds: ({ after: { context }, fact }) =>
      (context.revision === fact.revision &&
        context.generation === fact.generation &&
        context.processEpoch === fact.processEpoch) ||
      'it differs',
  },
  {
    clause: 'RG2',
    says: 'the family is cleared for the freeze that was written',
    when: (step) => step.started('family') !== undefined,
    holds: (step) => {
      const { freezeToken, opId } = step.started('family') as { freezeToken: string; opId: string };
      const revision = step.fact.revision as number;
      return (freezeToken === String(revision) && opId === 'op1') || freezeToken;
    },
  },
  {
    clause: 'RG2',
    says: 'a race ends it as raced, and nothing follows',
    when: (step) =>
      step.heard('gate.raced', 'registration.raced') || (step.heard('family.ended') && step.fact.end === 'raced'),
    holds: (step) =>
      (step.after.is('Raced') && step.after.context.end === 'raced' && !started(step.effects)) || 'it goes on',
  },
  {
    clause: 'RG3',
    says: 'a gate that another operation froze is left as it is, and named with its holder and the command',
    when: (step) => step.heard('gate.frozen'),
    holds: (step) => {
      const { end, reason } = step.after.context;
      const named = ['takeover', 'm.other', 'op0', 'cotal reconcile-gate'].every((word) => reason.includes(word));
      return (step.after.is('Frozen') && end === 'frozen' && named && !started(step.effects)) || reason;
    },
  },
  {
    clause: 'RG4',
    says: 'a family that is not verified ends it with the reason',
    when: (step) => step.heard('family.ended') && step.fact.end === 'unverified',
    holds: (step) =>
      (step.after.is('Unverified') &&
        step.after.context.end === 'unverified' &&
        step.after.context.reason === step.fact.reason &&
        step.after.context.requests === step.fact.requests) ||
      'it goes on',
  },
  {
    clause: 'RG4',
    says: 'the window ends it wherever it is',
    when: (step) => step.elapsed === 'window',
    holds: (step) =>
      (step.after.is('CutShort') && step.after.context.end === 'cut-short' && !started(step.effects)) || 'it goes on',
  },
  {
    clause: 'RG4',
    says: 'a refusal, a gate that is of no use and a surprise end it as failed, with the reason',
    when: (step) => step.heard('store.refused', 'gate.unusable', 'effect.failed') && !step.ignored,
    holds: (step) => {
      const { end, reason } = step.after.context;
      const said = String(step.fact.reason ?? step.fact.message);
      return (step.after.is('Failed') && end === 'failed' && reason.includes(said)) || reason;
    },
  },
  {
    clause: 'RG5',
    says: 'after silence it looks where the gate stands',
    when: (step) => step.heard('store.unanswered') || step.elapsed === 'askAgain',
    holds: (step) =>
      step.elapsed === 'askAgain'
        ? step.started('observeGate') !== undefined || 'it does not look'
        : (step.after.is('Working.Resting') && step.armed('askAgain')) || 'it does not rest',
  },
  {
    clause: 'RG5',
    says: 'what landed is not done again',
    when: (step) => step.heard('gate.ours', 'gate.settled'),
    holds: (step) =>
      (step.started('freezeGate') === undefined &&
        (step.heard('gate.ours') || step.after.context.processEpoch === step.fact.processEpoch)) ||
      'it is',
  },
];

const trouble = [{ type: 'store.unanswered' }, { type: 'store.refused', reason: 'publish was denied' }] as const;
const family = (end: string, reason = '') => ({ type: 'family.ended', end, reason, holders: 3, requests: 1 });
const raced = { type: 'gate.raced' } as const;

export const samples = samplesOf(registrationMachine, {
  inputs: {
    manager: {
      endpoint: 'manager',
      instance: 'i1',
      opId: 'op1',
      by: 'm.x',
      incarnation: 'inc',
      rail: 'ctl.delivery-admin',
      batch: 256,
      wait,
      windowMs: 300_000,
    },
  },
  events: [],
  answers: {
    observeGate: [
      { type: 'gate.open', revision: 3, generation: 4, processEpoch: 5 },
      { type: 'gate.ours', revision: 7, generation: 4, processEpoch: 5 },
      { type: 'gate.settled', generation: 5, processEpoch: 6 },
      { type: 'gate.frozen', kind: 'takeover', holder: 'm.other', opId: 'op0' },
      { type: 'gate.unusable', reason: 'the gate cannot be read' },
      ...trouble,
    ],
    freezeGate: [{ type: 'gate.written', revision: 7 }, raced, ...trouble],
    family: [family('cleared'), family('unverified', 'm.b is there'), family('raced', 'another wrote the cursor')],
    commitRegistration: [
      { type: 'registration.committed', processEpoch: 6 },
      { type: 'registration.raced' },
      ...trouble,
    ],
    reopenGate: [{ type: 'gate.written', revision: 9 }, raced, ...trouble],
    forgetCursor: [{ type: 'cursor.forgotten' }, ...trouble],
  },
  clamp: () => ({}),
  happy: [
    'Working.Observing',
    'Working.Freezing',
    'Working.Clearing',
    'Working.Committing',
    'Working.Reopening',
    'Working.Forgetting',
    'Registered',
  ],
  promises,
});
