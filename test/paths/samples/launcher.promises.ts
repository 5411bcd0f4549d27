/** What the launcher promises on every edge. Longer than 300 lines: one list, read beside the chart. */
import type { ContextFrom } from 'xstate';
import type { launcherMachine } from '../../../src/machines/launcher.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type LauncherStep = Step<ContextFrom<typeof launcherMachine>>;

const ORDER = ['delivery', 'manager', 'broker'];
const acted = ({ effects }: LauncherStep, action: string) =>
  effects.some((effect) => effect.kind === 'act' && effect.action === action);
const spawned = ({ effects }: LauncherStep) =>
  effects.flatMap((effect) => (effect.kind === 'start' && effect.id.startsWith('child.') ? [effect.id] : []));
const isLaunching = ({ before }: LauncherStep) => before.is('Running.Launching');
const all = ({ before }: LauncherStep) =>
  ORDER.filter((each) => each === 'broker' || before.context.children.some((child) => child === each));
const own = ({ before }: LauncherStep, without?: string) =>
  ORDER.filter((each) => each !== without && before.context.ours.some((ours) => ours === each));
const same = (one: readonly string[], other: readonly string[]) => one.join() === other.join();
const settles = ({ before, after }: LauncherStep) =>
  before.is('Running.Launching') && (after.is('Running.Up') || after.is('Unlocking'));
/** Each has told how it is, and that holds still. */
const everyIsKnown = ({ after }: LauncherStep) =>
  after.context.children.every((each) => !['lost', undefined].includes(after.context.standing[each]));
const everyServes = ({ after }: LauncherStep) =>
  after.context.children.every((each) => after.context.standing[each] === 'serving');
/** The state in which a stop has just begun: what it will stop is known. */
const begins = ({ before, after }: LauncherStep) =>
  !before.is('Stopping') && (after.is('Stopping') || after.is('Unlocking'));

export const promises: readonly PathPromise<ContextFrom<typeof launcherMachine>>[] = [
  {
    clause: 'up',
    says: 'nothing is done before the root is locked',
    when: ({ before }) => !before.begun,
    holds: (step) =>
      (step.started('lockRoot') !== undefined && step.started('plan') === undefined) || 'it begins with something else',
  },
  {
    clause: 'up',
    says: 'a second up on one root is refused with the pid of the first, and touches nothing, the lock neither',
    when: (step) => step.heard('lock.held'),
    holds: (step) =>
      (step.after.is('Ended') &&
        step.started('unlockRoot') === undefined &&
        step.after.context.end === 'refused' &&
        step.after.context.message.includes(String(step.fact.pid)) &&
        step.after.context.help !== '') ||
      'it goes on',
  },
  {
    clause: 'up',
    says: 'each step follows the one before it, and only when that is done',
    when: (step) => step.heard('step.done', 'lock.taken'),
    holds: (step) => {
      const next: Record<string, string> = {
        lockRoot: 'plan',
        plan: 'findBroker',
        provision: 'prepareCredentials',
        prepareCredentials: 'recordMesh',
        recordMesh: 'watchBroker',
      };
      return step.started(next[step.from ?? ''] ?? '') !== undefined || `nothing follows ${step.from}`;
    },
  },
  {
    clause: 'up',
    says: 'a refusal and a surprise while preparing end it with the reason, after what it started was stopped',
    when: (step) => step.before.is('Preparing') && step.heard('up.refused', 'effect.failed'),
    holds: (step) => {
      const { end, message, help } = step.after.context;
      const refused = step.heard('up.refused');
      return (
        (begins(step) &&
          end === (refused ? 'refused' : 'failed') &&
          message === step.fact.message &&
          help === (refused ? step.fact.help : '') &&
          same(step.after.context.targets, own(step))) ||
        'it goes on, or the reason is lost'
      );
    },
  },
  {
    clause: 'U6',
    says: 'a broker that runs is adopted: it is watched, and is not ours to stop when the launch fails',
    when: (step) => step.heard('broker.running'),
    holds: (step) =>
      (step.started('provision') !== undefined &&
        step.after.context.brokerPid === step.fact.pid &&
        !step.after.context.ours.includes('broker')) ||
      'it is not adopted',
  },
  {
    clause: 'U6',
    says: 'a broker that is missing is started, and is ours from the moment of its start',
    when: (step) => step.heard('broker.absent', 'broker.started'),
    holds: (step) =>
      (step.after.context.ours.includes('broker') &&
        (step.heard('broker.absent')
          ? step.started('startBroker') !== undefined
          : step.started('provision') !== undefined && step.after.context.brokerPid === step.fact.pid)) ||
      'it is not started, or would be left behind',
  },
  {
    clause: 'U6',
    says: 'every child is started with the mesh, in the order of the list, and the broker is watched by its pid',
    when: ({ before, after }) => !before.is('Running') && after.is('Running'),
    holds: (step) =>
      (same(
        spawned(step),
        step.after.context.children.map((each) => `child.${each}`),
      ) &&
        step.started('watchBroker')?.pid === step.after.context.brokerPid) ||
      'something is missing',
  },
  {
    clause: 'U6',
    says: 'what a child says it has started is ours',
    when: (step) => step.before.is('Running') && step.heard('child.spawned'),
    holds: ({ after, fact }) => after.context.ours.some((each) => each === fact.name) || 'it would be left behind',
  },
  {
    clause: 'U1',
    says: 'it says how it is once every child has said how it is, and only then',
    when: (step) => acted(step, 'tellUp'),
    holds: (step) =>
      step.after.context.children.every((each) => step.after.context.standing[each] !== undefined) ||
      'it says so too early',
  },
  {
    clause: 'U1',
    says: 'one that served and has ended since is waited for again, before it says how it is',
    when: (step) =>
      isLaunching(step) &&
      step.heard('child.lost', 'child.serving', 'child.unbound', 'child.stopped') &&
      !step.before.is('Running.Launching.Late') &&
      step.after.context.children.some((each) => step.after.context.standing[each] === 'lost'),
    holds: (step) =>
      (step.after.is('Running.Launching.Relaunching') && !acted(step, 'tellUp')) || 'it counts by what it was',
  },
  {
    clause: 'U1',
    says: 'the wait for it has a bound, which a further loss does not move, and then it does not count as serving',
    when: (step) =>
      (isLaunching(step) && step.heard('child.lost')) || (step.elapsed === 'relaunchPatience' && !step.ignored),
    holds: (step) => {
      if (step.heard('child.lost')) {
        return step.armed('relaunchPatience') === step.before.is('Running.Launching.Waiting') || 'without a bound';
      }
      const eachHasTold = step.after.context.children.every((each) => step.after.context.standing[each] !== undefined);
      if (!eachHasTold) return step.after.is('Running.Launching.Late') || 'one that never told is not waited for';
      return (acted(step, 'tellUp') && !everyServes(step)) || 'nobody is told';
    },
  },
  {
    clause: 'U1',
    says: 'when the last child has said how it is, that is said, and a detached up ends by it',
    when: (step) =>
      (isLaunching(step) || !step.before.is('Running')) &&
      step.after.status === 'active' &&
      !step.heard('child.failed') &&
      (step.after.is('Running') || settles(step)) &&
      (everyIsKnown(step) ||
        (step.before.is('Running.Launching.Late') &&
          step.after.context.children.every((each) => step.after.context.standing[each] !== undefined))),
    holds: (step) => {
      if (!acted(step, 'tellUp')) return 'nobody is told';
      if (step.after.context.isForeground) return step.after.is('Running.Up') || 'it does not stay';
      const end = everyServes(step) ? 'launched' : 'unbound';
      return (step.after.is('Unlocking') && step.after.context.end === end) || `it does not end as ${end}`;
    },
  },
  {
    clause: 'U1',
    says: 'healthy is what has every child serving, and nothing else',
    when: ({ after }) => after.is('Running.Up'),
    holds: (step) => step.after.tagged('healthy') === everyServes(step) || 'green over something that does not serve',
  },
  {
    clause: 'U1',
    says: 'the last word of a child is what counts',
    when: (step) =>
      step.before.is('Running') && step.heard('child.serving', 'child.unbound', 'child.lost', 'child.stopped'),
    holds: (step) => {
      const name = step.fact.name as 'delivery' | 'manager';
      return step.after.context.standing[name] === step.fact.type.slice('child.'.length) || 'it is not kept';
    },
  },
  {
    clause: 'U1',
    says: 'a child that runs without serving, and one that stays stopped, is told each time',
    when: (step) => step.before.is('Running') && step.heard('child.unbound', 'child.stopped'),
    holds: (step) => acted(step, step.heard('child.unbound') ? 'tellUnbound' : 'tellChildStopped') || 'nobody is told',
  },
  {
    clause: 'U1',
    says: 'a child that no stop has stopped is told, and does not count as serving',
    when: (step) => step.before.is('Running') && step.heard('child.left'),
    holds: (step) =>
      (acted(step, 'tellLeft') &&
        step.after.context.standing[step.fact.name as 'delivery' | 'manager'] === 'unbound') ||
      'nobody is told',
  },
  {
    clause: 'U1',
    says: 'a child that failed ends it with the reason, after what this run started was stopped, that child not',
    when: (step) => step.before.is('Running') && step.heard('child.failed'),
    holds: (step) =>
      (begins(step) &&
        step.after.context.end === 'failed' &&
        step.after.context.message.includes(String(step.fact.reason)) &&
        same(step.after.context.targets, own(step, String(step.fact.name)))) ||
      'it goes on, or stops what is not ours',
  },
  {
    clause: 'U1',
    says: 'a surprise while it runs ends it as failed, after what it started was stopped',
    when: (step) => step.before.is('Running') && step.heard('effect.failed'),
    holds: (step) =>
      (begins(step) &&
        step.after.context.end === 'failed' &&
        step.after.context.message === step.fact.message &&
        same(step.after.context.targets, own(step))) ||
      'it goes on as if nothing were',
  },
  {
    clause: 'U5',
    says: 'a signal on a foreground up stops delivery, manager and broker, in this order; a detached one stops what it started',
    when: (step) => step.heard('stop.requested') && (step.before.is('Preparing') || step.before.is('Running')),
    holds: (step) => {
      const wanted = step.before.is('Running') && step.before.context.isForeground ? all(step) : own(step);
      return (
        (begins(step) &&
          acted(step, 'tellStopping') &&
          step.after.context.end === 'stopped' &&
          same(step.after.context.targets, wanted)) ||
        'it stops something else'
      );
    },
  },
  {
    clause: 'U5',
    says: 'a broker that exits under it runs the same stop, and is told with its cause',
    when: (step) => step.before.is('Running') && step.heard('broker.exited'),
    holds: (step) =>
      (begins(step) &&
        acted(step, 'tellBrokerExited') &&
        same(step.after.context.targets, all(step)) &&
        step.after.context.end === (step.fact.asked === true ? 'stopped' : 'broker-exited') &&
        (step.fact.asked === true || step.after.context.message.includes(String(step.fact.cause)))) ||
      'what depends on it is left behind',
  },
  {
    clause: 'U5',
    says: 'children are left to the stop before it begins: nothing restarts them',
    when: ({ before, after }) => before.is('Running') && !after.is('Running'),
    holds: (step) =>
      (['child.delivery', 'child.manager'] as const).every((id) => !step.after.running(id)) || 'they are restarted',
  },
  {
    clause: 'U4',
    says: 'what happens while it stops changes nothing',
    when: (step) => step.before.is('Stopping') && step.heard('stop.requested', 'broker.exited'),
    holds: (step) => step.ignored || 'the stop is cut short',
  },
  {
    clause: 'U4',
    says: 'each target is stopped in its turn',
    when: (step) => step.started('stop') !== undefined,
    holds: (step) => step.started('stop')?.target === step.after.context.targets[0] || 'another one is stopped',
  },
  {
    clause: 'U4',
    says: 'a stop that ended, or failed, is followed by the next target; one that somebody else makes is waited for',
    when: (step) => step.before.is('Stopping') && step.from === 'stop' && step.heard('stop.ended', 'effect.failed'),
    holds: (step) => {
      const { targets } = step.before.context;
      if (step.fact.end === 'held' && !step.before.is('Stopping.AskingLast')) {
        return (
          (step.after.is('Stopping.Resting') &&
            step.started('awaitTurn')?.target === targets[0] &&
            step.armed('turnPatience')) ||
          'it is not waited for, or without a bound'
        );
      }
      return same(step.after.context.targets, targets.slice(1)) || 'a target is skipped, or stopped twice';
    },
  },
  {
    clause: 'U4',
    says: 'how each stop ended is told, and one that is waited for is not told',
    when: (step) => step.before.is('Stopping') && step.heard('stop.ended'),
    holds: (step) =>
      acted(step, 'tellStop') === !step.after.is('Stopping.Resting') || 'nobody is told, or of what has not ended',
  },
  {
    clause: 'U4',
    says: 'when nobody else is at it, or the time of a stop is up, the same target is asked again',
    when: (step) =>
      (step.before.is('Stopping.Resting') && step.heard('turn.free')) ||
      (step.elapsed === 'turnPatience' && !step.ignored),
    holds: (step) =>
      (step.started('stop')?.target === step.before.context.targets[0] &&
        step.after.is('Stopping.AskingLast') === !step.heard('turn.free')) ||
      'it is not asked again',
  },
  {
    clause: 'U4',
    says: 'what could not be stopped is told at the end',
    when: (step) =>
      step.before.is('Stopping') &&
      (step.fact.end === 'survived' ||
        step.fact.end === 'failed' ||
        (step.fact.end === 'held' && step.before.is('Stopping.AskingLast')) ||
        step.heard('effect.failed')),
    holds: (step) =>
      (step.from !== 'stop' && step.from !== 'awaitTurn') ||
      !step.heard('stop.ended', 'effect.failed') ||
      (step.after.context.end === 'failed' && step.after.context.message.includes(String(step.fact.message))) ||
      'it counts as stopped',
  },
  {
    clause: 'U4',
    says: 'a stop that went well changes nothing of how it ends',
    when: (step) => step.before.is('Stopping') && ['stopped', 'absent', 'needed'].includes(String(step.fact.end)),
    holds: (step) => step.after.context.end === step.before.context.end || 'the end is another one',
  },
  {
    clause: 'U5',
    says: 'the root is unlocked when everything is stopped, and that ends it',
    when: ({ before, after }) =>
      (after.is('Unlocking') && !before.is('Unlocking')) || (before.is('Unlocking') && after.is('Ended')),
    holds: (step) =>
      step.after.is('Ended')
        ? step.from === 'unlockRoot' || 'it ends with the lock'
        : (step.started('unlockRoot') !== undefined && step.after.context.targets.length === 0) ||
          'something still runs',
  },
];
