import type { ContextFrom } from 'xstate';
import type { stopMachine } from '../../../src/machines/stop.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type StopStep = Step<ContextFrom<typeof stopMachine>>;

const signals = ['terminate', 'kill'] as const;
const signalled = (step: StopStep) => signals.find((id) => step.started(id) !== undefined);
const acts = (step: StopStep) =>
  [...signals, 'mark', 'findProcess', 'removeTraces'].some((id) => step.started(id) !== undefined);

export const promises: readonly PathPromise<ContextFrom<typeof stopMachine>>[] = [
  {
    clause: 'S1',
    says: 'it begins with the reservation',
    when: ({ before }) => !before.begun,
    holds: (step) => (step.started('reserve') !== undefined && !acts(step)) || 'it begins with something else',
  },
  {
    clause: 'S1',
    says: 'without the reservation nothing is done, and the first one is named',
    when: (step) => step.heard('reservation.held'),
    holds: (step) =>
      (step.after.is('Ended') &&
        !acts(step) &&
        step.after.context.end === 'held' &&
        step.after.context.pid === step.fact.pid &&
        step.after.context.message.includes(String(step.fact.pid))) ||
      'a second stop goes on',
  },
  {
    clause: 'S1',
    says: 'a reservation that was not given, for whatever reason, is never given back',
    when: ({ before, after }) => before.is('Reserving') && after.is('Ended'),
    holds: (step) => step.started('release') === undefined || "somebody else's reservation would go",
  },
  {
    clause: 'S1',
    says: 'what was reserved is given back at the end, however it ends',
    when: ({ before, after }) => before.is('Reserved') && !after.is('Reserved'),
    holds: (step) => step.started('release') !== undefined || 'the reservation stays',
  },
  {
    clause: 'S1',
    says: 'the end comes after the reservation was given back, or could not be',
    when: ({ before, after }) => before.is('Leaving') && !after.is('Leaving'),
    holds: (step) =>
      (step.after.is('Ended') && step.from === 'release' && step.heard('reservation.released', 'effect.failed')) ||
      `it ends by ${step.fact.type}`,
  },
  {
    clause: 'S1',
    says: 'a reservation that could not be asked for ends it as failed',
    when: (step) => step.before.is('Reserving') && step.heard('effect.failed'),
    holds: ({ after, fact }) =>
      (after.is('Ended') && after.context.end === 'failed' && after.context.message === fact.message) ||
      'it is not told',
  },
  {
    clause: 'down',
    says: 'what something that runs needs is left alone, and that is named',
    when: (step) => step.heard('dependants.running'),
    holds: (step) =>
      (!acts(step) && step.after.context.end === 'needed' && step.after.context.message === step.fact.names) ||
      'it goes on',
  },
  {
    clause: 'S6',
    says: 'the mark is left before anything is looked for',
    when: (step) => step.started('findProcess') !== undefined && step.before.is('Reserved.Marking'),
    holds: (step) => step.heard('target.marked') || 'whoever starts it again would not see it',
  },
  {
    clause: 'S6',
    says: 'nothing is looked for before the mark',
    when: (step) => step.before.is('Reserved.Checking') && step.heard('dependants.none'),
    holds: (step) => (step.started('mark') !== undefined && !step.after.is('Reserved.Looking')) || 'it is not marked',
  },
  {
    clause: 'S6',
    says: 'after every death it is looked for again',
    when: (step) =>
      step.heard('process.gone') &&
      (step.from !== undefined || step.before.is('Reserved.Waiting') || step.before.is('Reserved.Confirming')),
    holds: (step) => step.started('findProcess') !== undefined || 'another one may run',
  },
  {
    clause: 'S6',
    says: 'it is over only when none is found',
    when: (step) => step.started('removeTraces') !== undefined,
    holds: (step) => step.heard('process.none') || `it is over by ${step.fact.type}`,
  },
  {
    clause: 'S6',
    says: 'what is found is asked to stop first',
    when: (step) => step.heard('process.found'),
    holds: (step) =>
      (step.started('terminate')?.pid === step.fact.pid && step.started('kill') === undefined) || 'it is not asked',
  },
  {
    clause: 'S2',
    says: 'a signal goes to the process that was found last, by its pid and its start',
    when: (step) => signalled(step) !== undefined,
    holds: (step) => {
      const { pid, start } = step.after.context;
      const given = step.started(signalled(step) ?? 'kill');
      if (step.heard('process.found') && (pid !== step.fact.pid || start !== step.fact.start)) return 'to another one';
      return (given?.pid === pid && given.start === start && pid !== 0) || 'to another one';
    },
  },
  {
    clause: 'S2',
    says: 'SIGKILL follows SIGTERM only after the grace, and that is said',
    when: (step) => step.started('kill') !== undefined,
    holds: (step) =>
      (step.elapsed === 'stopGrace' &&
        step.before.is('Reserved.Waiting') &&
        step.effects.some((effect) => effect.kind === 'act' && effect.action === 'tellKilling')) ||
      'it comes too early, or in silence',
  },
  {
    clause: 'S2',
    says: 'after each signal its death is watched for, for a bounded time',
    when: (step) => step.heard('signal.sent') && !step.ignored,
    holds: (step) =>
      (step.started('awaitDeath')?.pid === step.after.context.pid &&
        step.armed(step.before.is('Reserved.Terminating') ? 'stopGrace' : 'stopConfirm')) ||
      'nobody watches',
  },
  {
    clause: 'S2',
    says: 'a signal that may not be sent ends it as failed, with the reason',
    when: (step) => step.heard('signal.denied') && !step.ignored,
    holds: ({ after, fact }) =>
      (after.is('Leaving') && after.context.end === 'failed' && after.context.message === fact.message) ||
      'it is not told',
  },
  {
    clause: 'S3',
    says: 'the credential goes only where a death is confirmed: what was found is gone, or what was recorded is dead',
    when: (step) => step.started('removeTraces') !== undefined,
    holds: (step) => {
      const wasFound = step.before.context.pid !== 0;
      const { record } = step.fact as unknown as { record: string };
      const right = record === 'dead' || (record === 'absent' && wasFound);
      return step.started('removeTraces')?.confirmed === right || 'the credential of a living daemon may go';
    },
  },
  {
    clause: 'S3',
    says: 'what survives SIGKILL is told, and nothing of it is removed',
    when: (step) => step.elapsed === 'stopConfirm' && !step.ignored,
    holds: (step) =>
      (step.after.is('Leaving') &&
        step.after.context.end === 'survived' &&
        step.started('removeTraces') === undefined &&
        step.after.context.pid !== 0) ||
      'it counts as stopped',
  },
  {
    clause: 'S4',
    says: 'where no process is found none is signalled, and the record is cleared',
    when: (step) => step.heard('process.none'),
    holds: (step) =>
      (signalled(step) === undefined &&
        step.after.is('Reserved.Cleaning') &&
        step.after.context.end === (step.before.context.pid === 0 ? 'absent' : 'stopped')) ||
      'it is not cleared',
  },
  {
    clause: 'S6',
    says: 'a surprise on the way ends it as failed, with what failed',
    when: (step) => step.before.is('Reserved') && step.heard('effect.failed'),
    holds: ({ after, fact }) =>
      (after.is('Leaving') && after.context.end === 'failed' && after.context.message === fact.message) ||
      'it goes on as if nothing were',
  },
];
