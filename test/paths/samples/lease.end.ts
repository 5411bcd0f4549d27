import type { ContextFrom } from 'xstate';
import type { leaseMachine } from '../../../src/machines/lease.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type LeaseStep = Step<ContextFrom<typeof leaseMachine>>;
const rivalReports = ['lease.taken', 'lease.refused', 'lease.waiting'];
const isStopping = ({ before }: LeaseStep) => before.is('Releasing') || before.is('Claiming.Unwanted');
const asks = ({ effects }: LeaseStep) => effects.some(({ kind }) => kind === 'start' || kind === 'arm');

/** L5, L6 and L7: giving back, being refused, being taken over. */
export const ending: readonly PathPromise<ContextFrom<typeof leaseMachine>>[] = [
  {
    clause: 'L5',
    says: 'the revision is the one that was last seen to be ours',
    when: (step) => step.heard('row.stored', 'row.ours'),
    holds: ({ after, fact }) => after.context.revision === fact.revision || 'the revision is not kept',
  },
  {
    clause: 'L5',
    says: 'what is released is ours: our name, at the revision last seen',
    when: (step) => step.started('releaseLease') !== undefined,
    holds: (step) => {
      const asked = step.started('releaseLease');
      const { holder, incarnation, revision } = step.after.context;
      const same = asked?.holder === holder && asked.incarnation === incarnation && asked.revision === revision;
      return (same && revision > 0) || 'it may be the row of somebody else';
    },
  },
  {
    clause: 'L5',
    says: 'a stop gives back what is held, and in doubt reads the row first',
    when: (step) => step.heard('stop.requested') && (step.before.is('Held') || step.before.is('Doubtful')),
    holds: ({ before, after, armed }) =>
      (after.is(before.is('Held') ? 'Releasing.Giving' : 'Releasing.Looking') && armed('releaseGrace')) ||
      'it is not given back',
  },
  {
    clause: 'L5',
    says: 'a release that meets another revision reads the row, and gives back what is still ours',
    when: (step) => step.before.is('Releasing') && step.heard('write.conflicted', 'row.ours'),
    holds: ({ after, fact }) =>
      after.is(fact.type === 'row.ours' ? 'Releasing.Giving' : 'Releasing.Looking') || 'a row of ours is left',
  },
  {
    clause: 'L5',
    says: 'the release ends with its outcome or its time, and that is reported',
    when: ({ before, after, ignored }) =>
      (before.is('Releasing') && !ignored && !after.is('Releasing')) || after.is('Released'),
    holds: (step) =>
      (step.after.is('Released') && step.reported('lease.released') !== undefined && !asks(step)) ||
      'the end is another one',
  },
  {
    clause: 'L5',
    says: 'a release is over when the row is given back or not ours, when nobody answers, and when its time is up',
    when: (step) =>
      step.before.is('Releasing') &&
      (step.elapsed === 'releaseGrace' ||
        step.heard(
          'row.released',
          'row.absent',
          'row.held',
          'write.unanswered',
          'inquiry.unanswered',
          'effect.failed',
        )),
    holds: ({ after }) => after.is('Released') || 'it goes on',
  },
  {
    clause: 'L6',
    says: 'a refused write is a denial that names subject and operation, and ends the lease',
    when: (step) => step.heard('write.denied'),
    holds: (step) => {
      const report = step.reported('lease.denied');
      const named = report?.subject === step.fact.subject && report?.operation === step.fact.operation;
      return (named && step.after.is('Denied') && !asks(step)) || 'it is not told as a denial';
    },
  },
  {
    clause: 'L6',
    says: 'another holder is named only when the row was read to be that holder’s',
    when: (step) => rivalReports.some((type) => step.reported(type) !== undefined),
    holds: (step) => {
      const [report] = rivalReports.flatMap((type) => step.reported(type) ?? []);
      const { holder, expiresInMs } = step.fact;
      const same = report?.holder === holder && report?.expiresInMs === expiresInMs;
      return (step.heard('row.held') && same) || `it is named on ${step.fact.type}`;
    },
  },
  {
    clause: 'L7',
    says: 'a row that was ours and is another’s was taken: reported, ended, not touched again',
    when: (step) => step.heard('row.held') && step.before.context.revision > 0 && !isStopping(step),
    holds: (step) =>
      (step.after.is('Taken') && step.reported('lease.taken') !== undefined && !asks(step)) || 'it is touched again',
  },
  {
    clause: 'L7',
    says: 'what ended asks for nothing more',
    when: ({ after }) => after.status === 'done',
    holds: (step) => !asks(step) || 'something was asked for',
  },
];
