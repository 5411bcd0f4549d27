import type { ContextFrom } from 'xstate';
import type { childMachine } from '../../../src/machines/child.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type ChildStep = Step<ContextFrom<typeof childMachine>>;

const spawns = (step: ChildStep) => step.started('spawnProcess') !== undefined;
const asks = ({ effects }: ChildStep) => effects.some(({ kind }) => kind === 'start' || kind === 'arm');
const told = ({ effects }: ChildStep, action: string) =>
  effects.flatMap((effect) => (effect.kind === 'act' && effect.action === action ? [effect.params] : []))[0];
const explains = ({ before }: ChildStep) =>
  before.is('Launching.Explaining') || before.is('Running.Explaining') || before.is('Restarting.Explaining');
const isProving = ({ before }: ChildStep) =>
  before.is('Launching.Proving') || before.is('Running.Unbound') || before.is('Restarting.Proving');
const lives = (state: ChildStep['after']) =>
  state.is('Launching.Proving') ||
  state.is('Running.Serving') ||
  state.is('Running.Unbound') ||
  state.is('Running.Left') ||
  state.is('Restarting.Proving');
const wasAskedFor = ({ before, fact }: ChildStep) => {
  const { code, signal } = before.context;
  return fact.asked === true || code === 0 || signal === 'SIGTERM' || signal === 'SIGINT';
};

export const promises: readonly PathPromise<ContextFrom<typeof childMachine>>[] = [
  {
    clause: 'U1',
    says: 'it counts as serving only when that was proved, and that is reported with its pid',
    when: ({ before, after }) => after.tagged('serving') && !before.tagged('serving'),
    holds: (step) =>
      (isProving(step) &&
        step.heard('serving.proved') &&
        step.reported('child.serving')?.pid === step.before.context.pid &&
        step.reported('child.serving')?.name === 'delivery') ||
      `it serves by ${step.fact.type}`,
  },
  {
    clause: 'U1',
    says: 'serving is reported of nothing else',
    when: (step) => step.reported('child.serving') !== undefined,
    holds: ({ after }) => after.tagged('serving') || 'it is reported too early',
  },
  {
    clause: 'U1',
    says: 'a proof is always taken',
    when: (step) => isProving(step) && step.heard('serving.proved'),
    holds: ({ after }) => after.is('Running.Serving') || 'it is not taken',
  },
  {
    clause: 'U1',
    says: 'as long as it lives it is watched, and as long as it is not proved it is asked for',
    when: ({ after }) => lives(after),
    holds: ({ after }) =>
      (after.running('watchProcess') &&
        after.running('proveServing') !== (after.is('Running.Serving') || after.is('Running.Left'))) ||
      'nobody looks at it',
  },
  {
    clause: 'U1',
    says: 'after the patience it is reported as unbound, and is asked for on and on',
    when: (step) => step.elapsed === 'patience' && !step.ignored,
    holds: (step) =>
      ((step.after.is('Running.Unbound') || step.after.is('Restarting.Proving.Overdue')) &&
        step.reported('child.unbound')?.pid === step.before.context.pid) ||
      'nobody is told',
  },
  {
    clause: 'U1',
    says: 'one of which it was told how it is, and that ends, is reported as lost at once, before anything is explained',
    when: (step) => lives(step.before) && !step.before.is('Launching.Proving') && step.heard('process.exited'),
    holds: (step) =>
      (step.reported('child.lost')?.pid === step.before.context.pid &&
        step.reported('child.lost')?.name === 'delivery') ||
      'it still counts as what it was',
  },
  {
    clause: 'U1',
    says: 'lost is reported of an end only',
    when: (step) => step.reported('child.lost') !== undefined,
    holds: (step) => step.heard('process.exited') || 'it lives',
  },
  {
    clause: 'U1',
    says: 'unbound is reported only after the patience',
    when: (step) => step.reported('child.unbound') !== undefined,
    holds: (step) => step.elapsed === 'patience' || 'too early',
  },
  {
    clause: 'U1',
    says: 'the patience begins with each start, and not anew with a proof',
    when: ({ before, after }) =>
      (after.is('Launching.Proving') && !before.is('Launching.Proving')) ||
      (after.is('Restarting.Proving') && !before.is('Restarting.Proving')),
    holds: (step) => step.armed('patience') || 'it is waited for without end',
  },
  {
    clause: 'U6',
    says: 'it is looked for before anything is started, and one that runs is kept',
    when: (step) => !step.before.begun || step.heard('process.running'),
    holds: (step) =>
      !step.before.begun
        ? (step.started('lookForProcess') !== undefined && !spawns(step)) || 'it starts blindly'
        : (step.after.is('Launching.Proving') && step.after.context.pid === step.fact.pid && !spawns(step)) ||
          'a second one is started',
  },
  {
    clause: 'U6',
    says: 'what is missing is started',
    when: (step) => step.heard('process.absent'),
    holds: (step) => spawns(step) || 'it is not started',
  },
  {
    clause: 'U6',
    says: 'what this run started first is reported as its own, with its pid',
    when: (step) => step.heard('process.spawned') && step.before.is('Launching.Spawning'),
    holds: (step) =>
      (step.reported('child.spawned')?.pid === step.fact.pid && step.reported('child.spawned')?.name === 'delivery') ||
      'a launch that fails would leave it behind',
  },
  {
    clause: 'U2',
    says: 'the pid is that of the process that was started last',
    when: (step) => step.heard('process.spawned'),
    holds: ({ after, fact }) => (after.context.pid === fact.pid && lives(after)) || 'another one is watched',
  },
  {
    clause: 'U2',
    says: 'one that had been announced and died badly is restarted at once, and that is said with the cause',
    when: (step) => step.before.is('Running.Explaining') && step.heard('exit.explained') && !wasAskedFor(step),
    holds: (step) => {
      const line = told(step, 'tellRestarting') as { cause?: string } | undefined;
      return (spawns(step) && line?.cause === step.fact.cause) || 'it stays dead';
    },
  },
  {
    clause: 'U2',
    says: 'the restart is announced again only when the replacement is proved to serve',
    when: (step) =>
      told(step, 'tellAgain') !== undefined || (step.before.is('Restarting') && step.after.tagged('serving')),
    holds: (step) =>
      (told(step, 'tellAgain') !== undefined && step.heard('serving.proved') && step.before.is('Restarting.Proving')) ||
      'announced at the wrong time',
  },
  {
    clause: 'U2',
    says: 'an attempt that failed is told with its reason, and the next one is made when it makes sense',
    when: (step) =>
      (step.before.is('Restarting.Explaining') && step.heard('exit.explained') && !wasAskedFor(step)) ||
      (step.before.is('Restarting.Spawning') && step.heard('spawn.refused')),
    holds: (step) => {
      const line = told(step, 'tellRetry') as { reason?: string; waitMs?: number } | undefined;
      const wait = step.heard('exit.explained') ? step.fact.waitMs : step.before.context.waitMs;
      const timer = step.effects.find((effect) => effect.kind === 'arm');
      return (
        (line?.reason === step.fact.reason &&
          line?.waitMs === wait &&
          timer?.kind === 'arm' &&
          timer.ms === wait &&
          step.armed('nextAttempt')) ||
        'nobody is told, or it is never tried again'
      );
    },
  },
  {
    clause: 'U2',
    says: 'the pause ends with an attempt',
    when: (step) => step.elapsed === 'nextAttempt' && !step.ignored,
    holds: (step) => spawns(step) || 'nothing is started',
  },
  {
    clause: 'U2',
    says: 'a first start that ended before it served is reported with its reason, and is not repeated',
    when: (step) =>
      (step.before.is('Launching.Explaining') && step.heard('exit.explained') && !wasAskedFor(step)) ||
      (step.before.is('Launching.Spawning') && step.heard('spawn.refused')),
    holds: (step) =>
      (step.after.is('Failed') &&
        step.reported('child.failed')?.reason === step.fact.reason &&
        step.reported('child.failed')?.name === 'delivery' &&
        !asks(step)) ||
      'it is repeated, or the reason is lost',
  },
  {
    clause: 'U3',
    says: 'an end of any kind is explained before anything follows, with how it ended',
    when: (step) => lives(step.before) && step.heard('process.exited'),
    holds: (step) => {
      const asked = step.started('explainExit');
      return (
        (asked?.code === step.fact.code &&
          asked?.signal === step.fact.signal &&
          asked?.pid === step.before.context.pid &&
          !spawns(step)) ||
        'it is restarted without a look'
      );
    },
  },
  {
    clause: 'U3',
    says: 'what ended cleanly, by SIGTERM or SIGINT, or under a mark stays stopped, whatever it was doing',
    when: (step) => explains(step) && step.heard('exit.explained') && wasAskedFor(step),
    holds: (step) =>
      (step.after.is('Stopped') && step.reported('child.stopped')?.cause === step.fact.cause && !asks(step)) ||
      'it is started again',
  },
  {
    clause: 'U3',
    says: 'a mark that is met before or after a spawn ends it',
    when: (step) => step.from === 'spawnProcess' && step.heard('process.marked'),
    holds: (step) =>
      (step.after.is('Stopped') && step.reported('child.stopped') !== undefined && !asks(step)) || 'it goes on',
  },
  {
    clause: 'U3',
    says: 'a mark that is met while it starts stops it by the shared stop, and it is not announced',
    when: (step) => isProving(step) && step.heard('process.marked'),
    holds: (step) =>
      (step.started('stop')?.target === 'delivery' && step.reported('child.serving') === undefined) || 'it runs on',
  },
  {
    clause: 'U3',
    says: 'it is said to be stopped when that stop, or another one, has stopped it, and nothing is started',
    when: (step) => step.heard('stop.ended') && ['stopped', 'absent'].includes(String(step.fact.end)),
    holds: (step) =>
      (step.after.is('Stopped') && step.reported('child.stopped') !== undefined && !asks(step)) ||
      'it is started again',
  },
  {
    clause: 'U3',
    says: 'one that somebody else is stopping is waited for as long as a stop can take; then it is asked for again, once more',
    when: (step) => step.heard('stop.ended') && step.fact.end === 'held' && !step.before.is('Dismissing.AskingLast'),
    holds: (step) =>
      (step.after.is('Dismissing.Resting') &&
        step.started('awaitTurn')?.target === 'delivery' &&
        step.armed('turnPatience') &&
        step.reported('child.stopped') === undefined) ||
      'it counts as stopped, or is waited for without end',
  },
  {
    clause: 'U3',
    says: 'when that one is gone, or the time is up, the stop is asked for again',
    when: (step) =>
      (step.before.is('Dismissing.Resting') && step.heard('turn.free')) ||
      (step.elapsed === 'turnPatience' && !step.ignored),
    holds: (step) =>
      (step.started('stop')?.target === 'delivery' &&
        step.after.is('Dismissing.AskingLast') === !step.heard('turn.free')) ||
      'nobody stops it',
  },
  {
    clause: 'U3',
    says: 'what no stop has stopped is told as left, with the reason, and is watched on',
    when: (step) =>
      step.heard('stop.ended') &&
      (['survived', 'failed', 'needed'].includes(String(step.fact.end)) ||
        (step.fact.end === 'held' && step.before.is('Dismissing.AskingLast'))),
    holds: (step) =>
      (step.after.is('Running.Left') &&
        step.reported('child.left')?.pid === step.before.context.pid &&
        step.reported('child.left')?.name === 'delivery' &&
        step.reported('child.left')?.reason === step.fact.message &&
        step.reported('child.stopped') === undefined) ||
      'it counts as stopped',
  },
  {
    clause: 'U3',
    says: 'what ended asks for nothing more',
    when: ({ after }) => after.status === 'done',
    holds: (step) => !asks(step) || 'something was asked for',
  },
  {
    clause: 'U1',
    says: 'a surprise ends it as failed, with what failed',
    when: (step) => step.heard('effect.failed'),
    holds: (step) =>
      (step.after.is('Failed') &&
        step.reported('child.failed')?.name === 'delivery' &&
        String(step.reported('child.failed')?.reason).includes(String(step.fact.message))) ||
      'it goes on as if nothing were',
  },
];
