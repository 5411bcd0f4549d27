import type { ContextFrom } from 'xstate';
import type { leaseMachine } from '../../../src/machines/lease.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type LeaseStep = Step<ContextFrom<typeof leaseMachine>>;

const rivalReports = ['lease.taken', 'lease.refused', 'lease.waiting'];
const isStopping = ({ before }: LeaseStep) => before.is('Releasing') || before.is('Claiming.Unwanted');
const asks = ({ effects }: LeaseStep) => effects.some(({ kind }) => kind === 'start' || kind === 'arm');

export const promises: readonly PathPromise<ContextFrom<typeof leaseMachine>>[] = [
  {
    clause: 'L1',
    says: 'ready is reported only after the row that says ready was stored',
    when: (step) => step.reported('lease.ready') !== undefined,
    holds: (step) =>
      (step.before.is('Held.Ready.Declaring') && step.from === 'renewLease' && step.heard('row.stored')) ||
      `reported on ${step.fact.type}`,
  },
  {
    clause: 'L1',
    says: 'what serves has reported that it is ready',
    when: ({ before, after }) => after.tagged('serving') && !before.tagged('serving'),
    holds: (step) => step.reported('lease.ready') !== undefined || 'serves without a report',
  },
  {
    clause: 'L1',
    says: 'the row says ready exactly while the service is',
    when: (step) => step.started('renewLease') !== undefined,
    holds: (step) => step.started('renewLease')?.ready === step.after.is('Held.Ready') || 'the row tells otherwise',
  },
  {
    clause: 'L1',
    says: 'a service that is ready is declared so, at once or after the renewal that is on its way',
    when: (step) => step.heard('service.ready') && step.before.is('Held.NotReady'),
    holds: ({ after }) =>
      after.is('Held.Ready.Declaring') || after.is('Held.NotReady.Renewing.ServiceReady') || 'it is forgotten',
  },
  {
    clause: 'L1',
    says: 'a renewal on its way is never crossed by the declaration',
    when: (step) => step.started('renewLease') !== undefined && step.before.running('renewLease'),
    holds: (step) => step.from === 'renewLease' || 'two writes are on their way',
  },
  {
    clause: 'L1',
    says: 'what is held is reported as held, and renewed before it can lapse',
    when: ({ before, after }) => after.is('Held.NotReady') && !before.is('Held.NotReady'),
    holds: (step) =>
      (step.reported('lease.held') !== undefined && step.armed('renewEvery')) || 'neither told nor renewed',
  },
  {
    clause: 'L1',
    says: 'a renewal that was stored arms the next one',
    when: (step) => step.heard('row.stored') && step.before.is('Held') && !step.after.is('Held.Ready.Declaring'),
    holds: (step) => step.armed('renewEvery') || 'the row would lapse',
  },
  {
    clause: 'L1',
    says: 'the renewal is sent when it is due',
    when: (step) => step.elapsed === 'renewEvery' && !step.ignored,
    holds: (step) => step.started('renewLease')?.revision === step.before.context.revision || 'nothing is renewed',
  },
  {
    clause: 'L1',
    says: 'the watch runs as long as the service is served, and its beginning is reported',
    when: ({ before, after }) => after.is('Held.Ready.Serving') || before.is('Held.Ready.Serving'),
    holds: (step) =>
      step.after.running('watchLease') !== step.after.is('Held.Ready.Serving')
        ? 'served without a watch, or watched without service'
        : !step.before.is('Held.Ready.Serving') ||
          step.heard('watch.bound') === (step.reported('lease.watched') !== undefined) ||
          'the beginning of the watch is not told',
  },
  {
    clause: 'L2',
    says: 'a stop while the claim is under way waits for its outcome, for a bounded time',
    when: (step) => step.heard('stop.requested') && step.before.is('Claiming.Wanted'),
    holds: (step) =>
      (step.after.is('Claiming.Unwanted') && step.after.running('claimLease') && step.armed('claimGrace')) ||
      'the outcome is not waited for',
  },
  {
    clause: 'L2',
    says: 'what an unwanted claim got is given back',
    when: (step) => step.before.is('Claiming.Unwanted') && step.heard('row.stored'),
    holds: (step) => step.started('releaseLease')?.revision === step.fact.revision || 'it is kept',
  },
  {
    clause: 'L2',
    says: 'an unwanted claim without outcome is looked up',
    when: (step) =>
      step.before.is('Claiming.Unwanted') &&
      (step.elapsed === 'claimGrace' || step.heard('write.unanswered', 'effect.failed')),
    holds: ({ after }) => after.is('Releasing.Looking') || 'a row of ours may be left',
  },
  {
    clause: 'L2',
    says: 'an unwanted claim that met another holder has nothing to give back, and is over',
    when: (step) => step.before.is('Claiming.Unwanted') && step.heard('row.held'),
    holds: ({ after }) => after.is('Released') || 'it is not over',
  },
  {
    clause: 'L2',
    says: 'a claim is made wherever it was decided to claim',
    when: ({ before, after }) => after.is('Claiming') && !before.is('Claiming'),
    holds: (step) =>
      (step.after.is('Claiming.Wanted') && step.started('claimLease') !== undefined) || 'nothing is claimed',
  },
  {
    clause: 'L3',
    says: 'every reason to doubt leads to doubt',
    when: (step) =>
      step.before.is('Held') &&
      (step.heard('write.conflicted', 'write.unanswered', 'effect.failed', 'doubt.raised') ||
        (step.before.tagged('serving') &&
          step.heard('row.foreign', 'row.gone') &&
          step.fact.revision > step.before.context.revision)),
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
    when: (step) => step.elapsed === 'askAgain' && !step.ignored,
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
    says: 'after a doubt it is held as not ready: the service has to say ready again before the row does',
    when: ({ before, after }) => !before.is('Held') && after.is('Held'),
    holds: ({ after }) => after.is('Held.NotReady.Resting') || 'it is ready without a word of the service',
  },
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
  {
    clause: 'standby',
    says: 'a loser ends with the rival’s name; with --standby it says whom it waits for, and waits',
    when: (step) => step.heard('row.held') && step.before.context.revision === 0 && !isStopping(step),
    holds: (step) => {
      const { standby } = step.before.context;
      const told = step.reported(standby ? 'lease.waiting' : 'lease.refused') !== undefined;
      return (told && step.after.is(standby ? 'Waiting' : 'Refused')) || 'the loser does otherwise';
    },
  },
  {
    clause: 'standby',
    says: 'whoever waits probes the row every second, and stops when asked',
    when: (step) => step.before.is('Waiting') && (step.elapsed === 'standbyProbe' || step.heard('stop.requested')),
    holds: ({ after, elapsed }) => after.is(elapsed === 'standbyProbe' ? 'Claiming' : 'Released') || 'it waits on',
  },
];
