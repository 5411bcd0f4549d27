import { registryMachine } from '../../../src/machines/registry.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import { promises } from './registry.promises.ts';

const join = { kind: 'join', ticket: 't1' } as const;
const answered = { type: 'request.answered', ticket: 't1', answer: { durable: true, generation: 1 } } as const;

export const samples = samplesOf(registryMachine, {
  inputs: { registry: undefined },
  events: [
    { type: 'membership.asked', key: 'ops/a', ask: join },
    { type: 'membership.asked', key: 'ops/b', ask: { kind: 'leave', ticket: 't2', generation: 1 } },
    { type: 'membership.quiet', key: 'ops/a', asks: 0 },
    { type: 'membership.quiet', key: 'ops/a', asks: 1 },
    { type: 'membership.quiet', key: 'ops/b', asks: 1 },
    answered,
  ],
  answers: {
    listPending: [
      { type: 'rows.pending', keys: [] },
      { type: 'rows.pending', keys: ['ops/a'] },
      { type: 'rows.pending', keys: ['ops/a', 'ops/b'] },
      { type: 'broker.silent' },
    ],
  },
  spawned: ['membership.ops/a', 'membership.ops/b'],
  clamp: ({ rows }) => ({
    rows: Object.entries(rows)
      .sort()
      .map(([key, sent]) => `${key} ${Math.min(sent, 2)}`),
  }),
  bounded: { Registering: 'whoever asks; every actor that runs bounds itself' },
  happy: ['Resuming', 'Registering'],
  promises,
});
