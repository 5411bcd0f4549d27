import { leaseMachine } from '../../../src/machines/lease.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import { claiming } from './lease.claim.ts';
import { doubting } from './lease.doubt.ts';
import { ending } from './lease.end.ts';

export const samples = samplesOf(leaseMachine, {
  inputs: {
    alone: { holder: 'd1', incarnation: 'i1', standby: false },
    standby: { holder: 'd1', incarnation: 'i1', standby: true },
  },
  events: [
    { type: 'service.ready' },
    { type: 'stop.requested' },
    { type: 'doubt.raised', why: 'the connection closed' },
    { type: 'watch.bound' },
    { type: 'watch.lost', why: 'the watch ended' },
    { type: 'row.foreign', revision: 3 },
    { type: 'row.foreign', revision: 99 },
    { type: 'row.gone', revision: 3 },
    { type: 'row.gone', revision: 99 },
  ],
  answers: {
    claimLease: [
      { type: 'row.stored', revision: 5 },
      { type: 'row.held', holder: 'd2', incarnation: 'i2', expiresInMs: 9_000 },
      { type: 'row.held', holder: 'd2', incarnation: 'i3', expiresInMs: 9_000 },
      { type: 'write.denied', subject: '$KV.lease', operation: 'publish' },
      { type: 'write.unanswered' },
    ],
    renewLease: [
      { type: 'row.stored', revision: 6 },
      { type: 'row.stored', revision: 8 },
      { type: 'write.conflicted' },
      { type: 'write.denied', subject: '$KV.lease', operation: 'publish' },
      { type: 'write.unanswered' },
    ],
    inquireLease: [
      { type: 'row.ours', revision: 7 },
      { type: 'row.absent' },
      { type: 'row.held', holder: 'd2', incarnation: 'i2', expiresInMs: 9_000 },
      { type: 'row.held', holder: 'd2', incarnation: 'i3', expiresInMs: 9_000 },
      { type: 'inquiry.unanswered' },
    ],
    releaseLease: [{ type: 'row.released' }, { type: 'write.unanswered' }, { type: 'write.conflicted' }],
  },
  clamp: ({ standby, revision, waitsFor }) => ({ standby, held: revision > 0, waitsFor }),
  happy: ['Claiming.Wanted', 'Held.NotReady.Resting', 'Held.Ready.Declaring', 'Held.Ready.Serving.Resting'],
  promises: [...claiming, ...doubting, ...ending],
});
