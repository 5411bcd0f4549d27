/**
 * child: one process that `up` keeps, from looking whether it runs already to the day it stays stopped.
 *
 *   U1  `serving` only after the broker itself showed that this very process serves; what was said of it is taken back in the
 *       moment in which it ends
 *   U2  one that died badly is restarted, and announced again only when it serves again; an attempt that failed is followed by
 *       the next when the lease allows it
 *   U3  one that ended cleanly, by a signal, or because somebody marked it as stopped stays stopped: whatever it was doing,
 *       also when it is a replacement that is still starting, and between two attempts; it is said to be stopped only when
 *       it is, and what a stop has left is watched on and told
 *
 * The mark is read by `spawnProcess` before and after it spawns, by `proveServing` as long as it asks, and after every end.
 * Stopping the actor (the whole `up` stops) leaves the process to the shared stop.
 */
import { assign, raise, sendParent, setup } from 'xstate';
import { isAskedFor } from '../domain/restart.ts';
import type {
  ChildContext,
  ChildEvent,
  ChildInput,
  ChildReport,
  ExitFact,
  ExplainFact,
  LookFact,
  Named,
  ProofFact,
  SpawnFact,
} from './child.facts.ts';
import { answerOf, asked, deafToLateFailures, ends, fact, heard, surpriseOf } from './effects.ts';
import { type StopInput, type StopOutcome, stopMachine, type TurnFact } from './stop.machine.ts';

const child = setup({
  types: { context: {} as ChildContext, events: {} as ChildEvent, input: {} as ChildInput },
  actors: {
    lookForProcess: asked<LookFact, Named>('lookForProcess'),
    spawnProcess: asked<SpawnFact, Named>('spawnProcess'),
    watchProcess: heard<ExitFact, Named & { pid: number }>('watchProcess'),
    proveServing: heard<ProofFact, Named & { pid: number }>('proveServing'),
    explainExit: asked<ExplainFact, Named & { pid: number; code: number | null; signal: string | null }>('explainExit'),
    stop: stopMachine,
    awaitTurn: heard<TurnFact, StopInput>('awaitTurn'),
  },
  actions: {
    told: raise(answerOf<ChildEvent>()),
    faulted: raise(surpriseOf),
    keepPid: assign((_, { pid }: { pid: number }) => ({ pid })),
    keepExit: assign((_, { code, signal }: { code: number | null; signal: string | null }) => ({ code, signal })),
    keepWait: assign((_, { waitMs }: { waitMs: number }) => ({ waitMs })),
    report: sendParent((_, report: ChildReport) => report),
    tellRestarting: (_, _facts: { cause: string }) => {},
    tellAgain: (_, _facts: { name: string; pid: number }) => {},
    tellRetry: (_, _facts: { reason: string; waitMs: number }) => {},
  },
  guards: {
    isWanted: ({ context: { code, signal } }, { asked }: { asked: boolean }) => isAskedFor({ code, signal, asked }),
    isUnderWay: (_, { end }: StopOutcome) => end === 'held',
    isOver: (_, { end }: StopOutcome) => end === 'stopped' || end === 'absent',
  },
  delays: { patience: 20_000, turnPatience: 18_000, nextAttempt: ({ context }) => context.waitMs },
});

type At = { context: ChildContext };
type With<E> = At & { event: E };

const name = ({ context }: At): Named => ({ name: context.name });
const who = ({ context }: At) => ({ name: context.name, pid: context.pid });
const exit = ({ context: { name, pid, code, signal } }: At) => ({ name, pid, code, signal });

const watch = { id: 'watchProcess', src: 'watchProcess', input: who, onError: { actions: 'faulted' } } as const;
const prove = { id: 'proveServing', src: 'proveServing', input: who, onError: { actions: 'faulted' } } as const;
const spawn = { id: 'spawnProcess', src: 'spawnProcess', input: name, ...ends } as const;
const explain = { id: 'explainExit', src: 'explainExit', input: exit, ...ends } as const;

const isServing = {
  type: 'report',
  params: (of: At): ChildReport => ({ type: 'child.serving', ...who(of) }),
} as const;
const isUnbound = {
  type: 'report',
  params: (of: At): ChildReport => ({ type: 'child.unbound', ...who(of) }),
} as const;
const keptPid = (target: string) => ({ target, actions: { type: 'keepPid', params: fact } }) as const;
const keptExit = { target: 'Explaining', actions: { type: 'keepExit', params: fact } } as const;
/** How it is has been told. Whoever relies on that must not learn of its end only when the end has been explained. */
const lost = {
  target: 'Explaining',
  actions: [
    { type: 'keepExit', params: fact },
    { type: 'report', params: (of: At): ChildReport => ({ type: 'child.lost', ...who(of) }) },
  ],
} as const;

const isStopped = (target: string) =>
  ({
    target,
    actions: {
      type: 'report',
      params: (of: At): ChildReport => ({ type: 'child.stopped', ...name(of), cause: 'asked to stop' }),
    },
  }) as const;
/** It was asked for: that is told, and nothing follows. */
const wanted = {
  guard: { type: 'isWanted', params: fact },
  target: '#child.Stopped',
  actions: {
    type: 'report',
    params: (of: With<ExplainFact>): ChildReport => ({ type: 'child.stopped', ...name(of), cause: of.event.cause }),
  },
} as const;
const dismiss = {
  id: 'stop',
  src: 'stop',
  input: ({ context }: At): StopInput => ({ target: context.name }),
  ...ends,
} as const;
const dismissed = [
  { guard: { type: 'isOver', params: fact }, ...isStopped('#child.Stopped') },
  {
    target: '#child.Running.Left',
    actions: {
      type: 'report',
      params: (of: With<StopOutcome>): ChildReport => ({ type: 'child.left', ...who(of), reason: of.event.message }),
    },
  },
] as const;
const failed = {
  target: '#child.Failed',
  actions: {
    type: 'report',
    params: (of: With<{ reason: string }>): ChildReport => ({
      type: 'child.failed',
      ...name(of),
      reason: of.event.reason,
    }),
  },
} as const;

export const childMachine = child.createMachine({
  id: 'child',
  context: ({ input: { name, retryMs } }) => ({ name, pid: 0, code: null, signal: null, waitMs: retryMs }),
  initial: 'Launching',
  on: {
    ...deafToLateFailures,
    'effect.failed': {
      target: '.Failed',
      actions: {
        type: 'report',
        params: ({ context, event }) => ({
          type: 'child.failed',
          name: context.name,
          reason: `${event.effect} failed: ${event.message}`,
        }),
      },
    },
  },
  states: {
    Launching: {
      initial: 'Looking',
      states: {
        Looking: {
          invoke: { id: 'lookForProcess', src: 'lookForProcess', input: name, ...ends },
          on: { 'process.running': keptPid('Proving'), 'process.absent': 'Spawning' },
        },
        Spawning: {
          invoke: spawn,
          on: {
            'process.spawned': {
              target: 'Proving',
              actions: [
                { type: 'keepPid', params: fact },
                {
                  type: 'report',
                  params: ({ context, event }) => ({ type: 'child.spawned', name: context.name, pid: event.pid }),
                },
              ],
            },
            'process.marked': isStopped('#child.Stopped'),
            'spawn.refused': failed,
          },
        },
        Proving: {
          invoke: [watch, prove],
          after: { patience: { target: '#child.Running.Unbound', actions: isUnbound } },
          on: {
            'serving.proved': { target: '#child.Running.Serving', actions: isServing },
            'process.marked': '#child.Dismissing',
            'process.exited': keptExit,
          },
        },
        Explaining: { invoke: explain, on: { 'exit.explained': [wanted, failed] } },
      },
    },

    Running: {
      initial: 'Serving',
      states: {
        Serving: { tags: 'serving', invoke: watch, on: { 'process.exited': lost } },
        Unbound: {
          invoke: [watch, prove],
          on: {
            'serving.proved': { target: 'Serving', actions: isServing },
            'process.marked': '#child.Dismissing',
            'process.exited': lost,
          },
        },
        /** A stop has left it: nothing more is done to it, and its end is waited for. */
        Left: { invoke: watch, on: { 'process.exited': lost } },
        Explaining: {
          invoke: explain,
          on: {
            'exit.explained': [
              wanted,
              { target: '#child.Restarting', actions: { type: 'tellRestarting', params: fact } },
            ],
          },
        },
      },
    },

    Restarting: {
      initial: 'Spawning',
      states: {
        Spawning: {
          invoke: spawn,
          on: {
            'process.spawned': keptPid('Proving'),
            'process.marked': isStopped('#child.Stopped'),
            'spawn.refused': {
              target: 'Resting',
              actions: {
                type: 'tellRetry',
                params: ({ context, event }) => ({ reason: event.reason, waitMs: context.waitMs }),
              },
            },
          },
        },
        Proving: {
          invoke: [watch, prove],
          initial: 'Due',
          states: {
            Due: { after: { patience: { target: 'Overdue', actions: isUnbound } } },
            /** It was warned of; it is announced all the same once it is bound. */
            Overdue: {},
          },
          on: {
            'serving.proved': {
              target: '#child.Running.Serving',
              actions: [{ type: 'tellAgain', params: who }, isServing],
            },
            'process.marked': '#child.Dismissing',
            'process.exited': lost,
          },
        },
        Explaining: {
          invoke: explain,
          on: {
            'exit.explained': [
              wanted,
              {
                target: 'Resting',
                actions: [
                  { type: 'keepWait', params: fact },
                  { type: 'tellRetry', params: fact },
                ],
              },
            ],
          },
        },
        Resting: { after: { nextAttempt: 'Spawning' } },
      },
    },

    /** It was marked while it started: it is stopped as anything is. */
    Dismissing: {
      initial: 'Asking',
      states: {
        Asking: {
          invoke: dismiss,
          on: { 'stop.ended': [{ guard: { type: 'isUnderWay', params: fact }, target: 'Resting' }, ...dismissed] },
        },
        /** Somebody is at it. That one may be gone before its first signal: it is asked again, and a last time. */
        Resting: {
          invoke: {
            id: 'awaitTurn',
            src: 'awaitTurn',
            input: ({ context }) => ({ target: context.name }),
            onError: { actions: 'faulted' },
          },
          after: { turnPatience: 'AskingLast' },
          on: { 'turn.free': 'Asking' },
        },
        AskingLast: { invoke: dismiss, on: { 'stop.ended': dismissed } },
      },
    },

    Stopped: { type: 'final' },
    Failed: { type: 'final' },
  },
});
