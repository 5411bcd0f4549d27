import type { RowReading } from '../../../src/domain/membership.ts';
import { membershipMachine } from '../../../src/machines/membership.machine.ts';
import { named, samplesOf } from '../../support/paths/samples.ts';
import { promises } from './membership.promises.ts';

const join = { kind: 'join', ticket: 't-join' } as const;
const leave = { kind: 'leave', ticket: 't-leave', generation: 3 } as const;
const row = (state: 'pending' | 'active' | 'left', generation = 3) => ({ state, generation, joinCursor: 40 }) as const;
const read = (label: string, reading: RowReading) => named(label, { type: 'row.read', ...reading } as const);
const durable = { covered: 'yes', class: 'durable' } as const;

export const samples = samplesOf(membershipMachine, {
  inputs: { only: { key: 'team/local.alice.uid' } },
  events: [
    named('a join is asked', { type: 'request.asked', ask: join } as const),
    named('a leave is asked', { type: 'request.asked', ask: leave } as const),
    named('a resume is asked', { type: 'request.asked', ask: { kind: 'resume' } } as const),
  ],
  answers: {
    readRow: [
      read('no row', { row: null, ...durable }),
      read('no row, a live channel', { row: null, covered: 'yes', class: 'live' }),
      read('no row, not covered', { row: null, covered: 'no', class: 'durable' }),
      read('pending', { row: row('pending'), ...durable }),
      read('active', { row: row('active'), ...durable }),
      read('left', { row: row('left'), ...durable }),
      read('active, a newer generation', { row: row('active', 4), ...durable }),
      { type: 'broker.silent' },
    ],
    openRow: [
      { type: 'row.written', generation: 4, joinCursor: 50 },
      { type: 'write.conflicted' },
      { type: 'broker.silent' },
    ],
    catchUp: [{ type: 'copies.complete', copies: 2 }, { type: 'retention.ate', first: 60 }, { type: 'broker.silent' }],
    activateRow: [
      { type: 'row.written', generation: 4, joinCursor: 50 },
      { type: 'write.conflicted' },
      { type: 'broker.silent' },
    ],
    closeRow: [
      { type: 'row.written', generation: 4, joinCursor: 50 },
      { type: 'write.conflicted' },
      { type: 'broker.silent' },
    ],
    withdraw: [{ type: 'member.withdrawn', dropped: 3 }, { type: 'broker.silent' }],
  },
  clamp: ({ asks, generation }) => ({
    asks: asks.slice(0, 2).map(({ kind }) => kind),
    generation: Math.min(generation, 4),
  }),
  bounded: { Settled: 'whoever asks next, or the registry, which lets it go' },
  happy: ['Settled', 'Reading', 'Opening', 'CatchingUp', 'Activating', 'Settled'],
  promises,
});
