import type { ContextFrom } from 'xstate';
import type { leaseMachine } from '../../../src/machines/lease.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';

/** L3: doubting. */
export const doubting: readonly PathPromise<ContextFrom<typeof leaseMachine>>[] = [
  {
    clause: 'L3',
    says: 'every reason to doubt leads to doubt',
    when: (step) =>
      step.before.is('Held') &&
      (step.heard('write.conflicted', 'write.unanswered', 'effect.failed', 'doubt.raised') ||
        (step.before.tagged('serving') &&
          (step.heard('watch.lost') ||
            (step.heard('row.foreign', 'row.gone') && step.fact.revision > step.before.context.revision)))),
    holds: ({ after }) => after.is('Doubtful') || 'it goes on as if nothing were',
  },
  {
    clause: 'L3',
    says: 'a doubt is reported with its reason before the row is asked about, and everything else has stopped',
    when: ({ before, after }) => before.is('Held') && after.is('Doubtful'),
    holds: (step) => {
      const report = step.effects.findIndex(({ kind }) => kind === 'report');
      const asking = step.effects.findIndex((effect) => effect.kind === 'start' && effect.id === 'inquireLease');
      const why: unknown = step.reported('lease.doubted')?.why;
      if (typeof why !== 'string' || why === '') return 'it is not reported';
      if (step.heard('doubt.raised') && why !== step.fact.why) return 'the reason is another one';
      if (asking !== -1 && asking < report) return 'it is asked about first';
      return !(step.after.running('renewLease') || step.after.running('watchLease')) || 'an effect goes on';
    },
  },
  {
    clause: 'L3',
    says: 'a surprise is not asked about at once, so that it cannot spin',
    when: (step) => step.heard('effect.failed') && step.after.is('Doubtful'),
    holds: (step) => step.armed('askAgain') || 'it spins',
  },
  {
    clause: 'L3',
    says: 'an echo of what we knew is no doubt',
    when: (step) =>
      step.before.tagged('serving') &&
      step.heard('row.foreign', 'row.gone') &&
      step.fact.revision <= step.before.context.revision,
    holds: (step) => step.ignored || 'an old change is doubted',
  },
  {
    clause: 'L3',
    says: 'a claim without outcome is a doubt',
    when: (step) => step.before.is('Claiming.Wanted') && step.heard('write.unanswered', 'effect.failed'),
    holds: ({ after }) => after.is('Doubtful') || 'nobody knows whose the row is',
  },
  {
    clause: 'L3',
    says: 'whatever is no surprise is asked about at once',
    when: ({ before, after, fact }) => !before.is('Doubtful') && after.is('Doubtful') && fact.type !== 'effect.failed',
    holds: (step) => step.started('inquireLease') !== undefined || 'the question waits',
  },
  {
    clause: 'L3',
    says: 'in doubt the row is asked about again and again',
    when: ({ after }) => after.is('Doubtful'),
    holds: ({ after, armed, before, ignored }) =>
      after.is('Doubtful.Asking') === after.running('inquireLease') &&
      (!after.is('Doubtful.Resting') || ignored || before.is('Doubtful.Resting') || armed('askAgain'))
        ? true
        : 'nobody asks',
  },
  {
    clause: 'L3',
    says: 'the pause between two questions ends with a question',
    when: (step) => step.elapsed === 'askAgain',
    holds: (step) => step.started('inquireLease') !== undefined || 'nobody asks',
  },
  {
    clause: 'L3',
    says: 'only what was read on the row ends a doubt, or a stop',
    when: ({ before, after }) => before.is('Doubtful') && !after.is('Doubtful'),
    holds: (step) => step.from === 'inquireLease' || step.heard('stop.requested') || `it ended by ${step.fact.type}`,
  },
  {
    clause: 'L3',
    says: 'a row that is ours is held as before, and one that is gone is claimed anew',
    when: (step) => step.before.is('Doubtful') && step.heard('row.ours', 'row.absent'),
    holds: ({ after, fact }) =>
      after.is(fact.type === 'row.ours' ? 'Held' : 'Claiming.Wanted') || 'the row tells otherwise',
  },
  {
    clause: 'L3',
    says: 'it is held as not ready: the service has to say ready, also again, before the row does',
    when: ({ before, after }) => !before.is('Held') && after.is('Held'),
    holds: ({ after }) => after.is('Held.NotReady') || 'it is ready without a word of the service',
  },
  {
    clause: 'L3',
    says: 'after a doubt a fresh renewal is sent before anything else is: the one that holds may be old',
    when: (step) => step.before.is('Doubtful') && step.heard('row.ours'),
    holds: (step) => step.started('renewLease')?.revision === step.fact.revision || 'it is held by an old renewal',
  },
];
