import { brokerWatchMachine } from '../../../src/machines/broker-watch.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import { promises } from './broker-watch.promises.ts';

const outages = [
  { elapsedMs: 14_000, stalledMs: 0 },
  { elapsedMs: 15_000, stalledMs: 0 },
  { elapsedMs: 15_000, stalledMs: 1_000 },
  { elapsedMs: 60_000, stalledMs: 59_000 },
];

export const samples = samplesOf(brokerWatchMachine, {
  inputs: { watch: { connection: 1, windowMs: 15_000, backstopMs: 60_000 } },
  events: [
    { type: 'broker.disconnected', connection: 1, at: 100 },
    { type: 'broker.disconnected', connection: 9, at: 100 },
    { type: 'broker.reconnected', connection: 1 },
    { type: 'broker.reconnected', connection: 9 },
    { type: 'broker.closed', connection: 1, at: 200 },
    { type: 'broker.closed', connection: 9, at: 200 },
    { type: 'credential.expired', connection: 1, at: 300 },
    { type: 'credential.expired', connection: 9, at: 300 },
    { type: 'connection.replaced', connection: 2, connected: true, at: 400 },
    { type: 'connection.replaced', connection: 1, connected: false, at: 500 },
  ],
  answers: {
    measureForWindow: outages.map((outage) => ({ type: 'window.measured', ...outage })),
    measureForBackstop: outages.map((outage) => ({ type: 'backstop.measured', ...outage })),
  },
  clamp: ({ connection }) => ({ connection }),
  bounded: {
    Connected: 'the broker, which nobody can hurry',
    Suspended: 'the machine credential: a renewal or its backstop',
  },
  goals: ['Connected', 'Suspended'],
  happy: ['Connected', 'Disconnected', 'Connected'],
  promises,
});
