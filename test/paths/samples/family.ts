import type { ContextFrom } from 'xstate';
import { familyMachine } from '../../../src/machines/family.machine.ts';
import { type PathPromise, samplesOf } from '../../support/paths/samples.ts';

type Context = ContextFrom<typeof familyMachine>;

export const wait = { waitMs: 60_000, firstGapMs: 1_000, gapLimitMs: 5_000, gapFloorMs: 50, attemptMs: 15_000 };
const HOLDERS = ['m.a', 'm.b'];
const CREDENTIALS = ['U1'];
const FREEZE = { endpoint: 'manager', instance: 'i1', opId: 'op1', freezeToken: '7' };

const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'FA1',
    says: 'the eviction begins only when everything was revoked, for the holders that were listed',
    when: (step) => step.started('eviction') !== undefined,
    holds: (step) => {
      const given = step.started('eviction') as { holders: string[]; freezeToken: string; opId: string; batch: number };
      const fits = given.holders.join() === HOLDERS.join() && given.freezeToken === '7' && given.opId === 'op1';
      return (step.heard('family.revoked') && fits && given.batch === 256) || `it begins on ${step.fact.type}`;
    },
  },
  {
    clause: 'FA1',
    says: 'what was listed is revoked next',
    when: (step) => step.heard('family.listed'),
    holds: (step) => {
      const given = step.started('revokeFamily') as { credentials: string[] } | undefined;
      return (step.after.is('Revoking') && given?.credentials.join() === CREDENTIALS.join()) || 'it is not';
    },
  },
  {
    clause: 'FA2',
    says: 'cleared is the end of a verified eviction, and of nothing else',
    when: ({ after }) => after.status === 'done',
    holds: ({ after, fact, ...step }) => {
      const verified = step.heard('eviction.ended') && fact.end === 'verified';
      return (after.is('Cleared') === verified && (after.context.end === 'cleared') === verified) || after.context.end;
    },
  },
  {
    clause: 'FA2',
    says: 'the eviction that was raced ends it as raced; one that was not verified carries its reason',
    when: (step) => step.heard('eviction.ended') && step.fact.end !== 'verified',
    holds: ({ after, fact }) => {
      const end = fact.end === 'raced' ? 'raced' : 'unverified';
      const fits = after.is(end === 'raced' ? 'Raced' : 'Unverified') && after.context.end === end;
      return (fits && after.context.reason === fact.reason && after.context.requests === fact.requests) || 'it differs';
    },
  },
  {
    clause: 'FA3',
    says: 'an unreadable row, a refusal and a surprise end it with the reason, and start nothing',
    when: (step) => step.heard('row.unreadable', 'store.refused', 'effect.failed') && !step.ignored,
    holds: (step) => {
      const { end, reason } = step.after.context;
      const said = String(step.fact.key ?? step.fact.reason ?? step.fact.message);
      return (
        (step.after.is('Unverified') && end === 'unverified' && reason.includes(said) && !started(step.effects)) ||
        `${end}: ${reason}`
      );
    },
  },
  {
    clause: 'FA3',
    says: 'a silent store is asked for the listing again, after a rest',
    when: (step) => step.heard('store.unanswered') || step.elapsed === 'askAgain',
    holds: (step) =>
      step.elapsed === 'askAgain'
        ? step.started('listFamily') !== undefined || 'it is not asked'
        : (step.after.is('Resting') && step.armed('askAgain')) || 'it does not rest',
  },
];

export const started = (effects: readonly { kind: string }[]): boolean => effects.some(({ kind }) => kind === 'start');
const trouble = [{ type: 'store.unanswered' }, { type: 'store.refused', reason: 'publish was denied' }] as const;
const ended = (end: string, reason = '') => ({ type: 'eviction.ended', end, reason, verified: 2, requests: 1 });

export const samples = samplesOf(familyMachine, {
  inputs: { manager: { ...FREEZE, rail: 'ctl.delivery-admin', batch: 256, wait } },
  events: [],
  answers: {
    listFamily: [
      { type: 'family.listed', holders: HOLDERS, credentials: CREDENTIALS },
      { type: 'row.unreadable', key: 'epcred.manager.i1.U9' },
      ...trouble,
    ],
    revokeFamily: [{ type: 'family.revoked' }, ...trouble],
    eviction: [ended('verified'), ended('unverified', 'm.b is not verified gone'), ended('raced', 'another wrote')],
  },
  clamp: () => ({}),
  happy: ['Listing', 'Revoking', 'Evicting', 'Cleared'],
  promises,
});
