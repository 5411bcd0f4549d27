import type { ContextFrom } from 'xstate';
import { storeProofMachine } from '../../../src/machines/store-proof.machine.ts';
import { type PathPromise, samplesOf } from '../../support/paths/samples.ts';

type Context = ContextFrom<typeof storeProofMachine>;

const FINALS: Readonly<Record<string, readonly string[]>> = {
  Matched: ['matched'],
  Mismatched: ['mismatched'],
  NoDaemon: ['no-daemon'],
  Refused: ['refused'],
  Undetermined: ['undetermined', 'silent'],
};

const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'SP1',
    says: 'it begins with the challenge, put on the rail as it was given',
    when: ({ before }) => !before.begun,
    holds: (step) => {
      const asked = step.started('railWait');
      const args = asked?.args as { challenge: string } | undefined;
      return (
        (asked?.op === 'reloadStoreIdentity' && args?.challenge === 'c1' && asked.waitMs === 60_000) ||
        'it asks otherwise'
      );
    },
  },
  {
    clause: 'SP1',
    says: 'what was answered is verified against this very challenge',
    when: (step) => step.heard('wait.answered'),
    holds: (step) => {
      const given = step.started('verifyProof');
      return (given?.challenge === 'c1' && given.answer === step.fact.data) || 'it is not verified';
    },
  },
  {
    clause: 'SP1',
    says: 'matched is said by the verification alone',
    when: ({ after }) => after.status === 'done' && after.is('Matched'),
    holds: (step) => (step.heard('proof.matched') && step.from === 'verifyProof') || `said by ${step.fact.type}`,
  },
  {
    clause: 'SP2',
    says: 'a mismatch names both stores',
    when: (step) => step.heard('proof.mismatched'),
    holds: ({ after, fact }) => {
      const { message, ours, theirs } = after.context.outcome;
      const named = message.includes(fact.ours as string) && message.includes(fact.theirs as string);
      return (named && ours === fact.ours && theirs === fact.theirs && after.is('Mismatched')) || message;
    },
  },
  {
    clause: 'SP3',
    says: 'every end has the verdict of its name, and a reason in words',
    when: ({ after }) => after.status === 'done',
    holds: ({ after, fact }) => {
      const { end, message } = after.context.outcome;
      const [state = ''] = Object.keys(FINALS).filter((name) => after.is(name));
      const said = (fact.message ?? fact.reason ?? fact.holder ?? fact.incarnation ?? fact.ours ?? '') as string;
      return ((FINALS[state]?.includes(end) ?? false) && message.includes(said)) || `${state}: ${end}, ${message}`;
    },
  },
  {
    clause: 'SP3',
    says: 'a refusal ends it as refused; what cannot be read, was denied or failed, as undetermined',
    when: (step) =>
      step.heard(
        'wait.refused',
        'wait.unreadable',
        'wait.denied',
        'wait.failed',
        'proof.undetermined',
        'effect.failed',
      ) && !step.ignored,
    holds: (step) =>
      step.after.is(step.heard('wait.refused') ? 'Refused' : 'Undetermined') || 'it counts as something else',
  },
  {
    clause: 'SP4',
    says: 'silence alone says nothing: the lease row is looked at',
    when: (step) => step.heard('wait.silent'),
    holds: (step) => step.started('lookForHolder') !== undefined || 'it is not looked for',
  },
  {
    clause: 'SP4',
    says: 'no daemon is said only where nobody holds the lease, and the silence is told with it',
    when: (step) => step.heard('holder.absent', 'holder.there', 'holder.unknown'),
    holds: (step) => {
      const { end, message } = step.after.context.outcome;
      const wanted = { 'holder.absent': 'no-daemon', 'holder.there': 'silent' }[step.fact.type] ?? 'undetermined';
      const isThere = step.after.is(wanted === 'no-daemon' ? 'NoDaemon' : 'Undetermined');
      return (isThere && end === wanted && message.includes('nobody answered')) || `${end}: ${message}`;
    },
  },
];

export const samples = samplesOf(storeProofMachine, {
  inputs: {
    start: {
      rail: 'ctl.delivery-admin',
      challenge: 'c1',
      wait: { waitMs: 60_000, firstGapMs: 1_000, gapLimitMs: 5_000, gapFloorMs: 50, attemptMs: 15_000 },
    },
  },
  events: [],
  answers: {
    railWait: [
      { type: 'wait.answered', data: 'the answer' },
      { type: 'wait.refused', code: 'rail.not-wired', message: 'not wired' },
      { type: 'wait.unreadable', message: 'cannot be read' },
      { type: 'wait.denied', message: 'publish was denied' },
      { type: 'wait.silent', attempts: 3, message: 'nobody answered' },
      { type: 'wait.failed', message: 'askRail failed: a surprise' },
    ],
    verifyProof: [
      { type: 'proof.matched', incarnation: 'i1' },
      { type: 'proof.mismatched', ours: '/a', theirs: '/b' },
      { type: 'proof.undetermined', reason: 'answered by i2, but the lease is held by i1' },
    ],
    lookForHolder: [
      { type: 'holder.absent' },
      { type: 'holder.there', holder: 'held by local.delivery, not ready' },
      { type: 'holder.unknown', reason: 'the lease row cannot be read' },
    ],
  },
  clamp: () => ({}),
  happy: ['Challenging', 'Verifying', 'Matched'],
  promises,
});
