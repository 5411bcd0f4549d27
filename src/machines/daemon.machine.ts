/**
 * daemon: one delivery daemon, from its start to the reason it ended.
 *
 *   D1  the start goes in one order: root, credential, broker record, reachability, observer, endpoint, signals, lease,
 *       record, stores, loops, rails, ready, lease watch, started
 *   D2  a refusal before the lease leaves no trace on the broker
 *   D3  a fault after the lease gives it back and says why
 *   D4  a stop: the line, the effects, the record, the lease, the rest, each bounded; until its end the process can be found
 *   D6  a broker whose name does not resolve is dialled again with back-off, told each time, for a time that is bounded in
 *       all over the start; then it is refused by that name
 *   L3  a doubt about the lease stops every effect before anything is asked: `Quiesced` has no children but the lease
 *   K1  rails are bound after the loops stand, and are unbound first
 *   R9  the loops stand when the writer is open and the reader hears confirmations; a reader that hears none any more is a doubt
 *
 * The children of `Serving` live as long as it does. After a doubt they start anew and ask the store for everything.
 *
 * Longer than 300 lines: one chart, and the order of the start is only readable in one place.
 */
import { assign, raise, sendParent, sendTo, setup } from 'xstate';
import type { DaemonEnd, DaemonEvent, DaemonInput, DaemonReport, NameFact, Silence, StepFact } from './daemon.facts.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, surpriseOf } from './effects.ts';
import { fanoutMachine } from './fanout.machine.ts';
import { leaseMachine } from './lease.machine.ts';
import { railsMachine } from './rails.machine.ts';
import { readerMachine } from './reader.machine.ts';
import { registryMachine } from './registry.machine.ts';

export interface DaemonContext extends DaemonInput {
  readonly end: DaemonEnd;
  readonly message: string;
  /** Dials that met a name without an address, and since when. */
  readonly nameless: number;
  readonly namelessSince: number | null;
}

const daemon = setup({
  types: { context: {} as DaemonContext, events: {} as DaemonEvent, input: {} as DaemonInput },
  actors: {
    findRoot: asked<StepFact, undefined>('findRoot'),
    readCredential: asked<StepFact, undefined>('readCredential'),
    findBroker: asked<StepFact, undefined>('findBroker'),
    reachBroker: asked<StepFact | NameFact, undefined>('reachBroker'),
    admitObserver: asked<StepFact, undefined>('admitObserver'),
    openEndpoint: asked<StepFact | NameFact, undefined>('openEndpoint'),
    armSignals: asked<StepFact, undefined>('armSignals'),
    writeRecord: asked<StepFact, undefined>('writeRecord'),
    openStores: asked<StepFact | Silence, undefined>('openStores'),
    closeAll: asked<{ type: 'all.closed' }, undefined>('closeAll'),
    lease: leaseMachine,
    registry: registryMachine,
    fanout: fanoutMachine,
    reader: readerMachine,
    rails: railsMachine,
  },
  actions: {
    told: raise(answerOf<DaemonEvent>()),
    faulted: raise(surpriseOf),
    keepEnd: assign((_, { end, message }: { end: DaemonEnd; message: string }) => ({ end, message })),
    keepNameless: assign(({ context }, { at }: NameFact) => ({
      nameless: context.nameless + 1,
      namelessSince: context.namelessSince ?? at,
    })),
    report: sendParent((_, report: DaemonReport) => report),
    reportEnd: sendParent(
      ({ context }): DaemonReport => ({
        type: 'daemon.ended',
        end: context.end,
        message: context.message,
      }),
    ),
    declareReady: sendTo('lease', { type: 'service.ready' }),
    doubtLease: sendTo('lease', (_, { why }: { why: string }) => ({ type: 'doubt.raised', why }) as const),
    stopLease: sendTo('lease', { type: 'stop.requested' }),
    toReader: sendTo(
      'reader',
      (_, news: Extract<DaemonEvent, { type: 'review.asked' | 'rows.changed' | 'members.owed' }>) => news,
    ),
    toRegistry: sendTo('registry', (_, news: Extract<DaemonEvent, { type: 'membership.asked' }>) => news),
    /** Bound by the services: from here on nothing of this serving period has an effect. */
    closeStores: () => {},
    /** The process is not the space's any more, and can be found still. */
    leaveRecord: () => {},
    tellStopping: (_, _facts: { signal: string }) => {},
    tellFault: (_, _facts: { effect: string; message: string; stack?: string }) => {},
    tellNameless: (_, _facts: NameFact) => {},
    tellWaiting: (_, _facts: { holder: string; expiresInMs: number }) => {},
  },
  guards: {
    isNameWorthWaiting: ({ context: { namelessSince, nameWaitMs } }, { at }: { at: number }) =>
      at - (namelessSince ?? at) < nameWaitMs,
    isOfLease: (_, { effect }: { effect: string }) => effect === 'lease',
    isStopped: ({ context }) => context.end === 'stopped',
    isBrokerGone: ({ context }) => context.end === 'broker-gone',
    isCredentialLapsed: ({ context }) => context.end === 'credential-lapsed',
    isFaulted: ({ context }) => context.end === 'faulted',
  },
  delays: { releaseLimit: 11_000, drainLimit: 2_000, askAgain: 500, dialAgain: 500 },
});

const ended = (end: DaemonEnd, message: string) => ({ type: 'keepEnd', params: { end, message } }) as const;
/** A child that fails is a fault of the daemon (D3), not its sudden end. */
const fails = { onError: { actions: 'faulted' } } as const;
/** One step of the start: an effect, and what comes after it. */
const step = <const S extends string>(id: S, target: string) =>
  ({ invoke: { id, src: id, ...ends }, on: { 'step.done': target } }) as const;
const refusedBy = {
  type: 'keepEnd',
  params: ({ event }: { event: { message: string } }) => ({ end: 'refused' as const, message: event.message }),
} as const;
const faultedBy = {
  type: 'keepEnd',
  params: ({ event }: { event: EffectFailed }) => ({ end: 'faulted' as const, message: event.message }),
} as const;
const doubted = (why: string) => ({ actions: { type: 'doubtLease', params: { why } } }) as const;
const losing = { actions: { type: 'doubtLease', params: fact } } as const;
const drained = (end: DaemonEnd, message: string) =>
  ({ target: '#daemon.Leased.Draining', actions: ended(end, message) }) as const;

export const daemonMachine = daemon.createMachine({
  id: 'daemon',
  context: ({ input }) => ({ ...input, end: 'stopped', message: '', nameless: 0, namelessSince: null }),
  initial: 'Starting',
  on: { ...deafToLateFailures },
  states: {
    Starting: {
      initial: 'FindingRoot',
      states: {
        FindingRoot: step('findRoot', 'ReadingCredential'),
        ReadingCredential: step('readCredential', 'FindingBroker'),
        FindingBroker: step('findBroker', 'Reaching'),
        Reaching: step('reachBroker', 'Admitting'),
        Admitting: step('admitObserver', 'Opening'),
        Opening: {
          ...step('openEndpoint', 'Arming'),
          on: { 'step.done': { target: 'Arming', actions: { type: 'report', params: { type: 'daemon.connected' } } } },
        },
        Arming: step('armSignals', '#daemon.Leased'),
        AwaitingName: { after: { dialAgain: 'Reaching' } },
      },
      on: {
        'name.unresolved': [
          {
            guard: { type: 'isNameWorthWaiting', params: fact },
            target: '.AwaitingName',
            actions: [
              { type: 'keepNameless', params: fact },
              { type: 'tellNameless', params: fact },
            ],
          },
          { target: 'Closing', actions: refusedBy },
        ],
        'start.refused': { target: 'Closing', actions: refusedBy },
        'effect.failed': { target: 'Closing', actions: [{ type: 'tellFault', params: fact }, faultedBy] },
        'stop.requested': {
          target: 'Closing',
          actions: [{ type: 'tellStopping', params: fact }, ended('stopped', 'stopped while starting')],
        },
        'broker.gone': { target: 'Closing', actions: ended('broker-gone', 'the broker is gone') },
        'broker.past-backstop': { target: 'Closing', actions: ended('broker-gone', 'the broker is gone') },
        'credential.lapsed': { target: 'Closing', actions: ended('credential-lapsed', 'the credential expired') },
      },
    },

    Leased: {
      invoke: { id: 'lease', src: 'lease', input: ({ context }) => context.lease, ...fails },
      initial: 'Claiming',
      states: {
        Claiming: {
          on: {
            'lease.held': 'Recording',
            'lease.waiting': { actions: { type: 'tellWaiting', params: fact } },
          },
        },
        Recording: step('writeRecord', 'Preparing'),
        /** Right after a reconnect the broker may not answer for its store yet: that is no reason to end. */
        Preparing: {
          initial: 'Asking',
          states: {
            Asking: { ...step('openStores', '#daemon.Leased.Serving') },
            Resting: { after: { askAgain: 'Asking' } },
          },
          on: { 'broker.silent': '.Resting' },
        },
        Serving: {
          exit: 'closeStores',
          invoke: [
            { id: 'registry', src: 'registry', ...fails },
            { id: 'fanout', src: 'fanout', ...fails },
            { id: 'reader', src: 'reader', input: ({ context }) => context.reader, ...fails },
          ],
          initial: 'Looping',
          states: {
            /** The writer opens, and the reader begins to hear, in either order. Until then it asks again by itself. */
            Looping: {
              initial: 'Neither',
              states: {
                Neither: { on: { 'fanout.opened': 'Deaf', 'confirmations.bound': 'Hearing' } },
                Deaf: { on: { 'confirmations.bound': '#daemon.Leased.Serving.Railed' } },
                Hearing: { on: { 'fanout.opened': '#daemon.Leased.Serving.Railed', 'confirmations.lost': 'Neither' } },
              },
            },
            Railed: {
              invoke: { id: 'rails', src: 'rails', ...fails },
              on: { 'confirmations.lost': losing },
              initial: 'Binding',
              states: {
                Binding: { on: { 'rails.bound': 'Declaring' } },
                Declaring: {
                  entry: 'declareReady',
                  on: {
                    'lease.ready': {
                      target: 'Ready',
                      actions: { type: 'report', params: { type: 'daemon.serving' } },
                    },
                  },
                },
                Ready: {
                  tags: 'serving',
                  on: {
                    'lease.watched': {
                      target: 'Started',
                      actions: { type: 'report', params: { type: 'daemon.started' } },
                    },
                  },
                },
                Started: { tags: ['serving', 'started'] },
              },
            },
          },
          on: {
            'members.owed': { actions: { type: 'toReader', params: fact } },
            'rows.changed': { actions: { type: 'toReader', params: fact } },
            'review.asked': { actions: { type: 'toReader', params: fact } },
            'membership.asked': { actions: { type: 'toRegistry', params: fact } },
          },
        },
        /** Nothing is served, consumed or answered here. The record may not have been written when the doubt came. */
        Quiesced: { on: { 'lease.held': 'Recording' } },
        Draining: {
          entry: ['leaveRecord', 'stopLease'],
          after: { releaseLimit: '#daemon.Closing' },
          on: {
            'lease.released': '#daemon.Closing',
            'lease.taken': '#daemon.Closing',
            'lease.refused': '#daemon.Closing',
            'lease.denied': '#daemon.Closing',
            /** Nothing else is left that could. */
            'effect.failed': '#daemon.Closing',
            'lease.doubted': {},
            'stores.lost': {},
            'broker.disconnected': {},
            'connection.replaced': {},
            'stop.requested': {},
            'broker.gone': {},
            'broker.past-backstop': {},
            'credential.lapsed': {},
          },
        },
      },
      on: {
        'lease.doubted': {
          target: '.Quiesced',
          actions: { type: 'report', params: ({ event }) => ({ type: 'daemon.quiesced', why: event.why }) },
        },
        /** The row is not to say ready over a service that begins anew. */
        'stores.lost': losing,
        'broker.disconnected': doubted('the connection to the broker was lost'),
        'connection.replaced': doubted('the connection to the broker was replaced'),
        'lease.refused': {
          target: 'Closing',
          actions: { type: 'keepEnd', params: ({ event }) => ({ end: 'lease-refused', message: heldBy(event) }) },
        },
        'lease.denied': {
          target: 'Closing',
          actions: {
            type: 'keepEnd',
            params: ({ event }) => ({
              end: 'lease-denied',
              message: `${event.operation} on ${event.subject} was denied`,
            }),
          },
        },
        'lease.taken': {
          target: 'Closing',
          actions: {
            type: 'keepEnd',
            params: ({ event }) => ({ end: 'lease-taken', message: `the lease was taken by ${event.holder}` }),
          },
        },
        'stop.requested': {
          target: '.Draining',
          actions: [{ type: 'tellStopping', params: fact }, ended('stopped', 'asked to stop')],
        },
        'broker.gone': drained('broker-gone', 'the broker is gone'),
        'broker.past-backstop': drained('broker-gone', 'the broker is gone'),
        'credential.lapsed': drained('credential-lapsed', 'the credential expired without renewal'),
        'start.refused': { target: '.Draining', actions: refusedBy },
        /** Of a lease that has ended nothing is given back. */
        'effect.failed': [
          {
            guard: { type: 'isOfLease', params: fact },
            target: 'Closing',
            actions: [{ type: 'tellFault', params: fact }, faultedBy],
          },
          { target: '.Draining', actions: [{ type: 'tellFault', params: fact }, faultedBy] },
        ],
      },
    },

    Closing: {
      invoke: { id: 'closeAll', src: 'closeAll', ...ends },
      after: { drainLimit: 'Closed' },
      on: { 'all.closed': 'Closed', 'effect.failed': 'Closed' },
    },

    Closed: {
      entry: 'reportEnd',
      always: [
        { guard: 'isStopped', target: 'Stopped' },
        { guard: 'isBrokerGone', target: 'BrokerGone' },
        { guard: 'isCredentialLapsed', target: 'CredentialLapsed' },
        { guard: 'isFaulted', target: 'Faulted' },
        { target: 'Refused' },
      ],
    },
    Stopped: { type: 'final' },
    BrokerGone: { type: 'final' },
    CredentialLapsed: { type: 'final' },
    Faulted: { type: 'final' },
    /** Before the lease, or by the lease: held, denied, taken. */
    Refused: { type: 'final' },
  },
});

const heldBy = ({ holder, expiresInMs }: { holder: string; expiresInMs: number }): string =>
  `the lease is held by ${holder} and can last ${Math.ceil(expiresInMs / 1000)} s`;
