import { railsMachine } from '../../../src/machines/rails.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import { promises } from './rails.promises.ts';

export const samples = samplesOf(railsMachine, {
  inputs: { rails: undefined },
  events: [{ type: 'rails.bound' }, { type: 'rails.lost', why: 'the connection closed' }],
  answers: {},
  clamp: ({ failures }) => ({ failures: Math.min(failures, 1) }),
  happy: ['Serving.Unbound', 'Serving.Bound'],
  promises,
});
