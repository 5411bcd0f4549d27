import { doorMachine } from '../../../src/machines/door.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

const acted = ({ effects }: Pick<Step<unknown>, 'effects'>, name: string) =>
  effects.some((effect) => effect.kind === 'act' && effect.action === name);

export const samples = samplesOf(doorMachine, {
  inputs: { usual: { port: 9229, backOffMs: 1_000, backOffLimitMs: 3_000 } },
  events: [
    { type: 'door.opened', port: 9229 },
    { type: 'door.refused', why: 'EADDRINUSE' },
    { type: 'door.refused', why: 'EACCES' },
    { type: 'door.lost', why: 'it closed' },
    { type: 'stop.requested' },
  ],
  answers: {},
  clamp: ({ failures, why }) => ({ failures: Math.min(failures, 4), why }),
  goals: ['Keeping.Open'],
  bounded: {
    'Keeping.Opening': 'the effect, which opens the door or is refused',
    'Keeping.Open': 'the effect, which says when the door is lost',
  },
  happy: ['Keeping.Opening', 'Keeping.Open', 'stop.requested → Closed'],
  promises: [
    {
      clause: 'I1',
      says: 'it is opened at once',
      when: ({ before }) => !before.begun,
      holds: (step) => step.started('keepDoor')?.port === step.after.context.port || 'nobody opens it',
    },
    {
      clause: 'I1',
      says: 'a door that is refused or lost is tried again, later each time up to the limit',
      when: (step) => step.before.is('Keeping') && step.heard('door.refused', 'door.lost', 'effect.failed'),
      holds: ({ after, before, armed, stopped }) => {
        if (!after.is('BackingOff') || !armed('backOff')) return 'it is not tried again';
        if (!stopped('keepDoor')) return 'the old one is still being kept';
        return after.context.failures === before.context.failures + 1 || 'the refusals are not counted';
      },
    },
    {
      clause: 'I1',
      says: 'when the pause is over the same port is asked for',
      when: (step) => step.elapsed === 'backOff',
      holds: (step) => step.started('keepDoor')?.port === step.before.context.port || 'it is not asked for',
    },
    {
      clause: 'I1',
      says: 'an open door forgets how often it was refused, and says where it is',
      when: (step) => step.before.is('Keeping.Opening') && step.heard('door.opened'),
      holds: (step) =>
        (step.after.is('Keeping.Open') && step.after.context.failures === 0 && acted(step, 'tellOpened')) ||
        'it does not',
    },
    {
      clause: 'I1',
      says: 'it reports to nobody',
      when: () => true,
      holds: ({ effects }) => !effects.some(({ kind }) => kind === 'report' || kind === 'send') || 'somebody is told',
    },
    {
      clause: 'I2',
      says: 'a refusal is told once, and again when it is another one',
      when: (step) => step.before.is('Keeping') && step.heard('door.refused', 'door.lost'),
      holds: (step) =>
        acted(step, 'tellRefused') === (step.fact.why !== step.before.context.why) || 'it is told wrongly',
    },
    {
      clause: 'I3',
      says: 'after a stop nothing listens and nothing will',
      when: (step) => step.heard('stop.requested') && step.before.status === 'active',
      holds: ({ after }) => (after.is('Closed') && !after.running('keepDoor')) || 'it goes on',
    },
    {
      clause: 'I3',
      says: 'nothing else ends it',
      when: ({ before, after }) => before.begun && before.status === 'active' && after.status !== 'active',
      holds: ({ fact }) => fact.type === 'stop.requested' || `it ends on ${fact.type}`,
    },
  ],
});
