/**
 * stop: the one stop that everyone shares: `cotal down`, Ctrl-C on a foreground `up`, a broker that exits under it.
 *
 *   S1  one reservation: a second stop of the same target is refused with the first one's pid
 *   S2  a signal goes only to the process that was found; that is asked again before each of the two
 *   S3  the credential goes only after every process that was found is confirmed dead
 *   S4  a record that names another program is cleared without a signal
 *   S6  it works in any state of the target: it is looked for again until there is none, and whatever would start it again
 *       meets the mark that is left before the first signal
 *
 * S5, that a record is trusted where the system does not tell, is `domain/process-record.ts`.
 */
import { assign, raise, setup } from 'xstate';
import type { RecordedIdentity, RecordedProcess } from '../domain/process-record.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, heard, surpriseOf } from './effects.ts';

export type ReserveFact = { type: 'reservation.taken' } | { type: 'reservation.held'; pid: number };
export type DependantsFact = { type: 'dependants.none' } | { type: 'dependants.running'; names: string };
export type FindFact =
  | ({ type: 'process.found' } & RecordedIdentity)
  /** What is recorded of it: nothing, a process that is proved to be dead, or something that cannot be read. */
  | { type: 'process.none'; record: 'absent' | 'dead' | 'unreadable' };
export type SignalFact =
  | { type: 'signal.sent' }
  | { type: 'process.gone' }
  | { type: 'signal.denied'; message: string };

export type StopEvent =
  | ReserveFact
  | DependantsFact
  | { type: 'target.marked' }
  | FindFact
  | SignalFact
  | { type: 'traces.removed' }
  | { type: 'reservation.released' }
  | EffectFailed;

/**
 * How a stop ended. `stopped`: a process was there and is confirmed dead. `absent`: there was none. `held`: another stop is
 * under way. `needed`: something that runs needs the target. `survived`: it is still there, and so is its credential.
 */
export type StopEnd = 'stopped' | 'absent' | 'held' | 'needed' | 'survived' | 'failed';

/** The target is nobody's any more: whoever waits for that may ask. */
export type TurnFact = { type: 'turn.free' };

/** What whoever asked for the stop gets. `pid`: of the process that was stopped or survived, or that holds the stop. */
export interface StopOutcome {
  readonly type: 'stop.ended';
  readonly target: RecordedProcess;
  readonly end: StopEnd;
  readonly pid: number;
  readonly message: string;
}

export interface StopInput {
  readonly target: RecordedProcess;
}

export interface StopContext extends StopInput, RecordedIdentity {
  readonly end: StopEnd;
  readonly message: string;
}

const stop = setup({
  types: {
    context: {} as StopContext,
    events: {} as StopEvent,
    input: {} as StopInput,
    output: {} as StopOutcome,
  },
  actors: {
    reserve: asked<ReserveFact, StopInput>('reserve'),
    checkDependants: asked<DependantsFact, StopInput>('checkDependants'),
    mark: asked<{ type: 'target.marked' }, StopInput>('mark'),
    findProcess: asked<FindFact, StopInput>('findProcess'),
    terminate: asked<SignalFact, RecordedIdentity>('terminate'),
    kill: asked<SignalFact, RecordedIdentity>('kill'),
    awaitDeath: heard<{ type: 'process.gone' }, RecordedIdentity>('awaitDeath'),
    /** The record, and with it, where the death is confirmed, the credential. */
    removeTraces: asked<{ type: 'traces.removed' }, StopInput & { confirmed: boolean }>('removeTraces'),
    release: asked<{ type: 'reservation.released' }, StopInput>('release'),
  },
  actions: {
    told: raise(answerOf<StopEvent>()),
    faulted: raise(surpriseOf),
    keepProcess: assign((_, { pid, start }: RecordedIdentity) => ({ pid, start })),
    keepEnd: assign((_, { end, message, pid }: { end: StopEnd; message: string; pid?: number }) => ({
      end,
      message,
      ...(pid === undefined ? {} : { pid }),
    })),
    tellKilling: (_, _facts: { target: string; pid: number }) => {},
  },
  guards: { isFirst: ({ context }) => context.pid === 0 },
  delays: { stopGrace: 15_000, stopConfirm: 3_000 },
});

const target = ({ context }: { context: StopContext }): StopInput => ({ target: context.target });
const found = ({ context }: { context: StopContext }): RecordedIdentity => ({ pid: context.pid, start: context.start });
const failed = {
  target: '#stop.Leaving',
  actions: {
    type: 'keepEnd',
    params: ({ event }: { event: { message: string } }) => ({ end: 'failed' as const, message: event.message }),
  },
} as const;

export const stopMachine = stop.createMachine({
  id: 'stop',
  context: ({ input }) => ({ ...input, pid: 0, start: '-', end: 'failed', message: '' }),
  initial: 'Reserving',
  on: { ...deafToLateFailures },
  states: {
    Reserving: {
      invoke: { id: 'reserve', src: 'reserve', input: target, ...ends },
      on: {
        'reservation.taken': 'Reserved',
        'reservation.held': {
          target: 'Ended',
          actions: {
            type: 'keepEnd',
            params: ({ event: { pid } }) => ({ end: 'held', message: `process ${pid} is stopping it`, pid }),
          },
        },
        'effect.failed': {
          target: 'Ended',
          actions: { type: 'keepEnd', params: ({ event }) => ({ end: 'failed', message: event.message }) },
        },
      },
    },

    Reserved: {
      initial: 'Checking',
      on: { 'effect.failed': failed, 'signal.denied': failed },
      states: {
        Checking: {
          invoke: { id: 'checkDependants', src: 'checkDependants', input: target, ...ends },
          on: {
            'dependants.none': 'Marking',
            'dependants.running': {
              target: '#stop.Leaving',
              actions: {
                type: 'keepEnd',
                params: ({ event: { names } }) => ({ end: 'needed', message: names }),
              },
            },
          },
        },
        Marking: {
          invoke: { id: 'mark', src: 'mark', input: target, ...ends },
          on: { 'target.marked': 'Looking' },
        },
        Looking: {
          invoke: { id: 'findProcess', src: 'findProcess', input: target, ...ends },
          on: {
            'process.found': { target: 'Terminating', actions: { type: 'keepProcess', params: fact } },
            'process.none': [
              {
                guard: 'isFirst',
                target: 'Cleaning',
                actions: { type: 'keepEnd', params: { end: 'absent', message: 'it was not running' } },
              },
              {
                target: 'Cleaning',
                actions: { type: 'keepEnd', params: { end: 'stopped', message: 'it is stopped' } },
              },
            ],
          },
        },
        Terminating: {
          invoke: { id: 'terminate', src: 'terminate', input: found, ...ends },
          on: { 'signal.sent': 'Waiting', 'process.gone': 'Looking' },
        },
        Waiting: {
          invoke: { id: 'awaitDeath', src: 'awaitDeath', input: found, onError: { actions: 'faulted' } },
          after: {
            stopGrace: { target: 'Killing', actions: { type: 'tellKilling', params: ({ context }) => context } },
          },
          on: { 'process.gone': 'Looking' },
        },
        Killing: {
          invoke: { id: 'kill', src: 'kill', input: found, ...ends },
          on: { 'signal.sent': 'Confirming', 'process.gone': 'Looking' },
        },
        Confirming: {
          invoke: { id: 'awaitDeath', src: 'awaitDeath', input: found, onError: { actions: 'faulted' } },
          after: {
            stopConfirm: {
              target: '#stop.Leaving',
              actions: { type: 'keepEnd', params: { end: 'survived', message: 'it is still there after SIGKILL' } },
            },
          },
          on: { 'process.gone': 'Looking' },
        },
        /** The credential goes with a death that is confirmed, and stays where nothing is known. */
        Cleaning: {
          invoke: {
            id: 'removeTraces',
            src: 'removeTraces',
            input: ({ context, event }) => ({ target: context.target, confirmed: isConfirmed(context, event) }),
            ...ends,
          },
          on: { 'traces.removed': '#stop.Leaving' },
        },
      },
    },

    Leaving: {
      invoke: { id: 'release', src: 'release', input: target, ...ends },
      on: { 'reservation.released': 'Ended', 'effect.failed': 'Ended' },
    },

    Ended: { type: 'final' },
  },
  output: ({ context: { target, end, pid, message } }) => ({ type: 'stop.ended', target, end, pid, message }),
});

/** Dead is what was found and is gone, or what was recorded and is proved to be gone. */
const isConfirmed = (context: StopContext, event: StopEvent): boolean =>
  event.type === 'process.none' && (event.record === 'dead' || (event.record === 'absent' && context.pid !== 0));
