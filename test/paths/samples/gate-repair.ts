import type { ContextFrom } from 'xstate';
import { gateRepairMachine } from '../../../src/machines/gate-repair.machine.ts';
import { named, type PathPromise, samplesOf } from '../../support/paths/samples.ts';
import { started, wait } from './family.ts';

type Context = ContextFrom<typeof gateRepairMachine>;

const live = (liveness: string, note?: string) => ({ type: 'wait.answered', data: { liveness, note } });
const livenessOf = (data: unknown): unknown => (data as { liveness?: unknown } | null)?.liveness;

const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'G1',
    says: 'the family is touched only when the holder was proved gone, and for the freeze that was seen',
    when: (step) => step.started('family') !== undefined,
    holds: (step) => {
      const { freezeToken, opId, instance } = step.started('family') as Record<string, string>;
      const proved = step.heard('wait.answered') && livenessOf(step.fact.data) === 'gone';
      return (proved && freezeToken === '7' && opId === 'op1' && instance === 'i1') || `on ${step.fact.type}`;
    },
  },
  {
    clause: 'G1',
    says: 'the holder that the gate names is the one that is asked about',
    when: (step) => step.started('railWait') !== undefined,
    holds: (step) => {
      const { op, args } = step.started('railWait') as { op: string; args: { principal: string } };
      return (op === 'principalLiveness' && args.principal === 'm.dead') || JSON.stringify(args);
    },
  },
  {
    clause: 'G1',
    says: 'what is not a registration freeze with a holder is refused by name',
    when: (step) =>
      step.heard('gate.absent', 'gate.otherwise', 'gate.unreadable') ||
      (step.heard('freeze.seen') && step.fact.holder === '') ||
      (step.heard('gate.open') && step.fact.settled !== 'op1'),
    holds: (step) => {
      const ends: Record<string, string> = {
        'gate.absent': 'no-gate',
        'gate.otherwise': 'wrong-op-kind',
        'gate.unreadable': 'store',
        'freeze.seen': step.before.context.revision === 0 || step.fact.revision === 7 ? 'holder-unknown' : 'raced',
        'gate.open': 'not-frozen',
      };
      const { end, reason } = step.after.context;
      return (step.after.is('Refused') && end === ends[step.fact.type] && reason !== '') || `${end}: ${reason}`;
    },
  },
  {
    clause: 'G1',
    says: 'a holder that is live, or of whom nothing can be told, is refused by name',
    when: (step) => step.heard('wait.answered') && livenessOf(step.fact.data) !== 'gone',
    holds: (step) => {
      const { end, reason } = step.after.context;
      const wanted = livenessOf(step.fact.data) === 'live' ? 'holder-alive' : 'holder-unknown';
      const note = (step.fact.data as { note?: string } | null)?.note ?? '';
      const told = reason.includes('m.dead') && reason.includes(note);
      return (step.after.is('Refused') && end === wanted && told) || `${end}: ${reason}`;
    },
  },
  {
    clause: 'G1',
    says: 'liveness that cannot be established is refused with what the rail and the lease say',
    when: (step) =>
      step.heard(
        'wait.refused',
        'wait.unreadable',
        'wait.denied',
        'wait.failed',
        'holder.absent',
        'holder.there',
        'holder.unknown',
      ),
    holds: (step) => {
      const { end, reason } = step.after.context;
      const said = String(step.fact.message ?? step.fact.holder ?? step.fact.reason ?? 'nobody holds');
      const first = step.heard('holder.absent', 'holder.there', 'holder.unknown') ? 'nobody answered' : '';
      return (
        (step.after.is('Refused') &&
          end === 'liveness-unestablishable' &&
          reason.includes(said) &&
          reason.includes(first)) ||
        `${end}: ${reason}`
      );
    },
  },
  {
    clause: 'G1',
    says: 'after silence the lease is asked why',
    when: (step) => step.heard('wait.silent'),
    holds: (step) => (step.after.is('Working.Looking') && step.started('lookForHolder') !== undefined) || 'it is not',
  },
  {
    clause: 'G2',
    says: 'a gate that moved refuses as raced',
    when: (step) =>
      step.heard('gate.raced') ||
      (step.heard('family.ended') && step.fact.end === 'raced') ||
      (step.heard('freeze.seen') &&
        step.before.context.revision !== 0 &&
        step.before.context.revision !== step.fact.revision),
    holds: (step) =>
      (step.after.is('Refused') && step.after.context.end === 'raced' && step.after.context.reason !== '') ||
      'it goes on',
  },
  {
    clause: 'G2',
    says: 'the gate is opened at the freeze that was seen',
    when: (step) => step.started('openGate') !== undefined || step.started('lookAtRegistration') !== undefined,
    holds: (step) => {
      const given = (step.started('openGate') ?? step.started('lookAtRegistration')) as Record<string, unknown>;
      return (given.revision === 7 && given.opId === 'op1' && given.instance === 'i1') || 'at another';
    },
  },
  {
    clause: 'G3',
    says: 'whether the commit landed is what the gate is opened with, and how the repair ends',
    when: (step) => step.heard('registration.seen'),
    holds: (step) => step.started('openGate')?.landed === step.fact.landed || 'it is not',
  },
  {
    clause: 'G3',
    says: 'an opening whose answer was lost is not done again',
    when: (step) =>
      step.heard('gate.open') && step.fact.settled === step.before.context.opId && step.fact.settled !== '',
    holds: (step) => step.started('forgetCursor') !== undefined || 'it is refused',
  },
  {
    clause: 'G3',
    says: 'completed is said of a commit that landed, repaired of the other',
    when: ({ after }) => after.status === 'done' && after.is('Repaired'),
    holds: (step) =>
      (step.heard('cursor.forgotten') &&
        step.after.context.end === (step.after.context.landed ? 'completed' : 'repaired')) ||
      step.after.context.end,
  },
  {
    clause: 'G4',
    says: 'the registration is looked at, and the gate opened, only after the family was cleared',
    when: (step) => step.started('lookAtRegistration') !== undefined,
    holds: (step) =>
      (step.heard('family.ended') && step.fact.end === 'cleared' && step.after.context.holders === step.fact.holders) ||
      step.fact.type,
  },
  {
    clause: 'G4',
    says: 'an eviction that is not verified, a refusal and a surprise leave the gate, with the reason',
    when: (step) =>
      (step.heard('family.ended') && step.fact.end === 'unverified') ||
      (step.heard('store.refused', 'effect.failed') && !step.ignored),
    holds: (step) => {
      const { end, reason } = step.after.context;
      const wanted = step.heard('family.ended') ? 'eviction-unverified' : 'store';
      const said = String(step.fact.reason ?? step.fact.message);
      return (step.after.is('Refused') && end === wanted && reason.includes(said) && !started(step.effects)) || reason;
    },
  },
  {
    clause: 'G4',
    says: 'after silence of the store it looks where the gate stands',
    when: (step) => step.heard('store.unanswered') || step.elapsed === 'askAgain',
    holds: (step) =>
      step.elapsed === 'askAgain'
        ? step.started('lookAtGate') !== undefined || 'it does not look'
        : (step.after.is('Working.Resting') && step.armed('askAgain')) || 'it does not rest',
  },
];

const trouble = [{ type: 'store.unanswered' }, { type: 'store.refused', reason: 'publish was denied' }] as const;
const family = (end: string, reason = '') => ({ type: 'family.ended', end, reason, holders: 3, requests: 1 });

export const samples = samplesOf(gateRepairMachine, {
  inputs: { manager: { endpoint: 'manager', instance: 'i1', rail: 'ctl.delivery-admin', batch: 256, wait } },
  events: [],
  answers: {
    lookAtGate: [
      { type: 'freeze.seen', revision: 7, opId: 'op1', holder: 'm.dead' },
      { type: 'freeze.seen', revision: 9, opId: 'op2', holder: '' },
      { type: 'gate.absent' },
      { type: 'gate.open', settled: 'op1' },
      { type: 'gate.open', settled: '' },
      { type: 'gate.otherwise', kind: 'retired' },
      { type: 'gate.unreadable' },
      ...trouble,
    ],
    railWait: [
      named('gone', live('gone')),
      named('live', live('live')),
      named('unknown', live('unknown', 'a server owes a page')),
      named('nothing', { type: 'wait.answered', data: null }),
      { type: 'wait.refused', code: 'rail.not-wired', message: 'not wired' },
      { type: 'wait.unreadable', message: 'cannot be read' },
      { type: 'wait.denied', message: 'publish was denied' },
      { type: 'wait.silent', attempts: 3, message: 'nobody answered' },
      { type: 'wait.failed', message: 'askRail failed: a surprise' },
    ],
    lookForHolder: [
      { type: 'holder.absent' },
      { type: 'holder.there', holder: 'held by local.delivery, not ready' },
      { type: 'holder.unknown', reason: 'the lease row cannot be read' },
    ],
    family: [family('cleared'), family('unverified', 'm.b is there'), family('raced', 'another wrote the cursor')],
    lookAtRegistration: [
      { type: 'registration.seen', landed: true },
      { type: 'registration.seen', landed: false },
      ...trouble,
    ],
    openGate: [{ type: 'gate.written', revision: 9 }, { type: 'gate.raced' }, ...trouble],
    forgetCursor: [{ type: 'cursor.forgotten' }, ...trouble],
  },
  clamp: ({ revision, opId, landed }) => ({ revision, opId, landed }),
  happy: [
    'Working.Observing',
    'freeze.seen → Working.Probing',
    'Working.Clearing',
    'Working.Judging',
    'Working.Reopening',
    'Working.Forgetting',
    'Repaired',
  ],
  promises,
});
