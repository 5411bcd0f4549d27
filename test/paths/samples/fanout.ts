import { fanoutMachine } from '../../../src/machines/fanout.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import { promises } from './fanout.promises.ts';

const stored = [
  { type: 'copies.stored' },
  { type: 'store.refused', code: '10077' },
  { type: 'broker.silent' },
] as const;

export const samples = samplesOf(fanoutMachine, {
  inputs: { fanout: undefined },
  events: [
    { type: 'posts.waiting', count: 1 },
    { type: 'posts.waiting', count: 3 },
    { type: 'posts.skipped', from: 4, to: 9 },
    { type: 'posts.lost', why: 'heartbeats missed' },
  ],
  answers: {
    openPosts: [
      { type: 'posts.opened', position: 7 },
      { type: 'posts.refused', code: '10059' },
      { type: 'broker.silent' },
    ],
    routeRound: [
      { type: 'round.routed', posts: 2, copies: 5, poison: 0, oversize: 0 },
      { type: 'round.routed', posts: 1, copies: 0, poison: 1, oversize: 0 },
      { type: 'round.empty', met: 0 },
      { type: 'round.empty', met: 99 },
    ],
    storeRound: [...stored, { type: 'copies.duplicated' }],
    storeEach: stored,
    settleRound: [
      { type: 'posts.settled', posts: 2, members: ['a', 'b'] },
      { type: 'posts.settled', posts: 1, members: [] },
    ],
  },
  clamp: ({ waiting, failures }) => ({ waiting: Math.min(waiting, 1), failures: Math.min(failures, 2) }),
  bounded: {},
  happy: [
    'Opening',
    'Pulling.Idle',
    'Pulling.Routing',
    'Pulling.Copying',
    'Pulling.Settling',
    'Pulling.Routing',
    'Pulling.Idle',
  ],
  promises,
});
