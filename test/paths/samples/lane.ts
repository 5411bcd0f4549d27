import { laneMachine } from '../../../src/machines/lane.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import { promises } from './lane.promises.ts';

const silent = { type: 'broker.silent' } as const;
const retired = { type: 'lifecycle.retired' } as const;
const unknown = { type: 'lifecycle.unknown' } as const;
const stands = { type: 'verdict.stands' } as const;
const place = { waiting: 0, outstanding: 0, settled: 0, refused: 0 };

export const samples = samplesOf(laneMachine, {
  inputs: { lane: { member: 'local.ann.u', window: 1, retries: 1, backOffMs: 10, backOffLimitMs: 100 } },
  events: [
    { type: 'entries.arrived' },
    { type: 'copies.confirmed', count: 1 },
    { type: 'copies.confirmed', count: 0 },
    { type: 'review.asked' },
    { type: 'row.changed' },
  ],
  answers: {
    recoverPlace: [
      { type: 'place.recovered', ...place },
      { type: 'place.recovered', ...place, waiting: 1 },
      { type: 'place.recovered', ...place, waiting: 1, outstanding: 1, settled: 1 },
      { type: 'place.recovered', ...place, outstanding: 1, refused: 1 },
      stands,
      retired,
      unknown,
      silent,
    ],
    authorizeBatch: [
      { type: 'batch.authorized', release: 1, refuse: 0, met: 9 },
      { type: 'batch.authorized', release: 1, refuse: 1, met: 0 },
      { type: 'batch.authorized', release: 0, refuse: 1, met: 9 },
      { type: 'batch.empty', met: 9 },
      stands,
      retired,
      unknown,
      silent,
    ],
    handOff: [
      { type: 'copies.stored', count: 1, confirmed: 0 },
      { type: 'copies.stored', count: 1, confirmed: 1 },
      { type: 'store.refused', code: '10077' },
      silent,
    ],
    markHandedOff: [{ type: 'mark.stored' }, silent],
    removeSettled: [{ type: 'entries.removed', met: 9 }, { type: 'removal.failed' }, silent],
    removeEverything: [{ type: 'entries.removed', met: 0 }, { type: 'removal.failed' }, silent],
    reviewCopies: [
      { type: 'copies.withdrawn', copies: 1, settled: 0, met: 9 },
      { type: 'copies.withdrawn', copies: 0, settled: 1, met: 9 },
      retired,
      silent,
    ],
    markGivenUp: [{ type: 'mark.stored' }, silent],
  },
  clamp: ({ waiting, outstanding, settled, refused, reviews, unknowns, failures }) => ({
    waiting: Math.min(waiting, 1),
    outstanding,
    settled: Math.min(settled, 1),
    refused,
    reviews: Math.min(reviews, 1),
    unknowns: Math.min(unknowns, 2),
    failures: Math.min(failures, 1),
  }),
  goals: ['Idle', 'AwaitingConfirm', 'GivenUp', 'Gone'],
  bounded: {
    Idle: 'its reader, which lets it go or sends it news',
    AwaitingConfirm: 'its member, or its reader, which lets it go',
    GivenUp: 'its reader, which lets it go or sends it news',
    Gone: 'its reader, which lets it go or sends it news',
  },
  happy: ['Recovering', 'Authorizing', 'HandingOff', 'MarkingHandedOff', 'AwaitingConfirm', 'Removing', 'Idle'],
  equivalent: {
    'Idle on entries.arrived: → Authorizing instead of Deciding':
      'in Idle nothing is outstanding, settled or asked for, so an arrival can lead nowhere else',
  },
  limit: 2_000_000,
  promises,
});
