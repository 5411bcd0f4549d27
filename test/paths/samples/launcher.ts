import { launcherMachine } from '../../../src/machines/launcher.machine.ts';
import { named, samplesOf } from '../../support/paths/samples.ts';
import { promises } from './launcher.promises.ts';

const refusal = {
  type: 'up.refused',
  code: 'up.differs',
  message: 'the store differs',
  help: 'Nothing was changed.',
} as const;
const step = [{ type: 'step.done' }, refusal] as const;
const stopEnded = { type: 'stop.ended', target: 'delivery', pid: 41, message: 'it is there' } as const;

export const samples = samplesOf(launcherMachine, {
  inputs: {
    foreground: { isForeground: true, isOpen: false, children: ['delivery', 'manager'], retryMs: 30_000 },
    detached: { isForeground: false, isOpen: false, children: ['delivery'], retryMs: 30_000 },
    open: { isForeground: true, isOpen: true, children: [], retryMs: 30_000 },
  },
  events: [
    { type: 'stop.requested', signal: 'SIGINT' },
    { type: 'broker.exited', cause: 'SIGKILL', asked: false },
    { type: 'broker.exited', cause: 'exit code 0', asked: true },
    { type: 'child.spawned', name: 'delivery', pid: 41 },
    { type: 'child.spawned', name: 'manager', pid: 42 },
    { type: 'child.serving', name: 'delivery', pid: 41 },
    { type: 'child.serving', name: 'manager', pid: 42 },
    { type: 'child.unbound', name: 'delivery', pid: 41 },
    { type: 'child.lost', name: 'delivery', pid: 41 },
    { type: 'child.lost', name: 'manager', pid: 42 },
    { type: 'child.left', name: 'delivery', pid: 41, reason: 'it is still there after SIGKILL' },
    { type: 'turn.free' },
    { type: 'child.stopped', name: 'delivery', cause: 'exit code 0' },
    { type: 'child.failed', name: 'delivery', reason: 'the lease is held' },
  ],
  answers: {
    lockRoot: [{ type: 'lock.taken' }, { type: 'lock.held', pid: 77 }],
    plan: step,
    findBroker: [{ type: 'broker.running', pid: 40 }, { type: 'broker.absent' }, refusal],
    startBroker: [{ type: 'broker.started', pid: 43 }, { type: 'broker.running', pid: 44 }, refusal],
    provision: step,
    prepareCredentials: step,
    recordMesh: step,
    stop: [
      named('stopped', { ...stopEnded, end: 'stopped' }),
      named('absent', { ...stopEnded, end: 'absent' }),
      named('needed', { ...stopEnded, end: 'needed' }),
      named('held', { ...stopEnded, end: 'held' }),
      named('survived', { ...stopEnded, end: 'survived' }),
      named('failed', { ...stopEnded, end: 'failed' }),
    ],
    unlockRoot: [{ type: 'lock.released' }],
  },
  spawned: ['child.delivery', 'child.manager'],
  /** Once it is known how it ends, what was launched is no question any more: what is to be stopped is. */
  clamp: ({ isForeground, isOpen, children, standing, ours, targets, end }) => ({
    isForeground,
    isOpen,
    ...(end === 'launched' ? { children: children.length, standing, ours: [...ours].sort() } : { targets, end }),
  }),
  goals: ['Running.Up'],
  happy: [
    'Preparing.Locking',
    'Preparing.Planning',
    'Preparing.FindingBroker',
    'Preparing.StartingBroker',
    'Preparing.Provisioning',
    'Preparing.Crediting',
    'Preparing.Recording',
    'Running.Launching.Waiting',
    'Running.Up.Healthy',
  ],
  promises,
});
