import type { ContextFrom } from 'xstate';
import type { railsMachine } from '../../../src/machines/rails.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';

export const promises: readonly PathPromise<ContextFrom<typeof railsMachine>>[] = [
  {
    clause: 'K1',
    says: 'the rails are bound exactly as long as this machine serves',
    when: ({ after }) => after.status === 'active',
    holds: ({ after }) => after.is('Serving') === after.running('serveRails') || 'a responder without its state',
  },
  {
    clause: 'K1',
    says: 'bound is reported when the subscriptions stand, and once',
    when: (step) =>
      step.reported('rails.bound') !== undefined || (step.heard('rails.bound') && step.before.is('Serving.Unbound')),
    holds: (step) =>
      (step.heard('rails.bound') &&
        step.before.is('Serving.Unbound') &&
        step.after.is('Serving.Bound') &&
        step.reported('rails.bound') !== undefined) ||
      'it is reported at another time',
  },
  {
    clause: 'K1',
    says: 'it is bound only after it was told to be',
    when: ({ before, after }) => after.is('Serving.Bound') && !before.is('Serving.Bound'),
    holds: (step) => step.heard('rails.bound') || 'nobody said so',
  },
  {
    clause: 'K1',
    says: 'what is lost is reported with its reason, and unbound at once',
    when: (step) => step.before.is('Serving') && (step.heard('rails.lost') || step.from === 'serveRails'),
    holds: (step) => {
      const why = step.from === 'serveRails' ? 'a surprise' : step.fact.why;
      if (step.reported('rails.lost')?.why !== why) return 'it is not reported';
      return (step.after.is('BackingOff') && step.armed('backOff')) || 'it is not bound again';
    },
  },
  {
    clause: 'K1',
    says: 'it begins by binding',
    when: ({ before }) => !before.begun,
    holds: (step) => step.started('serveRails') !== undefined || 'nobody serves',
  },
  {
    clause: 'K1',
    says: 'after the pause it is bound again',
    when: (step) => step.elapsed === 'backOff' && !step.ignored,
    holds: (step) => step.started('serveRails') !== undefined || 'nobody serves',
  },
  {
    clause: 'K4',
    says: 'failures count up while nothing is bound, so that the pauses grow, and start over once it is',
    when: ({ before, after }) => before.is('Serving') && (after.is('BackingOff') || after.is('Serving.Bound')),
    holds: ({ before, after }) => {
      const expected = after.is('Serving.Bound')
        ? before.is('Serving.Bound')
          ? before.context.failures
          : 0
        : before.context.failures + 1;
      return after.context.failures === expected || `${after.context.failures} failures instead of ${expected}`;
    },
  },
];
