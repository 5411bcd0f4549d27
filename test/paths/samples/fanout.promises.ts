import type { ContextFrom } from 'xstate';
import type { fanoutMachine } from '../../../src/machines/fanout.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type FanoutStep = Step<ContextFrom<typeof fanoutMachine>>;
const told = ({ effects }: FanoutStep, action: string) =>
  effects.flatMap((effect) => (effect.kind === 'act' && effect.action === action ? [effect.params as never] : []))[0] as
    | Record<string, unknown>
    | undefined;
/** Something happened to the round in hand, and it was not the loss of the pull. */
const inPull = ({ before, after }: FanoutStep) => before.is('Pulling') && after.is('Pulling');

export const promises: readonly PathPromise<ContextFrom<typeof fanoutMachine>>[] = [
  {
    clause: 'F1',
    says: 'it begins by finding the durable',
    when: ({ before }) => !before.begun,
    holds: (step) => step.started('openPosts') !== undefined || 'nothing is opened',
  },
  {
    clause: 'F1',
    says: 'posts are pulled exactly while the durable is found, and its position is reported before any is copied',
    when: ({ before, after }) => before.is('Pulling') || after.is('Pulling'),
    holds: (step) => {
      if (step.after.is('Pulling') !== step.after.running('hearPosts') && step.from !== 'hearPosts')
        return 'it is not pulled';
      if (step.before.is('Pulling') || !step.after.is('Pulling')) return true;
      const position = step.reported('fanout.opened')?.position;
      return (step.heard('posts.opened') && position === step.fact.position) || 'the position is not told';
    },
  },
  {
    clause: 'F1',
    says: 'posts are settled only after every copy was stored, or where there is none to store',
    when: (step) => step.started('settleRound') !== undefined,
    holds: (step) =>
      (step.heard('copies.stored') && (step.before.is('Pulling.Copying') || step.before.is('Pulling.CopyingEach'))) ||
      (step.before.is('Pulling.Routing') && step.heard('round.routed') && step.fact.copies === 0) ||
      `settled on ${step.fact.type}`,
  },
  {
    clause: 'F1',
    says: 'what is stored is settled at once',
    when: (step) => step.heard('copies.stored'),
    holds: (step) => step.started('settleRound') !== undefined || 'it stays owed',
  },
  {
    clause: 'F1',
    says: 'a round with copies is stored whole, one without is settled',
    when: (step) => step.before.is('Pulling.Routing') && step.heard('round.routed'),
    holds: (step) =>
      (step.started('storeRound') !== undefined) === step.fact.copies > 0 || 'the round is dropped or doubled',
  },
  {
    clause: 'F1',
    says: 'a round whose outcome is not known stays owed: it is routed again after a pause that grows, and that is told',
    when: (step) => inPull(step) && step.heard('broker.silent', 'effect.failed') && step.from !== 'hearPosts',
    holds: (step) => {
      const failures = step.before.context.failures + 1;
      const facts = told(step, 'tellHolding');
      const why = typeof facts?.why === 'string' && facts.why !== '' && facts.failures === failures;
      return (
        (step.after.is('Pulling.Holding') &&
          step.armed('backOff') &&
          step.after.context.failures === failures &&
          why) ||
        'it is not held'
      );
    },
  },
  {
    clause: 'F1',
    says: 'a held round is routed again',
    when: (step) => step.before.is('Pulling.Holding') && step.elapsed === 'backOff' && !step.ignored,
    holds: (step) => step.started('routeRound') !== undefined || 'it is forgotten',
  },
  {
    clause: 'F1',
    says: 'after a settled round the next one is looked for at once, and whoever got something is reported',
    when: (step) => step.before.is('Pulling.Settling') && step.heard('posts.settled'),
    holds: (step) => {
      if (step.started('routeRound') === undefined) return 'nobody looks';
      const members = step.reported('members.owed')?.members;
      const owed = step.fact.members.length > 0;
      return owed
        ? JSON.stringify(members) === JSON.stringify(step.fact.members) || 'they are not told'
        : members === undefined || 'nobody is owed';
    },
  },
  {
    clause: 'F1',
    says: 'a settled round is counted, and ends a row of failures',
    when: (step) => step.before.is('Pulling.Settling') && step.heard('posts.settled'),
    holds: ({ before, after, fact }) =>
      (after.context.posts === before.context.posts + fact.posts &&
        after.context.copies === before.context.copies + fact.members.length &&
        after.context.failures === 0) ||
      'it is not counted',
  },
  {
    clause: 'F1',
    says: 'a post that waits is counted in every state of the pull, and taken off only by a round that looked and found none',
    when: ({ before, after }) => before.begun && before.context.waiting !== after.context.waiting,
    holds: (step) => {
      const { waiting } = step.before.context;
      if (step.heard('posts.waiting')) return step.after.context.waiting === waiting + step.fact.count || 'miscounted';
      const met = step.heard('round.empty') && step.before.is('Pulling.Routing');
      return (
        (met && step.after.context.waiting === Math.max(0, waiting - step.fact.met)) || `changed by ${step.fact.type}`
      );
    },
  },
  {
    clause: 'F1',
    says: 'nobody rests while posts wait',
    when: ({ after }) => after.is('Pulling.Idle'),
    holds: ({ after }) => after.context.waiting === 0 || 'posts wait',
  },
  {
    clause: 'F1',
    says: 'a post that comes while nothing is in hand is looked for at once; otherwise it waits for its turn',
    when: (step) => step.heard('posts.waiting') && step.before.is('Pulling'),
    holds: (step) =>
      (step.started('routeRound') !== undefined) === step.before.is('Pulling.Idle') ||
      'a round is crossed or forgotten',
  },
  {
    clause: 'F5',
    says: 'a round that the broker refuses, or that holds a duplicate, is stored copy by copy',
    when: (step) => step.before.is('Pulling.Copying') && step.heard('copies.duplicated', 'store.refused'),
    holds: (step) => step.started('storeEach') !== undefined || 'one bad copy holds up the others',
  },
  {
    clause: 'F5',
    says: 'where the store takes none of them, the round is held, and the number is told',
    when: (step) => step.before.is('Pulling.CopyingEach') && step.heard('store.refused'),
    holds: (step) => {
      const facts = told(step, 'tellHolding');
      const failures = step.before.context.failures + 1;
      return (
        (step.after.is('Pulling.Holding') &&
          step.armed('backOff') &&
          facts?.why === step.fact.code &&
          facts?.failures === failures) ||
        'it is not held'
      );
    },
  },
  {
    clause: 'F7',
    says: 'posts that were never delivered are told as a range, in every state of the pull',
    when: (step) => step.heard('posts.skipped') && step.before.is('Pulling'),
    holds: (step) => {
      const facts = told(step, 'tellSkipped');
      return (facts?.from === step.fact.from && facts?.to === step.fact.to) || 'they are passed over';
    },
  },
  {
    clause: 'F1',
    says: 'a pull that is lost is opened again after a pause, and that is told with its reason',
    when: (step) => step.before.is('Pulling') && (step.heard('posts.lost') || step.from === 'hearPosts'),
    holds: (step) => {
      const why = step.from === 'hearPosts' ? 'a surprise' : step.fact.why;
      const failures = step.before.context.failures + 1;
      return (
        (step.after.is('Reopening') &&
          step.armed('backOff') &&
          told(step, 'tellReopening')?.why === why &&
          step.after.context.failures === failures) ||
        'nobody pulls any more'
      );
    },
  },
  {
    clause: 'F1',
    says: 'a durable that is not found is asked for again after a pause that grows',
    when: (step) => step.before.is('Opening') && step.heard('posts.refused', 'broker.silent', 'effect.failed'),
    holds: ({ before, after, armed }) =>
      (after.is('Reopening') && armed('backOff') && after.context.failures === before.context.failures + 1) ||
      'it is not',
  },
  {
    clause: 'F1',
    says: 'the pause ends with the question',
    when: (step) => step.before.is('Reopening') && step.elapsed === 'backOff' && !step.ignored,
    holds: (step) => step.started('openPosts') !== undefined || 'nobody asks',
  },
  {
    clause: 'F1',
    says: 'at most one round is in hand',
    when: ({ after }) => after.is('Pulling'),
    holds: ({ after }) =>
      ['routeRound', 'storeRound', 'storeEach', 'settleRound'].filter((id) => after.running(id)).length ===
        (after.is('Pulling.Idle') || after.is('Pulling.Holding') ? 0 : 1) || 'two are, or none',
  },
  {
    clause: 'F5',
    says: 'it serves exactly while posts can be copied',
    when: ({ after }) => after.status === 'active',
    holds: ({ after }) =>
      after.tagged('serving') === (after.is('Pulling') && !after.is('Pulling.Holding')) || 'the tag lies',
  },
];
