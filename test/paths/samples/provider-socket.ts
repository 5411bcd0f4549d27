import { providerSocketMachine } from '../../../src/machines/provider-socket.machine.ts';
import { named, samplesOf } from '../../support/paths/samples.ts';
import { promises } from './provider-socket.promises.ts';

const provider = { name: 'broker', instance: 'i1' };
const input = {
  connection: 'c1',
  workspace: 'w1',
  node: 'n1',
  openedAt: 100_000,
  bounds: { reapMs: 45_000, unboundMs: 15_000, registerMs: 10_000 },
};

export const samples = samplesOf(providerSocketMachine, {
  inputs: { opened: input },
  events: [
    { type: 'register.asked', at: 101_000 },
    named('register.asked late', { type: 'register.asked', at: 114_000 }),
    named('register.accepted with cursors', { type: 'register.accepted', at: 102_000, provider, mode: 'agent_scoped' }),
    named('register.accepted of an old peer', {
      type: 'register.accepted',
      at: 102_000,
      provider: { name: 'default', instance: 'c1' },
      mode: 'immediate',
    }),
    { type: 'register.failed', at: 102_000 },
    { type: 'provider.deregistered', at: 130_000 },
    { type: 'challenger.accepted', at: 150_000 },
    named('time.passed, all within their bounds', { type: 'time.passed', at: 110_000, lastSeen: 109_000 }),
    named('time.passed, unbound is over', { type: 'time.passed', at: 116_000, lastSeen: 115_000 }),
    named('time.passed, one millisecond too early', { type: 'time.passed', at: 114_999, lastSeen: 70_000 }),
    named('time.passed, silent to the millisecond', { type: 'time.passed', at: 145_000, lastSeen: 100_000 }),
    named('time.passed, one millisecond less', { type: 'time.passed', at: 145_000, lastSeen: 100_001 }),
    named('time.passed, by a clock that went back', { type: 'time.passed', at: 1_000, lastSeen: 109_000 }),
    { type: 'queue.overflowed', at: 120_000 },
    { type: 'socket.closed', at: 120_000 },
  ],
  answers: {},
  clamp: ({ unboundSince, registerAskedAt, provider: held }) => ({ unboundSince, registerAskedAt, held: held?.name }),
  happy: ['Unbound.Waiting', 'Unbound.Registering', 'Bound.AgentScoped'],
  goals: ['Bound.Immediate', 'Bound.AgentScoped'],
  bounded: {
    'Unbound.Waiting': 'the reaper: unboundMs after it became unbound',
    'Unbound.Registering': 'the reaper: unboundMs and registerMs',
    'Bound.Immediate': 'the reaper: reapMs after the last accepted frame',
    'Bound.AgentScoped': 'the reaper: reapMs after the last accepted frame',
    'Bound.Withdrawn': 'the reaper: reapMs after the last accepted frame',
  },
  promises,
});
