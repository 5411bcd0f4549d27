import { providerLinkMachine } from '../../../src/machines/provider-link.machine.ts';
import { named, samplesOf } from '../../support/paths/samples.ts';
import { promises } from './provider-link.promises.ts';

const refusal = { code: 'provider_instance_conflict', message: 'another instance is attached' };

export const samples = samplesOf(providerLinkMachine, {
  inputs: { only: { tokenRereads: 2 } },
  events: [
    { type: 'transport.opened' },
    { type: 'dial.failed', code: 'ECONNREFUSED', message: 'nobody listens' },
    { type: 'dial.unauthorized' },
    { type: 'token.refused', code: 'node_id_conflict', message: 'the node belongs to another workspace' },
    { type: 'register.accepted' },
    named('register.refused with guidance', { type: 'register.refused', ...refusal, guidanceMs: 9_000 }),
    named('register.refused without', { type: 'register.refused', ...refusal, guidanceMs: null }),
    named('register.refused, no cursors', {
      type: 'register.refused',
      code: 'cursor_not_accepted',
      message: 'relay:delivery-cursor-v1 was not accepted',
      guidanceMs: null,
    }),
    { type: 'deliver.uncertified', agentId: 'a1', seq: 7 },
    { type: 'gap.met', agentId: 'a1', expected: 3, seq: 5 },
    { type: 'reply.came' },
    { type: 'transport.closed', code: 4001, reason: 'reaped' },
    { type: 'transport.closed', code: 1006, reason: '' },
    { type: 'stop.requested' },
  ],
  answers: {
    writeRegister: [{ type: 'register.written' }, { type: 'write.failed', message: 'not within 10000 ms' }],
    sendHeartbeat: [{ type: 'heartbeat.written' }, { type: 'write.failed', message: 'not within 10000 ms' }],
    syncInventory: [
      { type: 'inventory.replied', agents: 5, rejected: 0, gaps: 0 },
      { type: 'inventory.replied', agents: 4, rejected: 1, gaps: 1 },
      { type: 'inventory.refused', code: 'storage_timeout', message: 'the database did not answer' },
      { type: 'inventory.refused', code: 'provider_not_registered', message: 'not on this connection' },
      { type: 'write.failed', message: 'not within 10000 ms' },
    ],
    planRetry: [
      { type: 'retry.planned', waitMs: 9_100 },
      { type: 'retry.planned', waitMs: 700 },
    ],
  },
  clamp: ({ failures, unauthorized, end }) => ({ failing: failures > 0, unauthorized, end }),
  happy: [
    'Attempt.Disconnected',
    'Attempt.Unregistered.TransportConnected',
    'Attempt.Unregistered.Registering',
    'Attempt.Ready',
  ],
  promises,
});
