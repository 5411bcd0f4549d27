import { membershipMachine } from '../../../src/machines/membership.machine.ts';
import { named, samplesOf } from '../../support/paths/samples.ts';
import { promises } from './membership.promises.ts';

const silent = { type: 'broker.silent' } as const;
const read = (row: object | null, covered: string, deliveryClass = 'durable') => ({
  type: 'row.read',
  row,
  covered,
  class: deliveryClass,
});
const row = (state: string, generation: number) => ({ state, generation, joinCursor: generation * 10 });
const written = [{ type: 'row.written', generation: 2, joinCursor: 25 }, { type: 'write.conflicted' }, silent] as const;

export const samples = samplesOf(membershipMachine, {
  inputs: { row: { key: 'ops/local.ann.u', asksLimit: 2 } },
  events: [
    { type: 'request.asked', ask: { kind: 'join', ticket: 'j' } },
    { type: 'request.asked', ask: { kind: 'leave', ticket: 'l', generation: 1 } },
    { type: 'request.asked', ask: { kind: 'resume' } },
  ],
  answers: {
    readRow: [
      named('no row', read(null, 'yes')),
      named('pending', read(row('pending', 1), 'yes')),
      named('active', read(row('active', 1), 'yes')),
      named('left', read(row('left', 1), 'yes')),
      named('a later generation', read(row('active', 2), 'yes')),
      named('not covered', read(null, 'no')),
      named('a live channel', read(null, 'yes', 'live')),
      silent,
    ],
    openRow: written,
    catchUp: [{ type: 'copies.complete', copies: 3 }, { type: 'retention.ate', first: 40 }, silent],
    activateRow: written,
    closeRow: written,
    withdraw: [{ type: 'member.withdrawn', dropped: 3 }, silent],
  },
  clamp: ({ asks, failures, generation }) => ({
    asks: asks.map(({ kind }) => kind),
    failures: Math.min(failures, 1),
    generation,
  }),
  goals: ['Settled'],
  bounded: { Settled: 'its registry, which lets it go or asks' },
  happy: ['Settled', 'Reading', 'Opening', 'CatchingUp', 'Activating', 'Settled'],
  limit: 400_000,
  promises,
});
