import { childMachine } from '../../../src/machines/child.machine.ts';
import { named, samplesOf } from '../../support/paths/samples.ts';
import { promises } from './child.promises.ts';

const stopEnded = { type: 'stop.ended', target: 'delivery', pid: 77, message: 'it is there' } as const;

export const samples = samplesOf(childMachine, {
  inputs: { delivery: { name: 'delivery', retryMs: 30_000 } },
  events: [
    { type: 'process.exited', code: 1, signal: null },
    { type: 'process.exited', code: 0, signal: null },
    { type: 'process.exited', code: null, signal: 'SIGKILL' },
    { type: 'process.exited', code: null, signal: 'SIGTERM' },
    { type: 'process.exited', code: null, signal: 'SIGINT' },
    { type: 'process.exited', code: null, signal: null },
    { type: 'serving.proved' },
    { type: 'process.marked' },
    { type: 'turn.free' },
  ],
  answers: {
    lookForProcess: [{ type: 'process.running', pid: 40 }, { type: 'process.absent' }],
    spawnProcess: [
      { type: 'process.spawned', pid: 41 },
      { type: 'process.spawned', pid: 42 },
      { type: 'process.marked' },
      { type: 'spawn.refused', reason: 'the credentials cannot be made' },
    ],
    explainExit: [
      { type: 'exit.explained', asked: false, cause: 'SIGKILL', reason: 'it said nothing', waitMs: 900 },
      { type: 'exit.explained', asked: true, cause: 'SIGKILL', reason: 'it said nothing', waitMs: 0 },
    ],
    stop: [
      named('stopped', { ...stopEnded, end: 'stopped' }),
      named('absent', { ...stopEnded, end: 'absent' }),
      named('held', { ...stopEnded, end: 'held' }),
      named('needed', { ...stopEnded, end: 'needed' }),
      named('survived', { ...stopEnded, end: 'survived' }),
      named('failed', { ...stopEnded, end: 'failed' }),
    ],
  },
  clamp: ({ code, signal }) => ({ code, signal }),
  goals: ['Running.Unbound', 'Running.Left', 'Restarting.Proving.Overdue'],
  happy: ['Launching.Looking', 'Launching.Spawning', 'Launching.Proving', 'Running.Serving'],
  equivalent: { 'Running: begins in Unbound instead of Serving': 'every way into Running names the state below it' },
  promises,
});
