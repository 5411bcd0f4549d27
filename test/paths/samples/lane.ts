import { laneMachine } from '../../../src/machines/lane.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import { promises } from './lane.promises.ts';

/**
 * What an effect has met is all or nothing here, so that a counter is as good as a yes or no: what is left of two after one
 * is more than nothing, like before.
 */
const all = 99;
const none = 0;
/** Numbers so small that every threshold is near: two copies in hand, two to remove, one retry. */
const input = {
  member: 'local.alice.uid',
  window: 2,
  removalBatch: 2,
  retries: 1,
  backOffMs: 250,
  backOffLimitMs: 30_000,
};
const place = { waiting: 0, outstanding: 0, settled: 0, refused: 0 };
const silent = { type: 'broker.silent' } as const;

export const samples = samplesOf(laneMachine, {
  inputs: { small: input },
  events: [
    { type: 'entries.arrived' },
    { type: 'copies.confirmed', count: 1 },
    { type: 'review.asked' },
    { type: 'row.changed' },
  ],
  answers: {
    recoverPlace: [
      { type: 'place.recovered', ...place },
      { type: 'place.recovered', ...place, waiting: 1, outstanding: 1 },
      { type: 'place.recovered', ...place, settled: 1, refused: 1 },
      { type: 'verdict.stands' },
      { type: 'lifecycle.retired' },
      { type: 'lifecycle.unknown' },
      silent,
    ],
    authorizeBatch: [
      { type: 'batch.authorized', release: 1, refuse: 1, met: all },
      { type: 'batch.authorized', release: 1, refuse: 0, met: none },
      { type: 'batch.authorized', release: 0, refuse: 1, met: all },
      { type: 'batch.empty', met: all },
      { type: 'verdict.stands' },
      { type: 'lifecycle.retired' },
      { type: 'lifecycle.unknown' },
      silent,
    ],
    handOff: [
      { type: 'copies.stored', count: 1, confirmed: 0 },
      { type: 'copies.stored', count: 1, confirmed: 1 },
      { type: 'store.refused', code: 'maximum-bytes' },
      silent,
    ],
    markHandedOff: [{ type: 'mark.stored' }, silent],
    removeSettled: [{ type: 'entries.removed', met: all }, { type: 'removal.failed' }, silent],
    removeEverything: [{ type: 'entries.removed', met: all }, { type: 'removal.failed' }, silent],
    reviewCopies: [
      { type: 'copies.withdrawn', copies: 1, settled: 1, met: all },
      { type: 'copies.withdrawn', copies: 0, settled: 0, met: none },
      { type: 'lifecycle.retired' },
      silent,
    ],
    markGivenUp: [{ type: 'mark.stored' }, silent],
  },
  clamp: ({ waiting, outstanding, settled, refused, reviews, unknowns, failures, retries, removalBatch, window }) => ({
    waiting: waiting > 0,
    outstanding: Math.min(outstanding, window),
    settled: Math.min(settled, removalBatch),
    refused: refused > 0,
    reviews: reviews > 0,
    unknowns: Math.min(unknowns, retries + 1),
    failures: Math.min(failures, retries),
  }),
  goals: ['Idle', 'AwaitingConfirm', 'GivenUp', 'Gone'],
  bounded: {
    Idle: 'the reader, which lets it go when it has said that it is quiet',
    AwaitingConfirm: 'the reader, which hears the confirmation',
    GivenUp: 'the reader, which lets it go',
    Gone: 'the reader, which lets it go',
  },
  happy: ['Recovering', 'Authorizing', 'HandingOff', 'MarkingHandedOff', 'AwaitingConfirm', 'Removing.Asking', 'Idle'],
  equivalent: {
    'Authorizing on lifecycle.retired: without forgetFailures':
      'a batch is chosen after the place was recovered or a removal, which forget the failures: there are none',
    'Collecting on entries.arrived #2: → Authorizing instead of Deciding':
      'a lane that collects has too few to remove and no review, and its window is not full here: what came is all that there is to decide',
    'Idle on entries.arrived: → Authorizing instead of Deciding':
      'an idle lane has nothing in hand, nothing settled and no review: what waits is all that there is to decide',
  },
  promises,
});
