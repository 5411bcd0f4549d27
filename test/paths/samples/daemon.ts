import { daemonMachine } from '../../../src/machines/daemon.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import { promises } from './daemon.promises.ts';

const done = { type: 'step.done' } as const;
const refused = { type: 'start.refused', code: 'a-reason', message: 'it is refused' } as const;
const nameless = (at: number) =>
  ({ type: 'name.unresolved', host: 'broker', reason: 'EAI_AGAIN', message: 'broker: EAI_AGAIN', at }) as const;
const lane = { window: 256, removalBatch: 64, retries: 10, backOffMs: 250, backOffLimitMs: 30_000 };

export const samples = samplesOf(daemonMachine, {
  inputs: {
    only: {
      lease: { holder: 'd1', incarnation: 'i1', standby: false },
      nameWaitMs: 60_000,
      reader: { laneLimit: 100, placingLimit: 10, restingLimit: 10, lane, inventory: { room: 100 } },
    },
  },
  events: [
    { type: 'lease.held' },
    { type: 'lease.ready' },
    { type: 'lease.watched' },
    { type: 'lease.doubted', why: 'a renewal was not answered' },
    { type: 'lease.waiting', holder: 'd2', expiresInMs: 9_000 },
    { type: 'lease.refused', holder: 'd2', expiresInMs: 9_000 },
    { type: 'lease.denied', subject: '$KV.lease', operation: 'publish' },
    { type: 'lease.taken', holder: 'd2', expiresInMs: 9_000 },
    { type: 'lease.released' },
    { type: 'fanout.opened', position: 7 },
    { type: 'confirmations.bound' },
    { type: 'confirmations.lost', why: 'the subscription ended' },
    { type: 'members.owed', members: ['a'] },
    { type: 'rails.bound' },
    { type: 'stop.requested', signal: 'SIGTERM' },
    { type: 'broker.gone' },
    { type: 'broker.past-backstop' },
    { type: 'broker.disconnected' },
    { type: 'connection.replaced' },
    { type: 'credential.lapsed' },
    { type: 'review.asked', member: 'a' },
    { type: 'rows.changed', members: ['a'] },
    { type: 'membership.asked', key: 'team/a', ask: { kind: 'join', ticket: 't' } },
    { type: 'stores.lost', why: 'the index cannot be followed' },
  ],
  answers: {
    findRoot: [done, refused],
    readCredential: [done, refused],
    findBroker: [done, refused],
    reachBroker: [done, refused, nameless(1_000), nameless(60_999), nameless(61_000)],
    admitObserver: [done, refused],
    openEndpoint: [done, refused, nameless(1_000), nameless(61_000)],
    armSignals: [done, refused],
    writeRecord: [done, refused],
    openStores: [done, refused, { type: 'broker.silent' }],
    closeAll: [{ type: 'all.closed' }],
  },
  clamp: ({ end, namelessSince }) => ({ end, namelessSince }),
  happy: [
    'Starting.FindingRoot',
    'Starting.ReadingCredential',
    'Starting.FindingBroker',
    'Starting.Reaching',
    'Starting.Admitting',
    'Starting.Opening',
    'Starting.Arming',
    'Leased.Claiming',
    'Leased.Recording',
    'Leased.Preparing.Asking',
    'Leased.Serving.Looping.Neither',
    'Leased.Serving.Looping.Deaf',
    'Leased.Serving.Railed.Binding',
    'Leased.Serving.Railed.Declaring',
    'Leased.Serving.Railed.Ready',
    'Leased.Serving.Railed.Started',
    'stop.requested → Leased.Draining',
    'Closing',
    'Stopped',
  ],
  promises,
});
