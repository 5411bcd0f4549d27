import { railsMachine } from '../../../src/machines/rails.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';

export const samples = samplesOf(railsMachine, {
  inputs: { only: undefined },
  events: [{ type: 'rails.bound' }, { type: 'rails.lost', why: 'the subscription ended' }],
  answers: {},
  clamp: ({ failures }) => ({ failed: failures > 0 }),
  happy: ['Serving.Unbound', 'Serving.Bound'],
  promises: [
    {
      clause: 'K1',
      says: 'it begins by binding',
      when: ({ before }) => !before.begun,
      holds: ({ after }) => after.is('Serving.Unbound') || 'it begins elsewhere',
    },
    {
      clause: 'K1',
      says: 'bound is reported when the responder is bound, and only then is it served',
      when: (step) => step.after.tagged('serving') && !step.before.tagged('serving'),
      holds: (step) =>
        (step.heard('rails.bound') && step.reported('rails.bound') !== undefined) || `serves on ${step.fact.type}`,
    },
    {
      clause: 'K1',
      says: 'nothing is served without the responder',
      when: ({ after }) => after.tagged('serving'),
      holds: ({ after }) => after.running('serveRails') || 'served by nobody',
    },
    {
      clause: 'K1',
      says: 'a responder that is lost, or fails, is reported with its reason and bound anew after a pause',
      when: (step) => step.before.is('Serving') && step.heard('rails.lost', 'effect.failed'),
      holds: (step) => {
        const why: unknown = step.reported('rails.lost')?.why;
        if (typeof why !== 'string' || why === '') return 'it is not told';
        return (
          (step.after.is('BackingOff') && step.armed('backOff') && !step.after.running('serveRails')) || 'it goes on'
        );
      },
    },
    {
      clause: 'K1',
      says: 'the pause ends with a new responder, unbound',
      when: (step) => step.elapsed === 'backOff',
      holds: (step) =>
        (step.after.is('Serving.Unbound') && step.started('serveRails') !== undefined) || 'nobody serves',
    },
    {
      clause: 'K1',
      says: 'pauses grow with every loss and start over when it is bound',
      when: ({ before, after }) => before.begun && before.context.failures !== after.context.failures,
      holds: ({ before, after, fact }) =>
        after.context.failures === (fact.type === 'rails.bound' ? 0 : before.context.failures + 1) ||
        'the count is wrong',
    },
    {
      clause: 'K1',
      says: 'a loss is counted',
      when: (step) => step.before.is('Serving') && step.after.is('BackingOff'),
      holds: ({ before, after }) => after.context.failures > before.context.failures || 'it is not',
    },
    {
      clause: 'K1',
      says: 'a success forgets the losses',
      when: (step) => step.heard('rails.bound') && step.before.is('Serving.Unbound'),
      holds: ({ after }) => after.context.failures === 0 || 'it does not',
    },
  ],
});
