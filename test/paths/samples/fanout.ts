import type { ContextFrom } from 'xstate';
import { fanoutMachine } from '../../../src/machines/fanout.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type FanoutStep = Step<ContextFrom<typeof fanoutMachine>>;

/** The facts that a service told about, by the name of the action. */
const told = ({ effects }: FanoutStep, action: string): Record<string, unknown> | undefined => {
  for (const effect of effects) if (effect.kind === 'act' && effect.action === action) return effect.params as never;
  return undefined;
};
const isTrouble = (step: FanoutStep) =>
  step.from !== undefined &&
  step.from !== 'hearPosts' &&
  step.from !== 'auditPosts' &&
  step.before.is('Pulling') &&
  (step.heard('effect.failed', 'broker.silent') ||
    (step.before.is('Pulling.CopyingEach') && step.heard('store.refused')));

export const samples = samplesOf(fanoutMachine, {
  inputs: { only: undefined },
  events: [
    { type: 'posts.waiting', count: 1 },
    { type: 'posts.waiting', count: 2 },
    { type: 'posts.skipped', from: 3, to: 9 },
    { type: 'posts.lost', why: 'the consumer is gone' },
  ],
  answers: {
    openPosts: [
      { type: 'posts.opened', position: 7 },
      { type: 'posts.refused', code: 'consumer-differs' },
      { type: 'broker.silent' },
    ],
    auditPosts: [{ type: 'posts.audited' }, { type: 'broker.silent' }],
    routeRound: [
      { type: 'round.routed', posts: 2, copies: 3, poison: 0, oversize: 0 },
      { type: 'round.routed', posts: 1, copies: 0, poison: 1, oversize: 0 },
      { type: 'round.empty', met: 1 },
      { type: 'round.empty', met: 2 },
      { type: 'broker.silent' },
    ],
    storeRound: [
      { type: 'copies.stored' },
      { type: 'copies.duplicated' },
      { type: 'store.refused', code: 'maximum-bytes' },
      { type: 'broker.silent' },
    ],
    storeEach: [{ type: 'copies.stored' }, { type: 'store.refused', code: 'maximum-bytes' }, { type: 'broker.silent' }],
    settleRound: [
      { type: 'posts.settled', posts: 2, members: ['a', 'b'] },
      { type: 'posts.settled', posts: 1, members: [] },
    ],
  },
  clamp: ({ waiting, failures }) => ({ waiting: Math.min(waiting, 3), failed: failures > 0 }),
  happy: ['Opening', 'Pulling.Idle', 'Pulling.Routing', 'Pulling.Copying', 'Pulling.Settling'],
  promises: [
    {
      clause: 'F1',
      says: 'a round is settled only after every copy of it was stored, or when it has none',
      when: (step) => step.started('settleRound') !== undefined,
      holds: (step) =>
        ((step.from === 'storeRound' || step.from === 'storeEach') && step.heard('copies.stored')) ||
        (step.heard('round.routed') && step.fact.copies === 0) ||
        `it is settled on ${step.fact.type}`,
    },
    {
      clause: 'F1',
      says: 'a round that has copies is stored as one batch, and one that is stored is settled',
      when: (step) => step.heard('round.routed', 'copies.stored'),
      holds: (step) => {
        const next = step.heard('round.routed') && step.fact.copies > 0 ? 'storeRound' : 'settleRound';
        return step.started(next) !== undefined || 'the round is forgotten';
      },
    },
    {
      clause: 'F5',
      says: 'a batch that was rejected, for a duplicate or a member, is stored copy by copy',
      when: (step) => step.before.is('Pulling.Copying') && step.heard('copies.duplicated', 'store.refused'),
      holds: (step) => step.started('storeEach') !== undefined || 'it is not stored',
    },
    {
      clause: 'F5',
      says: 'a round that cannot be finished is told with its reason and routed again after a pause that grows',
      when: isTrouble,
      holds: (step) => {
        const why: unknown = told(step, 'tellHolding')?.why;
        const counted = step.after.context.failures === step.before.context.failures + 1;
        const held = step.after.is('Pulling.Holding') && step.armed('backOff') && counted;
        if (!held || typeof why !== 'string' || why === '') return 'it is not held and told';
        return step.fact.type !== 'store.refused' || why === step.fact.code || 'it is told with another reason';
      },
    },
    {
      clause: 'F1',
      says: 'what was held, and what was settled, is followed by the next round, with all that waits',
      when: (step) => step.heard('posts.settled') || (step.before.is('Pulling.Holding') && step.elapsed === 'backOff'),
      holds: (step) => step.started('routeRound')?.waiting === step.before.context.waiting || 'nothing is routed',
    },
    {
      clause: 'F1',
      says: 'members are told of new entries after these are settled, and only when there are any',
      when: (step) => step.heard('posts.settled') || step.reported('members.owed') !== undefined,
      holds: (step) => {
        const members: string[] = step.fact.type === 'posts.settled' ? step.fact.members : [];
        const report = step.reported('members.owed');
        return (members.length > 0 ? report?.members === members : report === undefined) || 'they are told wrongly';
      },
    },
    {
      clause: 'F1',
      says: 'a settled round counts what it did, and the pauses start over',
      when: (step) => step.heard('posts.settled'),
      holds: ({ before, after, fact }) =>
        (after.context.failures === 0 &&
          after.context.posts === before.context.posts + fact.posts &&
          after.context.copies === before.context.copies + fact.members.length) ||
        'the count is another one',
    },
    {
      clause: 'F1',
      says: 'posts that wait are routed at once when nothing else is being done',
      when: ({ after }) => after.is('Pulling.Idle'),
      holds: ({ after }) => after.context.waiting === 0 || 'they wait for nothing',
    },
    {
      clause: 'F1',
      says: 'posts told to be waiting are counted whatever is being done',
      when: (step) => step.before.is('Pulling') && step.heard('posts.waiting'),
      holds: ({ before, after, fact }) =>
        after.context.waiting === before.context.waiting + fact.count || 'they are forgotten',
    },
    {
      clause: 'F1',
      says: 'an empty round takes off exactly what it has met: what came meanwhile is still there',
      when: (step) => step.heard('round.empty'),
      holds: ({ before, after, fact }) => {
        const left = Math.max(0, before.context.waiting - fact.met);
        return (
          (after.context.waiting === left && after.is(left > 0 ? 'Pulling.Routing' : 'Pulling.Idle')) || 'it does not'
        );
      },
    },
    {
      clause: 'F1',
      says: 'when there is nothing to do, deliveries that went astray are looked for, and whatever comes of it ends the look',
      when: (step) => step.elapsed === 'auditEvery' || step.from === 'auditPosts',
      holds: (step) => {
        if (step.elapsed === 'auditEvery') return step.started('auditPosts') !== undefined || 'nobody looks';
        const next = step.before.context.waiting > 0 ? 'Pulling.Routing' : 'Pulling.Idle';
        return step.after.is(next) || 'it goes on for ever';
      },
    },
    {
      clause: 'F7',
      says: 'posts that retention took are told as a range',
      when: (step) => step.before.is('Pulling') && step.heard('posts.skipped'),
      holds: (step) => told(step, 'tellSkipped') === step.fact || 'they are passed over',
    },
    {
      clause: 'F1',
      says: 'posts are listened for as long as rounds are made',
      when: ({ before, after }) => after.is('Pulling') || before.is('Pulling'),
      holds: ({ after }) =>
        after.running('hearPosts') === after.is('Pulling') || 'nobody listens, or somebody still does',
    },
    {
      clause: 'F1',
      says: 'a pull that is lost, or fails, is told with its reason and opened anew after a pause',
      when: (step) =>
        step.before.is('Pulling') &&
        (step.heard('posts.lost') || (step.from === 'hearPosts' && step.heard('effect.failed'))),
      holds: (step) => {
        const why: unknown = told(step, 'tellReopening')?.why;
        const counted = step.after.context.failures === step.before.context.failures + 1;
        return (why === (step.fact.why ?? step.fact.message) && step.after.is('Reopening') && counted) || 'it is not';
      },
    },
    {
      clause: 'F1',
      says: 'posts that could not be opened are opened again after a pause that grows',
      when: (step) => step.before.is('Opening') && step.heard('posts.refused', 'broker.silent', 'effect.failed'),
      holds: ({ before, after, armed }) =>
        (after.is('Reopening') && armed('backOff') && after.context.failures === before.context.failures + 1) ||
        'they are not',
    },
    {
      clause: 'F1',
      says: 'the beginning, and the end of that pause, opens the posts; an opening is reported with its position',
      when: (step) =>
        !step.before.begun || step.heard('posts.opened') || (step.before.is('Reopening') && step.elapsed === 'backOff'),
      holds: (step) =>
        (step.heard('posts.opened')
          ? step.after.is(step.before.context.waiting > 0 ? 'Pulling.Routing' : 'Pulling.Idle') &&
            step.reported('fanout.opened')?.position === step.fact.position
          : step.started('openPosts') !== undefined) || 'they are not opened',
    },
  ],
});
