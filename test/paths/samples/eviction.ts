import type { ContextFrom } from 'xstate';
import { evictionMachine } from '../../../src/machines/eviction.machine.ts';
import { named, type PathPromise, samplesOf } from '../../support/paths/samples.ts';

type Context = ContextFrom<typeof evictionMachine>;

const gone = (principal: string) => ({ principal, kicked: 0, remaining: 0, verifiedGone: true, scanComplete: true });
const there = (principal: string) => ({ ...gone(principal), remaining: 1, verifiedGone: false });
const HOLDERS = ['m.a', 'm.b', 'm.c'];
const batchOf = ({ remaining, batch }: Context) => remaining.slice(0, batch);

const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'E1',
    says: 'a request leaves only after the cursor was read, or after everybody of the last one was recorded',
    when: (step) => step.started('railWait') !== undefined,
    holds: (step) =>
      (step.before.is('Opening') && step.heard('cursor.opened')) ||
      (step.before.is('Recording') && step.heard('cursor.recorded') && step.before.context.judged.why === undefined) ||
      `it leaves on ${step.fact.type}`,
  },
  {
    clause: 'E1',
    says: 'a request has at most a batch, the first ones of who is left',
    when: (step) => step.started('railWait') !== undefined,
    holds: (step) => {
      const { op, args } = step.started('railWait') as { op: string; args: { principals: string[] } };
      const { principals } = args;
      const wanted = batchOf(step.after.context);
      return (
        (op === 'evictPrincipals' && principals.length <= 2 && principals.join() === wanted.join()) || principals.join()
      );
    },
  },
  {
    clause: 'E1',
    says: 'who an answer proved is recorded at once, at the revision that the cursor has',
    when: (step) => step.heard('wait.answered') && step.after.is('Recording'),
    holds: (step) => {
      const given = step.started('recordVerified') as { revision: number; verified: string[] } | undefined;
      const proved = step.after.context.judged.verified;
      return (
        (given?.revision === step.before.context.revision && given.verified === proved && proved.length > 0) ||
        'nothing is'
      );
    },
  },
  {
    clause: 'E1',
    says: 'what was recorded is left out from then on, at the new revision',
    when: (step) => step.heard('cursor.recorded'),
    holds: ({ before, after, fact }) => {
      const proved = before.context.judged.verified;
      const left = before.context.remaining.filter((holder) => !proved.includes(holder));
      const { remaining, revision, verified } = after.context;
      const fits = remaining.join() === left.join() && verified === before.context.verified + proved.length;
      return (fits && revision === fact.revision) || 'it counts otherwise';
    },
  },
  {
    clause: 'E2',
    says: 'it begins with the cursor of this freeze and its holders',
    when: (step) => step.started('openCursor') !== undefined,
    holds: (step) => {
      const given = step.started('openCursor') as { opId: string; freezeToken: string; holders: string[] };
      return (
        (given.opId === 'op1' && given.freezeToken === '7' && given.holders.join() === HOLDERS.join()) || 'of another'
      );
    },
  },
  {
    clause: 'E2',
    says: 'who is left, and at which revision, is what the cursor says',
    when: (step) => step.heard('cursor.opened'),
    holds: ({ after, fact }) =>
      (after.context.remaining === fact.remaining &&
        after.context.revision === fact.revision &&
        after.context.verified === fact.verified) ||
      'it begins elsewhere',
  },
  {
    clause: 'E2',
    says: 'a store that did not answer is asked for the cursor again, after a rest',
    when: (step) => step.heard('store.unanswered') || step.elapsed === 'askAgain',
    holds: (step) =>
      step.elapsed === 'askAgain'
        ? step.started('openCursor') !== undefined || 'it is not asked again'
        : (step.after.is('Resting') && step.armed('askAgain')) || 'it does not rest',
  },
  {
    clause: 'E3',
    says: 'verified is said only when nobody is left',
    when: ({ after }) => after.status === 'done' && after.is('Verified'),
    holds: ({ after }) =>
      (after.context.remaining.length === 0 && after.context.end === 'verified' && after.context.reason === '') ||
      'somebody is left',
  },
  {
    clause: 'E3',
    says: 'where nobody is left it is verified without a request',
    when: (step) => step.heard('cursor.opened') && (step.fact.remaining as string[]).length === 0,
    holds: (step) => (step.after.is('Verified') && step.started('railWait') === undefined) || 'it asks',
  },
  {
    clause: 'E3',
    says: 'what ends it otherwise is carried as the reason',
    when: ({ after }) => after.status === 'done' && after.is('Unverified'),
    holds: (step) => {
      const { end, reason, judged } = step.after.context;
      const by = (step.fact.message ?? step.fact.reason ?? step.fact.opId ?? judged.why) as string | undefined;
      const said = step.heard('cursor.unreadable') ? 'cannot be read' : (by ?? 'nothing');
      return (end === 'unverified' && reason.includes(said) && reason !== '') || `${end}: ${reason}`;
    },
  },
  {
    clause: 'E3',
    says: 'a refusal, silence, a denial, an unreadable reply and a surprise end it as unverified',
    when: (step) =>
      step.heard(
        'wait.refused',
        'wait.silent',
        'wait.denied',
        'wait.unreadable',
        'wait.failed',
        'store.refused',
        'effect.failed',
      ) && !step.ignored,
    holds: ({ after }) => after.is('Unverified') || 'it goes on',
  },
  {
    clause: 'E3',
    says: 'an answer that proves nobody ends it without a record; one that proves some is recorded first',
    when: (step) => step.heard('wait.answered'),
    holds: (step) => {
      const { judged, requests } = step.after.context;
      if (requests !== step.before.context.requests + 1) return 'the request is not counted';
      return step.after.is(judged.verified.length === 0 ? 'Unverified' : 'Recording') || 'it does otherwise';
    },
  },
  {
    clause: 'E3',
    says: 'when some are left after the record, it ends with who',
    when: (step) => step.heard('cursor.recorded') && step.before.context.judged.why !== undefined,
    holds: ({ before, after }) =>
      (after.is('Unverified') && after.context.reason === before.context.judged.why) || 'it goes on',
  },
  {
    clause: 'E4',
    says: 'a cursor of another freeze, or one that cannot be read, ends it, and nothing is written',
    when: (step) => step.heard('cursor.foreign', 'cursor.unreadable'),
    holds: (step) =>
      (step.after.is('Unverified') && step.effects.every(({ kind }) => kind !== 'start')) || 'it goes on',
  },
  {
    clause: 'E4',
    says: 'somebody else who wrote the cursor ends it as raced, and nothing follows',
    when: (step) => step.heard('cursor.conflicted'),
    holds: (step) =>
      (step.after.is('Raced') && step.after.context.end === 'raced' && step.after.context.reason !== '') ||
      'it goes on',
  },
];

export const samples = samplesOf(evictionMachine, {
  inputs: {
    family: {
      endpoint: 'manager',
      instance: 'i1',
      opId: 'op1',
      freezeToken: '7',
      rail: 'ctl.delivery-admin',
      holders: HOLDERS,
      batch: 2,
      wait: { waitMs: 60_000, firstGapMs: 1_000, gapLimitMs: 5_000, gapFloorMs: 50, attemptMs: 15_000 },
    },
  },
  events: [],
  answers: {
    openCursor: [
      { type: 'cursor.opened', revision: 5, remaining: HOLDERS, verified: 0 },
      { type: 'cursor.opened', revision: 6, remaining: ['m.c'], verified: 2 },
      { type: 'cursor.opened', revision: 6, remaining: [], verified: 3 },
      { type: 'cursor.foreign', opId: 'op0' },
      { type: 'cursor.unreadable' },
      { type: 'store.unanswered' },
      { type: 'store.refused', reason: 'publish was denied' },
    ],
    railWait: [
      named('everybody of a and b gone', { type: 'wait.answered', data: { results: [gone('m.a'), gone('m.b')] } }),
      named('b still there', { type: 'wait.answered', data: { results: [gone('m.a'), there('m.b')] } }),
      named('both still there', { type: 'wait.answered', data: { results: [there('m.a'), there('m.b')] } }),
      named('c gone', { type: 'wait.answered', data: { results: [gone('m.c')] } }),
      named('another order', { type: 'wait.answered', data: { results: [gone('m.b'), gone('m.a')] } }),
      named('of another shape', { type: 'wait.answered', data: { results: 'all' } }),
      { type: 'wait.refused', code: 'rail.unknown-op', message: 'not served' },
      { type: 'wait.unreadable', message: 'cannot be read' },
      { type: 'wait.denied', message: 'publish was denied' },
      { type: 'wait.silent', attempts: 3, message: 'nobody answered' },
      { type: 'wait.failed', message: 'askRail failed: a surprise' },
    ],
    recordVerified: [
      { type: 'cursor.recorded', revision: 9 },
      { type: 'cursor.conflicted' },
      { type: 'store.unanswered' },
      { type: 'store.refused', reason: 'publish was denied' },
    ],
  },
  clamp: ({ remaining, judged }) => ({
    remaining: remaining.join(' '),
    left: judged.why !== undefined,
    verified: judged.verified.join(' '),
  }),
  happy: ['Opening', 'cursor.opened → Requesting', 'Recording', 'Requesting', 'Recording', 'Verified'],
  promises,
});
