import { stopMachine } from '../../../src/machines/stop.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import { promises } from './stop.promises.ts';

export const samples = samplesOf(stopMachine, {
  inputs: { delivery: { target: 'delivery' } },
  events: [{ type: 'process.gone' }],
  answers: {
    reserve: [{ type: 'reservation.taken' }, { type: 'reservation.held', pid: 77 }],
    checkDependants: [{ type: 'dependants.none' }, { type: 'dependants.running', names: 'delivery of space main' }],
    mark: [{ type: 'target.marked' }],
    findProcess: [
      { type: 'process.found', pid: 41, start: 'b 1' },
      { type: 'process.found', pid: 42, start: 'b 2' },
      { type: 'process.none', record: 'absent' },
      { type: 'process.none', record: 'dead' },
      { type: 'process.none', record: 'unreadable' },
    ],
    terminate: [
      { type: 'signal.sent' },
      { type: 'process.gone' },
      { type: 'signal.denied', message: 'SIGTERM to process 41: EPERM' },
    ],
    kill: [
      { type: 'signal.sent' },
      { type: 'process.gone' },
      { type: 'signal.denied', message: 'SIGKILL to process 41: EPERM' },
    ],
    removeTraces: [{ type: 'traces.removed' }],
    release: [{ type: 'reservation.released' }],
  },
  clamp: ({ pid, end }) => ({ pid, end }),
  happy: [
    'Reserving',
    'Reserved.Checking',
    'Reserved.Marking',
    'Reserved.Looking',
    'Reserved.Terminating',
    'Reserved.Waiting',
    'Reserved.Looking',
    'Reserved.Cleaning',
    'Leaving',
    'Ended',
  ],
  promises,
});
