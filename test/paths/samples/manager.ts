import type { ContextFrom } from 'xstate';
import { managerMachine } from '../../../src/machines/manager.machine.ts';
import { type PathPromise, samplesOf } from '../../support/paths/samples.ts';
import { wait } from './family.ts';

type Context = ContextFrom<typeof managerMachine>;

/** What may follow what: the effect or child of a step, and the fact that leads there. */
const ORDER: Readonly<Record<string, (fact: { type: string; end?: unknown }) => boolean>> = {
  storeProof: ({ type }) => type === 'lease.held',
  gateRepair: ({ type, end }) => type === 'proof.ended' && (end === 'matched' || end === 'mismatched'),
  registration: ({ type, end }) =>
    type === 'repair.ended' && ['repaired', 'completed', 'no-gate', 'not-frozen'].includes(String(end)),
  openServices: ({ type, end }) => type === 'registration.ended' && end === 'registered',
};
const END_OF: Readonly<Record<string, string>> = {
  'proof.ended': 'rail',
  'repair.ended': 'repair-refused',
  'registration.ended': 'registration',
  'services.refused': 'services',
};

const told = (step: { effects: readonly { kind: string }[] }, type: string): boolean =>
  JSON.stringify(step.effects).includes(`"${type}"`);

const RAILED = 'Running.Up.Railed';

const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'MG1',
    says: 'each step of the start follows the good end of the one before',
    when: (step) => Object.keys(ORDER).some((id) => step.started(id) !== undefined),
    holds: (step) =>
      Object.entries(ORDER).every(([id, leads]) => step.started(id) === undefined || leads(step.fact)) ||
      step.fact.type,
  },
  {
    clause: 'MG1',
    says: 'the lease is told ready when the rail is bound, and again when it came back meanwhile; never before',
    when: (step) =>
      told(step, 'service.ready') ||
      (step.before.begun && step.before.is(`${RAILED}.Binding`) && step.heard('rail.bound')) ||
      (step.before.begun && step.before.is(`${RAILED}.Declaring`) && step.heard('lease.held')),
    holds: (step) => {
      const bound = step.before.is(`${RAILED}.Binding`) && step.heard('rail.bound');
      const isBack = step.before.is(`${RAILED}.Declaring`) && step.heard('lease.held');
      return told(step, 'service.ready') === (bound || isBack) || step.fact.type;
    },
  },
  {
    clause: 'MG1',
    says: 'it serves from the moment at which the row says ready',
    when: (step) => step.after.tagged('serving') && !(step.before.begun && step.before.tagged('serving')),
    holds: (step) =>
      (step.before.is(`${RAILED}.Declaring`) && step.heard('lease.ready') && told(step, 'tellServing')) ||
      step.fact.type,
  },
  {
    clause: 'MG1',
    says: 'what is opened knows the epoch that was registered',
    when: (step) => step.started('openServices') !== undefined,
    holds: (step) => step.started('openServices')?.processEpoch === step.fact.processEpoch || 'another',
  },
  {
    clause: 'MG2',
    says: 'a step that fails ends it by the name of the step, with the reason, and nobody was served',
    when: (step) =>
      step.before.begun &&
      step.before.is('Running.Up') &&
      step.after.is('Running.Ending') &&
      END_OF[step.fact.type] !== undefined,
    holds: (step) => {
      const { end, message } = step.after.context;
      const said = String(step.fact.message ?? step.fact.reason);
      return (end === END_OF[step.fact.type] && message.includes(said) && !step.before.tagged('serving')) || message;
    },
  },
  {
    clause: 'MG2',
    says: 'a gate that stays frozen is told with the refusal and the command that repairs it',
    when: (step) => step.heard('repair.ended') && step.after.is('Running.Ending'),
    holds: (step) => {
      const { message } = step.after.context;
      return (message.includes('cotal reconcile-gate') && message.includes(String(step.fact.end))) || message;
    },
  },
  {
    clause: 'MG2',
    says: 'a surprise ends it as a fault, with its message',
    when: (step) => step.heard('effect.failed') && step.before.begun && step.before.is('Running.Up') && !step.ignored,
    holds: (step) =>
      (step.after.is('Running.Ending') &&
        step.after.context.end === 'faulted' &&
        step.after.context.message.includes(String(step.fact.message))) ||
      'it goes on',
  },
  {
    clause: 'MG2',
    says: 'the lease is asked to stop after what was open is closed',
    when: (step) => told(step, 'stop.requested') && !step.heard('stop.requested'),
    holds: (step) => step.before.is('Running.Ending.Closing') || step.fact.type,
  },
  {
    clause: 'MG2',
    says: 'after the close the lease is given back',
    when: (step) =>
      step.before.begun &&
      step.before.is('Running.Ending.Closing') &&
      step.heard('services.closed', 'effect.failed') &&
      step.from !== 'lease',
    holds: (step) => (step.after.is('Running.Ending.Releasing') && told(step, 'stop.requested')) || 'it is not',
  },
  {
    clause: 'MG2',
    says: 'a signal ends it as stopped, and is told',
    when: (step) => step.heard('stop.requested') && step.before.begun && step.before.is('Running.Up'),
    holds: (step) =>
      (step.after.is('Running.Ending') &&
        step.after.context.end === 'stopped' &&
        step.after.context.message === 'received SIGTERM') ||
      'it goes on',
  },
  {
    clause: 'MG2',
    says: 'the end is bounded',
    when: (step) => step.elapsed === 'drain',
    holds: (step) => step.after.is('Ended') || 'it is not',
  },
  {
    clause: 'MG3',
    says: 'the rail is bound when everything is open, when the lease came back, and after the rest of one that was lost',
    when: (step) =>
      step.started('serveRail') !== undefined ||
      step.heard('services.open') ||
      (step.before.begun && step.before.is('Running.Up.Doubted') && step.heard('lease.held')),
    holds: (step) => {
      const isBack = step.before.is('Running.Up.Doubted') && step.heard('lease.held');
      const binds = step.heard('services.open') || isBack || step.elapsed === 'railAgain';
      return (step.started('serveRail') !== undefined) === binds || step.fact.type;
    },
  },
  {
    clause: 'MG3',
    says: 'a doubt ends the rail, and everything that serves',
    when: (step) => step.before.begun && step.before.is(RAILED) && step.heard('lease.doubted'),
    holds: (step) =>
      (step.stopped('serveRail') && !step.after.running('renewal') && step.after.is('Running.Up.Doubted')) ||
      'it serves on',
  },
  {
    clause: 'MG3',
    says: 'a rail that was lost is a doubt of the lease too, and is bound again after a rest',
    when: (step) =>
      (step.before.begun && step.before.is(RAILED) && step.heard('rail.lost')) || told(step, 'doubt.raised'),
    holds: (step) =>
      (step.after.is('Running.Up.RailLost') &&
        step.armed('railAgain') &&
        !step.after.running('renewal') &&
        told(step, 'doubt.raised') &&
        JSON.stringify(step.effects).includes(String(step.fact.why))) ||
      'it is not',
  },
  {
    clause: 'MG4',
    says: 'it renews exactly where the proof matched',
    when: (step) => step.after.tagged('serving') && !(step.before.begun && step.before.tagged('serving')),
    holds: (step) => (step.started('renewal') !== undefined) === step.after.context.mayRenew || 'it does otherwise',
  },
  {
    clause: 'MG4',
    says: 'a proof that matched is what lets it renew, and nothing else',
    when: (step) => step.before.begun && step.before.context.mayRenew !== step.after.context.mayRenew,
    holds: (step) => (step.heard('proof.ended') && step.fact.end === 'matched') || step.fact.type,
  },
  {
    clause: 'MG5',
    says: 'a lease that is another one’s, or denied, is not written again: it ends alone',
    when: (step) =>
      step.heard('lease.refused', 'lease.denied', 'lease.taken') && step.before.begun && step.before.is('Running.Up'),
    holds: (step) => {
      const ends: Record<string, string> = {
        'lease.refused': 'lease-refused',
        'lease.denied': 'lease-denied',
        'lease.taken': 'lease-taken',
      };
      const { end, message } = step.after.context;
      const said = String(step.fact.holder ?? step.fact.subject);
      const fits = end === ends[step.fact.type] && message.includes(said);
      return (step.after.is('Running.Ending.Alone') && fits && !told(step, 'stop.requested')) || `${end}: ${message}`;
    },
  },
  {
    clause: 'MG5',
    says: 'a lease that ends while it closes is not told anything',
    when: (step) =>
      step.before.begun &&
      step.before.is('Running.Ending') &&
      step.heard('lease.refused', 'lease.denied', 'lease.taken') &&
      !step.ignored,
    holds: (step) => !told(step, 'stop.requested') || 'it is',
  },
];

const proof = (end: string, message: string) => ({ type: 'proof.ended', end, message, ours: '/a', theirs: '/b' });
const repair = (end: string, reason = '') => ({ type: 'repair.ended', end, reason, holders: 0, requests: 0 });
const registered = (end: string, reason = '') => ({
  type: 'registration.ended',
  end,
  reason,
  processEpoch: 6,
  holders: 3,
  requests: 1,
});
const rail = 'ctl.delivery-admin';
const place = { endpoint: 'manager', instance: 'i1', rail, batch: 256, wait };

export const samples = samplesOf(managerMachine, {
  inputs: {
    only: {
      lease: { holder: 'm.x', incarnation: 'inc', standby: false },
      proof: { rail, challenge: 'c1', wait },
      repair: place,
      registration: { ...place, opId: 'op1', by: 'm.x', incarnation: 'inc', windowMs: 300_000 },
      renewal: { rail, wait, retryMs: 60_000 },
    },
  },
  events: [
    { type: 'lease.held' },
    { type: 'lease.ready' },
    { type: 'lease.doubted', why: 'a renewal was not answered' },
    { type: 'lease.refused', holder: 'm.other', expiresInMs: 9_000 },
    { type: 'lease.denied', subject: '$KV.lease', operation: 'publish' },
    { type: 'lease.taken', holder: 'm.other', expiresInMs: 9_000 },
    { type: 'lease.released' },
    { type: 'rail.bound' },
    { type: 'rail.lost', why: 'the subscription ended' },
    { type: 'stop.requested', signal: 'SIGTERM' },
  ],
  answers: {
    storeProof: [
      proof('matched', 'the holder re-reads our store'),
      proof('mismatched', 'we write into /a, the daemon re-reads /b'),
      proof('silent', 'nobody answered'),
      proof('refused', 'it is refused'),
    ],
    gateRepair: [
      repair('repaired'),
      repair('completed'),
      repair('no-gate', 'nothing was ever registered'),
      repair('not-frozen', 'the gate is open'),
      repair('holder-alive', 'm.old is connected'),
    ],
    registration: [registered('registered'), registered('unverified', 'm.b is there')],
    openServices: [{ type: 'services.open' }, { type: 'services.refused', reason: 'the ledger row was not written' }],
    closeServices: [{ type: 'services.closed' }],
    leaveBroker: [{ type: 'broker.left' }],
  },
  clamp: ({ end, mayRenew }) => ({ end, mayRenew }),
  bounded: {
    'Running.Up.Claiming': 'the lease, which reports or fails',
    'Running.Up.Railed.Binding': 'the connection, which answers or is lost',
    'Running.Up.Railed.Declaring': 'the lease, which reports or fails',
    'Running.Up.Doubted': 'the lease, which reports or fails',
  },
  happy: [
    'Running.Up.Claiming',
    'Running.Up.Proving',
    'proof.ended → Running.Up.Repairing',
    'Running.Up.Registering',
    'Running.Up.Opening',
    'Running.Up.Railed.Binding',
    'Running.Up.Railed.Declaring',
    'Running.Up.Railed.Serving.Renewing',
    'stop.requested → Running.Ending.Closing',
    'Running.Ending.Releasing',
    'lease.released → Running.Ending.Leaving',
    'Ended',
  ],
  promises,
});
