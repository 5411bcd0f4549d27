import { credentialMachine } from '../../../src/machines/credential.machine.ts';
import { named, samplesOf } from '../../support/paths/samples.ts';
import { promises } from './credential.promises.ts';

const asked = (ticket: string, expected: string) =>
  named(`reload to ${expected}`, { type: 'reload.asked', ticket, expected } as const);

/** Connection 1 is resident, 2 comes after it. "new" is the renewal that lies in the store. */
export const samples = samplesOf(credentialMachine, {
  inputs: { usual: { connection: 1, backstopMs: 60_000 } },
  events: [
    { type: 'daemon.started' },
    { type: 'credential.expired', connection: 1, at: 100 },
    { type: 'credential.expired', connection: 2, at: 200 },
    asked('t1', 'new'),
    asked('t2', 'another'),
  ],
  answers: {
    measureLife: [
      { type: 'life.measured', isDue: false, waitMs: 7_000 },
      { type: 'life.measured', isDue: true, waitMs: 0 },
    ],
    readCredential: [
      { type: 'credential.found', fingerprint: 'new' },
      { type: 'credential.unchanged', fingerprint: 'old' },
      { type: 'credential.unchanged', fingerprint: 'new' },
      { type: 'credential.unusable', why: 'it is missing' },
    ],
    proveCredential: [
      { type: 'credential.proved', fingerprint: 'new' },
      { type: 'credential.unproved', fingerprint: 'new', why: 'unauthorized' },
    ],
    openResident: [
      { type: 'resident.opened', connection: 2, at: 300 },
      { type: 'resident.unreachable', connection: 2, at: 300, why: 'timeout' },
    ],
    measureExpiry: [
      { type: 'expiry.measured', elapsedMs: 59_999 },
      { type: 'expiry.measured', elapsedMs: 60_000 },
    ],
  },
  clamp: ({ connection, failures, asked: waiting, later }) => ({
    connection,
    failed: failures > 0,
    asked: [...new Set(waiting.map(({ expected }) => expected))].sort().join(' '),
    later: [...new Set(later.map(({ expected }) => expected))].sort().join(' '),
  }),
  goals: ['Living.renewal.Fresh.Waiting'],
  happy: [
    'Living.renewal.Fresh.Measuring',
    'Living.renewal.Fresh.Flying.Rereading',
    'Living.renewal.Fresh.Flying.Proving',
    'Living.renewal.Fresh.Swapping.Dialing',
    'Living.renewal.Fresh.Measuring',
  ],
  equivalent: {
    'Living.renewal.Fresh.Resting on reload.admitted: → Living.renewal.Fresh.Landed instead of Living.renewal.Fresh.Flying':
      'somebody waits for the flight, and Landed flies at once for whoever waits',
    'Living.renewal.Fresh.Measuring on reload.admitted: → Living.renewal.Fresh.Landed instead of Living.renewal.Fresh.Flying':
      'somebody waits for the flight, and Landed flies at once for whoever waits',
    'Living.renewal.Fresh.Waiting on reload.admitted: → Living.renewal.Fresh.Landed instead of Living.renewal.Fresh.Flying':
      'somebody waits for the flight, and Landed flies at once for whoever waits',
    'Living.renewal.Fresh.Measuring on effect.failed: guard isOf removed':
      'nothing else is under way while the life is measured, and what comes late is heard by nobody',
  },
  promises,
});
