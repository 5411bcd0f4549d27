import type { ContextFrom } from 'xstate';
import type { leaseMachine } from '../../../src/machines/lease.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type LeaseStep = Step<ContextFrom<typeof leaseMachine>>;
const isStopping = ({ before }: LeaseStep) => before.is('Releasing') || before.is('Claiming.Unwanted');

/** L1, L2 and standby: claiming, being ready, renewing. */
export const claiming: readonly PathPromise<ContextFrom<typeof leaseMachine>>[] = [
  {
    clause: 'L1',
    says: 'ready is reported only after the row that says ready was stored, and then whenever the service asks',
    when: (step) =>
      step.reported('lease.ready') !== undefined ||
      (step.before.is('Held.Ready.Serving') && step.heard('service.ready')),
    holds: (step) => {
      const stored = step.before.is('Held.Ready.Declaring') && step.from === 'renewLease' && step.heard('row.stored');
      const again = step.before.is('Held.Ready.Serving') && step.heard('service.ready');
      return (step.reported('lease.ready') !== undefined) === (stored || again) || `reported on ${step.fact.type}`;
    },
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
      (step.reported('lease.held') !== undefined &&
        (step.armed('renewEvery') || step.started('renewLease') !== undefined)) ||
      'neither told nor renewed',
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
    when: (step) => step.elapsed === 'renewEvery',
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
    clause: 'L1',
    says: 'a claim that was stored is held, and rests until its first renewal is due',
    when: (step) => step.before.is('Claiming.Wanted') && step.heard('row.stored'),
    holds: ({ after }) => after.is('Held.NotReady.Resting') || 'it is not held',
  },
  {
    clause: 'standby',
    says: 'a loser ends with the rival’s name; with --standby it says whom it waits for, and waits',
    when: (step) => step.heard('row.held') && step.before.context.revision === 0 && !isStopping(step),
    holds: (step) => {
      const { standby } = step.before.context;
      const told = standby || step.reported('lease.refused') !== undefined;
      return (told && step.after.is(standby ? 'Waiting' : 'Refused')) || 'the loser does otherwise';
    },
  },
  {
    clause: 'standby',
    says: 'whom it waits for is told once for each holder, not at every probe',
    when: (step) => step.heard('row.held') && step.before.context.standby && step.after.is('Waiting'),
    holds: ({ before, after, fact, reported }) => {
      const rival = `${fact.holder}/${fact.incarnation}`;
      const isNew = before.context.waitsFor !== rival;
      if (after.context.waitsFor !== rival) return 'it is not kept';
      return (reported('lease.waiting') !== undefined) === isNew || 'it is told wrongly';
    },
  },
  {
    clause: 'standby',
    says: 'whoever waits probes the row every second, and stops when asked',
    when: (step) => step.before.is('Waiting') && (step.elapsed === 'standbyProbe' || step.heard('stop.requested')),
    holds: ({ after, elapsed }) => after.is(elapsed === 'standbyProbe' ? 'Claiming' : 'Released') || 'it waits on',
  },
];
