import type { ContextFrom } from 'xstate';
import { type PathPromise, samplesOf } from '../../support/paths/samples.ts';
import { switchboardMachine } from './switchboard.machine.ts';

type Context = ContextFrom<typeof switchboardMachine>;

export const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'S1',
    says: 'a caller has one line, however often it calls',
    when: (step) => step.heard('call.opened') && step.before.is('Open'),
    holds: ({ before, fact, started }) =>
      (started(`line.${fact.caller}`) === undefined) === before.context.callers.includes(fact.caller) ||
      'two lines or none',
  },
  {
    clause: 'S2',
    says: 'a line that ends or fails is forgotten',
    when: (step) =>
      step.heard('line.ended') || (step.from?.startsWith('line.') === true && step.heard('effect.failed')),
    holds: ({ after, fact }) => {
      const caller = fact.caller ?? String(fact.effect).slice('line.'.length);
      return (!after.context.callers.includes(caller) && !after.running(`line.${caller}`)) || 'it is still there';
    },
  },
  {
    clause: 'S3',
    says: 'the switchboard gives up after three refusals in a row',
    when: ({ after }) => after.is('GivenUp') || after.is('Pausing'),
    holds: ({ after }) => after.is('GivenUp') === after.context.refusals >= 3 || 'the count is another one',
  },
  {
    clause: 'S4',
    says: 'a new operator takes the old one’s place',
    when: (step) => step.heard('operator.relieved') && step.before.is('Open'),
    holds: (step) => (step.stopped('operator') && step.after.running('operator')) || 'nobody sits there',
  },
];

export const samples = samplesOf(switchboardMachine, {
  inputs: { empty: { callers: [] } },
  events: [
    { type: 'call.opened', caller: 'a' },
    { type: 'call.opened', caller: 'b' },
    { type: 'call.said', caller: 'a', words: 'hello' },
    { type: 'line.ended', caller: 'a' },
    { type: 'trunk.down' },
    { type: 'operator.relieved' },
    { type: 'stop.requested' },
  ],
  answers: { dial: [{ type: 'trunk.up' }, { type: 'trunk.refused' }] },
  spawned: ['line.a', 'line.b', 'operator'],
  clamp: ({ callers, refusals }) => ({ callers: [...callers].sort(), refusals: Math.min(refusals, 3) }),
  happy: ['Dialing', 'Open'],
  promises,
});
