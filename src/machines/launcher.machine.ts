/**
 * launcher: one `cotal up`, from the lock on its root to the reason it ended.
 *
 *   U1  it says healthy only when every child was seen to serve, and says so of nothing else
 *   U4  whatever happens while it stops, the stop in flight is waited for
 *   U5  a signal and a broker that exits run the shared stop: delivery, manager, broker, one after the other
 *   U6  a broker and children that run already are adopted; what is missing is started
 *
 * What `up` keeps is data: `children`, in the order of their start. In open mode there are none. A detached `up` ends when
 * each of them has said how it is, and leaves them running; a foreground one stays with them. A launch that failed stops
 * what this very run had started, and nothing else.
 */
import { assign, enqueueActions, raise, setup } from 'xstate';
import type { RecordedProcess } from '../domain/process-record.ts';
import { type ChildName, type ChildReport, childMachine } from './child.machine.ts';
import {
  answerOf,
  asked,
  deafToLateFailures,
  type EffectFailed,
  ends,
  failuresOf,
  heard,
  surpriseOf,
} from './effects.ts';
import { type StopOutcome, stopMachine } from './stop.machine.ts';

/** `help`: what was left as it was, and what to do next. */
type Refusal = { type: 'up.refused'; code: string; message: string; help: string };
export type LockFact = { type: 'lock.taken' } | { type: 'lock.held'; pid: number };
export type StepFact = { type: 'step.done' } | Refusal;
export type BrokerFact = { type: 'broker.running'; pid: number } | { type: 'broker.absent' } | Refusal;
/** `running`: somebody else's start was quicker. */
export type StartFact = { type: 'broker.started' | 'broker.running'; pid: number } | Refusal;
/** `asked`: somebody stopped it on purpose. */
export type BrokerExit = { type: 'broker.exited'; cause: string; asked: boolean };

export type LauncherEvent =
  | LockFact
  | StepFact
  | BrokerFact
  | StartFact
  | BrokerExit
  | ChildReport
  | StopOutcome
  | { type: 'lock.released' }
  | EffectFailed
  | { type: 'stop.requested'; signal: string };

/** How each child is, as it last said. */
export type Standing = 'serving' | 'unbound' | 'stopped' | 'failed';

export type LauncherEnd =
  /** Detached, and everything serves. */
  | 'launched'
  /** Detached, and something runs without serving. */
  | 'unbound'
  /** Somebody asked `up`, or the broker, to stop. */
  | 'stopped'
  | 'broker-exited'
  | 'refused'
  | 'failed';

export interface LauncherInput {
  readonly isForeground: boolean;
  readonly isOpen: boolean;
  readonly children: readonly ChildName[];
  readonly retryMs: number;
}

export interface LauncherContext extends LauncherInput {
  readonly brokerPid: number;
  readonly standing: Readonly<Partial<Record<ChildName, Standing>>>;
  /** What this run has started. */
  readonly ours: readonly RecordedProcess[];
  /** What is still to be stopped, in this order. */
  readonly targets: readonly RecordedProcess[];
  readonly end: LauncherEnd;
  readonly message: string;
  readonly help: string;
}

export interface LauncherOutput {
  readonly end: LauncherEnd;
  readonly message: string;
  readonly help: string;
}

/** A dependant is stopped before what it depends on. */
const STOP_ORDER = ['delivery', 'manager', 'broker'] as const;

const launcher = setup({
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
    tellChildStopped: (_, _facts: { name: string; cause: string }) => {},
    tellBrokerExited: (_, _facts: { cause: string }) => {},
    tellStopping: (_, _facts: { signal: string }) => {},
    tellStop: (_, _facts: StopOutcome) => {},
  },
  guards: {
    isOpen: ({ context }) => context.isOpen,
    isForeground: ({ context }) => context.isForeground,
    hasAllTold: ({ context }) => context.children.every((each) => context.standing[each] !== undefined),
    isAllServing: ({ context }) => context.children.every((each) => context.standing[each] === 'serving'),
    isAllStopped: ({ context }) => context.targets.length === 0,
    isUnderWay: (_, { end }: StopOutcome) => end === 'held',
    isLeft: (_, { end }: StopOutcome) => end === 'survived' || end === 'failed',
    isWanted: (_, { asked }: { asked: boolean }) => asked,
  },
  delays: { askAgain: 200 },
});

const fact = <E>({ event }: { event: E }): E => event;
const step = <const S extends string>(id: S, target: string) =>
  ({ invoke: { id, src: id, ...ends }, on: { 'step.done': target } }) as const;
const ended = (end: LauncherEnd, message: string) => ({ type: 'keepEnd', params: { end, message } }) as const;
const endedBy = (end: LauncherEnd) =>
  ({
    type: 'keepEnd',
    params: ({ event }: { event: { message: string } }) => ({ end, message: event.message }),
  }) as const;
const stands = (standing: Standing) =>
  ({
    type: 'keepStanding',
    params: ({ event }: { event: { name: ChildName } }) => ({ name: event.name, standing }),
  }) as const;
const brokerIsOurs = { type: 'keepOurs', params: { what: 'broker' } } as const;
const signalled = { type: 'tellStopping', params: fact } as const;
const stopped = { type: 'tellStop', params: fact } as const;

export const launcherMachine = launcher.createMachine({
  id: 'launcher',
  context: ({ input }) => ({
    ...input,
    brokerPid: 0,
    standing: {},
    ours: [],
    targets: [],
    end: 'launched',
    message: '',
    help: '',
  }),
  initial: 'Preparing',
  on: { ...deafToLateFailures },
  states: {
    Preparing: {
      initial: 'Locking',
      states: {
        Locking: {
          invoke: { id: 'lockRoot', src: 'lockRoot', ...ends },
          on: {
            'lock.taken': 'Planning',
            'lock.held': {
              target: '#launcher.Ended',
              actions: {
                type: 'keepEnd',
                params: ({ event: { pid } }) => ({
                  end: 'refused',
                  message: `another "cotal up" (process ${pid}) is at work on this root`,
                  help: 'Nothing was changed. Use that one, or stop it first with "cotal down".',
                }),
              },
            },
          },
        },
        Planning: step('plan', 'FindingBroker'),
        FindingBroker: {
          invoke: { id: 'findBroker', src: 'findBroker', ...ends },
          on: {
            'broker.running': { target: 'Provisioning', actions: { type: 'keepBroker', params: fact } },
            'broker.absent': { target: 'StartingBroker', actions: brokerIsOurs },
          },
        },
        StartingBroker: {
          invoke: { id: 'startBroker', src: 'startBroker', ...ends },
          on: {
            'broker.started': { target: 'Provisioning', actions: { type: 'keepBroker', params: fact } },
            /** Somebody else's start was quicker: it is adopted. */
            'broker.running': {
              target: 'Provisioning',
              actions: [
                { type: 'keepBroker', params: fact },
                { type: 'forgetOurs', params: { what: 'broker' } },
              ],
            },
          },
        },
        Provisioning: step('provision', 'Crediting'),
        Crediting: step('prepareCredentials', 'Recording'),
        Recording: step('recordMesh', '#launcher.Running'),
      },
      on: {
        'up.refused': {
          target: 'Stopping',
          actions: [
            { type: 'keepEnd', params: ({ event: { message, help } }) => ({ end: 'refused', message, help }) },
            'stopOurs',
          ],
        },
        'effect.failed': { target: 'Stopping', actions: [endedBy('failed'), 'stopOurs'] },
        'stop.requested': {
          target: 'Stopping',
          actions: [signalled, ended('stopped', 'asked to stop'), 'stopOurs'],
        },
      },
    },

    Running: {
      entry: 'startChildren',
      exit: 'leaveChildren',
      invoke: {
        id: 'watchBroker',
        src: 'watchBroker',
        input: ({ context }) => ({ pid: context.brokerPid }),
        onError: { actions: 'faulted' },
      },
      initial: 'Launching',
      states: {
        Launching: { always: { guard: 'hasAllTold', target: 'Settled' } },
        Settled: {
          entry: { type: 'tellUp', params: ({ context }) => ({ standing: context.standing }) },
          always: [
            { guard: 'isForeground', target: 'Up' },
            {
              guard: 'isAllServing',
              target: '#launcher.Unlocking',
              actions: ended('launched', 'everything serves'),
            },
            { target: '#launcher.Unlocking', actions: ended('unbound', 'something runs without serving') },
          ],
        },
        Up: {
          initial: 'Judging',
          states: {
            Judging: { always: [{ guard: 'isAllServing', target: 'Healthy' }, { target: 'Impaired' }] },
            Healthy: { tags: 'healthy' },
            Impaired: {},
          },
          on: {
            'child.serving': { target: '.Judging', actions: stands('serving') },
            'child.unbound': {
              target: '.Judging',
              actions: [stands('unbound'), { type: 'tellUnbound', params: fact }],
            },
            'child.stopped': {
              target: '.Judging',
              actions: [stands('stopped'), { type: 'tellChildStopped', params: fact }],
            },
          },
        },
      },
      on: {
        ...failuresOf('child'),
        'child.spawned': {
          actions: { type: 'keepOurs', params: ({ event }) => ({ what: event.name }) },
        },
        'child.serving': { actions: stands('serving') },
        'child.unbound': { actions: [stands('unbound'), { type: 'tellUnbound', params: fact }] },
        'child.stopped': { actions: [stands('stopped'), { type: 'tellChildStopped', params: fact }] },
        'child.failed': {
          target: 'Stopping',
          actions: [
            { type: 'forgetOurs', params: ({ event }) => ({ what: event.name }) },
            {
              type: 'keepEnd',
              params: ({ event: { name, reason } }) => ({
                end: 'failed',
                message: `${name} does not serve: ${reason}`,
              }),
            },
            'stopOurs',
          ],
        },
        'effect.failed': { target: 'Stopping', actions: [endedBy('failed'), 'stopOurs'] },
        'broker.exited': [
          {
            guard: { type: 'isWanted', params: fact },
            target: 'Stopping',
            actions: [
              { type: 'tellBrokerExited', params: fact },
              ended('stopped', 'the broker was stopped'),
              'stopAll',
            ],
          },
          {
            target: 'Stopping',
            actions: [
              { type: 'tellBrokerExited', params: fact },
              {
                type: 'keepEnd',
                params: ({ event }) => ({ end: 'broker-exited', message: `nats-server exited (${event.cause})` }),
              },
              'stopAll',
            ],
          },
        ],
        'stop.requested': [
          {
            guard: 'isForeground',
            target: 'Stopping',
            actions: [signalled, ended('stopped', 'asked to stop'), 'stopAll'],
          },
          { target: 'Stopping', actions: [signalled, ended('stopped', 'asked to stop'), 'stopOurs'] },
        ],
      },
    },

    /** What happens meanwhile changes nothing: a second signal, and a broker that ends by itself. */
    Stopping: {
      initial: 'Next',
      states: {
        Next: { always: [{ guard: 'isAllStopped', target: '#launcher.Unlocking' }, { target: 'Asking' }] },
        Asking: {
          invoke: {
            id: 'stop',
            src: 'stop',
            input: ({ context }) => ({ target: context.targets[0] ?? 'broker' }),
            ...ends,
          },
          on: {
            'stop.ended': [
              { guard: { type: 'isUnderWay', params: fact }, target: 'Resting' },
              {
                guard: { type: 'isLeft', params: fact },
                target: 'Next',
                actions: [stopped, { type: 'keepFailedStop', params: fact }, 'dropTarget'],
              },
              { target: 'Next', actions: [stopped, 'dropTarget'] },
            ],
            'effect.failed': { target: 'Next', actions: [endedBy('failed'), 'dropTarget'] },
          },
        },
        /** Somebody else's stop of it ends within its own bounds; then it is our turn. */
        Resting: { after: { askAgain: 'Asking' } },
      },
    },

    Unlocking: {
      invoke: { id: 'unlockRoot', src: 'unlockRoot', ...ends },
      on: { 'lock.released': 'Ended', 'effect.failed': 'Ended' },
    },

    Ended: { type: 'final' },
  },
  output: ({ context: { end, message, help } }) => ({ end, message, help }),
});
