/** What the launcher's chart is made of: its effects, children, actions, guards and delays by name. */
import { assign, enqueueActions, raise, setup } from 'xstate';
import type { RecordedProcess } from '../domain/process-record.ts';
import type { ChildName } from './child.facts.ts';
import { childMachine } from './child.machine.ts';
import { answerOf, asked, heard, surpriseOf } from './effects.ts';
import type {
  BrokerExit,
  BrokerFact,
  LauncherContext,
  LauncherEnd,
  LauncherEvent,
  LauncherInput,
  LauncherOutput,
  LockFact,
  Standing,
  StartFact,
  StepFact,
} from './launcher.facts.ts';
import { type StopInput, type StopOutcome, stopMachine, type TurnFact } from './stop.machine.ts';

/** A dependant is stopped before what it depends on. */
const STOP_ORDER = ['delivery', 'manager', 'broker'] as const;

export const launcher = setup({
  types: {
    context: {} as LauncherContext,
    events: {} as LauncherEvent,
    input: {} as LauncherInput,
    output: {} as LauncherOutput,
  },
  actors: {
    lockRoot: asked<LockFact, undefined>('lockRoot'),
    plan: asked<StepFact, undefined>('plan'),
    findBroker: asked<BrokerFact, undefined>('findBroker'),
    startBroker: asked<StartFact, undefined>('startBroker'),
    provision: asked<StepFact, undefined>('provision'),
    prepareCredentials: asked<StepFact, undefined>('prepareCredentials'),
    recordMesh: asked<StepFact, undefined>('recordMesh'),
    watchBroker: heard<BrokerExit, { pid: number }>('watchBroker'),
    child: childMachine,
    stop: stopMachine,
    awaitTurn: heard<TurnFact, StopInput>('awaitTurn'),
    unlockRoot: asked<{ type: 'lock.released' }, undefined>('unlockRoot'),
  },
  actions: {
    told: raise(answerOf<LauncherEvent>()),
    faulted: raise(surpriseOf),
    keepBroker: assign((_, { pid }: { pid: number }) => ({ brokerPid: pid })),
    keepOurs: assign(({ context }, { what }: { what: RecordedProcess }) => ({
      ours: [...context.ours.filter((each) => each !== what), what],
    })),
    forgetOurs: assign(({ context }, { what }: { what: RecordedProcess }) => ({
      ours: context.ours.filter((each) => each !== what),
    })),
    keepStanding: assign(({ context }, { name, standing }: { name: ChildName; standing: Standing }) => ({
      standing: { ...context.standing, [name]: standing },
    })),
    keepEnd: assign((_, { end, message, help = '' }: { end: LauncherEnd; message: string; help?: string }) => ({
      end,
      message,
      help,
    })),
    stopOurs: assign(({ context }) => ({ targets: STOP_ORDER.filter((each) => context.ours.includes(each)) })),
    stopAll: assign(({ context }) => ({
      targets: STOP_ORDER.filter((each) => each === 'broker' || context.children.some((child) => child === each)),
    })),
    dropTarget: assign(({ context }) => ({ targets: context.targets.slice(1) })),
    keepFailedStop: assign((_, { target, message }: StopOutcome) => ({
      end: 'failed' as const,
      message: `${target} could not be stopped: ${message}`,
    })),
    startChildren: enqueueActions(({ context, enqueue }) => {
      for (const name of context.children) {
        enqueue.spawnChild('child', { id: `child.${name}`, input: { name, retryMs: context.retryMs } });
      }
    }),
    leaveChildren: enqueueActions(({ context, enqueue }) => {
      for (const name of context.children) enqueue.stopChild(`child.${name}`);
    }),
    /** Bound by the services: what `up` says of itself once every child has told how it is. */
    tellUp: (_, _facts: { standing: LauncherContext['standing'] }) => {},
    tellUnbound: (_, _facts: { name: ChildName; pid: number }) => {},
    tellLeft: (_, _facts: { name: ChildName; pid: number; reason: string }) => {},
    tellChildStopped: (_, _facts: { name: string; cause: string }) => {},
    tellBrokerExited: (_, _facts: { cause: string }) => {},
    tellStopping: (_, _facts: { signal: string }) => {},
    tellStop: (_, _facts: StopOutcome) => {},
  },
  guards: {
    isOpen: ({ context }) => context.isOpen,
    isForeground: ({ context }) => context.isForeground,
    hasAllTold: ({ context }) => context.children.every((each) => isKnown(context.standing[each])),
    hasEachTold: ({ context }) => context.children.every((each) => context.standing[each] !== undefined),
    isAllServing: ({ context }) => context.children.every((each) => context.standing[each] === 'serving'),
    isAllStopped: ({ context }) => context.targets.length === 0,
    isUnderWay: (_, { end }: StopOutcome) => end === 'held',
    isLeft: (_, { end }: StopOutcome) => end === 'survived' || end === 'failed' || end === 'held',
    isWanted: (_, { asked }: { asked: boolean }) => asked,
  },
  delays: { turnPatience: 18_000, relaunchPatience: 90_000 },
});

const isKnown = (standing: Standing | undefined): boolean => standing !== undefined && standing !== 'lost';
