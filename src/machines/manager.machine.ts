/**
 * manager: the process that holds the keys of a space, from its lease to the day it ends.
 *
 *   MG1  the order of the start: lease → rail and store proof → repair of a frozen gate → registration → services →
 *        rail → ready
 *   MG2  a start that fails says at which step and why, gives the lease back, and has served nobody
 *   MG3  it serves only while the lease is ready; any doubt ends the serving first
 *   MG4  it renews credentials only where the proof matched; where it did not, that is told, and it serves all the same
 *   MG5  a lease that another one took is not touched again
 *
 * Longer than 300 lines: one chart, with the facts it hears in front of it.
 */
import { assign, raise, sendTo, setup } from 'xstate';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, heard, surpriseOf } from './effects.ts';
import { type GateRepairInput, gateRepairMachine, type RepairOutcome } from './gate-repair.machine.ts';
import { type LeaseInput, type LeaseReport, leaseMachine } from './lease.machine.ts';
import { type RegistrationInput, type RegistrationOutcome, registrationMachine } from './registration.machine.ts';
import { type RenewalInput, renewalMachine } from './renewal.machine.ts';
import { type ProofOutcome, type StoreProofInput, storeProofMachine } from './store-proof.machine.ts';

export type OpenFact = { type: 'services.open' } | { type: 'services.refused'; reason: string };
/** Bound: the broker was proved to route requests here. */
export type RailHeard = { type: 'rail.bound' } | { type: 'rail.lost'; why: string };
export type CloseFact = { type: 'services.closed' };
export type LeaveFact = { type: 'broker.left' };

export type ManagerEnd =
  | 'stopped'
  | 'lease-refused'
  | 'lease-denied'
  | 'lease-taken'
  /** The daemon refused, stayed silent, or what it answered proves nothing. */
  | 'rail'
  | 'repair-refused'
  | 'registration'
  | 'services'
  | 'faulted';

export interface ManagerInput {
  readonly lease: LeaseInput;
  readonly proof: StoreProofInput;
  readonly repair: GateRepairInput;
  readonly registration: RegistrationInput;
  readonly renewal: RenewalInput;
}
export interface ManagerContext extends ManagerInput {
  readonly mayRenew: boolean;
  readonly processEpoch: number;
  readonly end: ManagerEnd;
  readonly message: string;
}

const GOOD_REPAIRS: readonly string[] = ['repaired', 'completed', 'no-gate', 'not-frozen'];

const manager = setup({
  types: {
    context: {} as ManagerContext,
    events: {} as
      | LeaseReport
      | ProofOutcome
      | RepairOutcome
      | RegistrationOutcome
      | OpenFact
      | CloseFact
      | LeaveFact
      | RailHeard
      | EffectFailed
      | { type: 'stop.requested'; signal: string },
    input: {} as ManagerInput,
    output: {} as { end: ManagerEnd; message: string },
  },
  actors: {
    lease: leaseMachine,
    storeProof: storeProofMachine,
    gateRepair: gateRepairMachine,
    registration: registrationMachine,
    renewal: renewalMachine,
    openServices: asked<OpenFact, { processEpoch: number }>('openServices'),
    serveRail: heard<RailHeard, undefined>('serveRail'),
    closeServices: asked<CloseFact, undefined>('closeServices'),
    leaveBroker: asked<LeaveFact, undefined>('leaveBroker'),
  },
  actions: {
    told: raise(answerOf<ProofOutcome | RepairOutcome | RegistrationOutcome | OpenFact | CloseFact | LeaveFact>()),
    faulted: raise(surpriseOf),
    keepOwner: assign({ mayRenew: true }),
    keepEpoch: assign((_, { processEpoch }: { processEpoch: number }) => ({ processEpoch })),
    keepEnd: assign((_, of: { end: ManagerEnd; message: string }) => of),
    tellLease: sendTo(
      'lease',
      (_, event: { type: 'service.ready' | 'stop.requested' } | { type: 'doubt.raised'; why: string }) => event,
    ),
    tellProof: (_, _facts: { end: string; message: string }) => {},
    tellRepair: (_, _facts: { end: string; reason: string }) => {},
    tellRegistered: (_, _facts: { processEpoch: number; holders: number; requests: number }) => {},
    tellServing: () => {},
    tellDoubt: (_, _facts: { why: string }) => {},
    tellStopping: (_, _facts: { signal: string }) => {},
  },
  guards: {
    isMatched: (_, { end }: { end: string }) => end === 'matched',
    isMismatched: (_, { end }: { end: string }) => end === 'mismatched',
    isThrough: (_, { end }: { end: string }) => GOOD_REPAIRS.includes(end),
    isRegistered: (_, { end }: { end: string }) => end === 'registered',
    mayRenew: ({ context }) => context.mayRenew,
    isOfLease: (_, { effect }: { effect: string }) => effect === 'lease',
  },
  delays: { railAgain: 1_000, drain: 2_000 },
});

const failing = <E>(end: ManagerEnd, message: (event: E) => string, target = '#manager.Running.Ending') =>
  ({
    target,
    actions: { type: 'keepEnd', params: ({ event }: { event: E }) => ({ end, message: message(event) }) },
  }) as const;
const surprise = ({ effect, message }: EffectFailed): string => `${effect} failed: ${message}`;
const ALONE = '#manager.Running.Ending.Alone';
const rival = ({ holder, expiresInMs }: { holder: string; expiresInMs: number }): string =>
  `the manager lease is held by ${holder}; it ends in ${Math.ceil(expiresInMs / 1000)} s unless it is renewed`;
const close = { id: 'closeServices', src: 'closeServices', ...ends } as const;
const ready = { type: 'tellLease', params: { type: 'service.ready' } } as const;

export const managerMachine = manager.createMachine({
  id: 'manager',
  context: ({ input }) => ({ ...input, mayRenew: false, processEpoch: 0, end: 'faulted', message: 'it has not ended' }),
  initial: 'Running',
  output: ({ context: { end, message } }) => ({ end, message }),
  on: { ...deafToLateFailures },
  states: {
    Running: {
      invoke: {
        id: 'lease',
        src: 'lease',
        input: ({ context }) => context.lease,
        onError: { actions: 'faulted' },
      },
      initial: 'Up',
      states: {
        Up: {
          initial: 'Claiming',
          on: {
            'lease.refused': failing('lease-refused', rival, ALONE),
            'lease.denied': failing(
              'lease-denied',
              ({ operation, subject }) => `the lease: ${operation} on ${subject} was denied`,
              ALONE,
            ),
            'lease.taken': failing('lease-taken', ({ holder }) => `the manager lease was taken by ${holder}`, ALONE),
            'effect.failed': [
              { guard: { type: 'isOfLease', params: fact }, ...failing('faulted', surprise, ALONE) },
              failing('faulted', surprise),
            ],
            'stop.requested': {
              target: '#manager.Running.Ending',
              actions: [
                { type: 'tellStopping', params: fact },
                {
                  type: 'keepEnd',
                  params: ({ event: { signal } }) => ({ end: 'stopped' as const, message: `received ${signal}` }),
                },
              ],
            },
          },
          states: {
            Claiming: { on: { 'lease.held': 'Proving' } },
            Proving: {
              invoke: { id: 'storeProof', src: 'storeProof', input: ({ context }) => context.proof, ...ends },
              on: {
                'proof.ended': [
                  {
                    guard: { type: 'isMatched', params: fact },
                    target: 'Repairing',
                    actions: ['keepOwner', { type: 'tellProof', params: fact }],
                  },
                  {
                    guard: { type: 'isMismatched', params: fact },
                    target: 'Repairing',
                    actions: { type: 'tellProof', params: fact },
                  },
                  failing('rail', ({ message }) => message),
                ],
              },
            },
            Repairing: {
              invoke: { id: 'gateRepair', src: 'gateRepair', input: ({ context }) => context.repair, ...ends },
              on: {
                'repair.ended': [
                  {
                    guard: { type: 'isThrough', params: fact },
                    target: 'Registering',
                    actions: { type: 'tellRepair', params: fact },
                  },
                  failing(
                    'repair-refused',
                    ({ end, reason }) =>
                      `the gate stays frozen: ${end}: ${reason}; "cotal reconcile-gate" repairs it when that is settled`,
                  ),
                ],
              },
            },
            Registering: {
              invoke: {
                id: 'registration',
                src: 'registration',
                input: ({ context }) => context.registration,
                ...ends,
              },
              on: {
                'registration.ended': [
                  {
                    guard: { type: 'isRegistered', params: fact },
                    target: 'Opening',
                    actions: [
                      { type: 'keepEpoch', params: fact },
                      { type: 'tellRegistered', params: fact },
                    ],
                  },
                  failing('registration', ({ end, reason }) => `the registration did not end (${end}): ${reason}`),
                ],
              },
            },
            Opening: {
              invoke: {
                id: 'openServices',
                src: 'openServices',
                input: ({ context }) => ({ processEpoch: context.processEpoch }),
                ...ends,
              },
              on: {
                'services.open': 'Railed',
                'services.refused': failing('services', ({ reason }) => reason),
              },
            },
            Railed: {
              invoke: { id: 'serveRail', src: 'serveRail', onError: { actions: 'faulted' } },
              initial: 'Binding',
              states: {
                Binding: { on: { 'rail.bound': 'Declaring' } },
                /** A lease that came back meanwhile has not heard of it. */
                Declaring: {
                  entry: ready,
                  on: { 'lease.ready': 'Serving', 'lease.held': { actions: ready } },
                },
                Serving: {
                  tags: 'serving',
                  entry: 'tellServing',
                  initial: 'Choosing',
                  states: {
                    Choosing: { always: [{ guard: 'mayRenew', target: 'Renewing' }, { target: 'Plain' }] },
                    Renewing: {
                      invoke: {
                        id: 'renewal',
                        src: 'renewal',
                        input: ({ context }) => context.renewal,
                        onError: { actions: 'faulted' },
                      },
                    },
                    Plain: {},
                  },
                },
              },
              on: {
                'lease.doubted': { target: 'Doubted', actions: { type: 'tellDoubt', params: fact } },
                /** The row is not to say ready over a rail that is not there. */
                'rail.lost': {
                  target: 'RailLost',
                  actions: [
                    { type: 'tellDoubt', params: fact },
                    { type: 'tellLease', params: ({ event }) => ({ type: 'doubt.raised', why: event.why }) },
                  ],
                },
              },
            },
            /** Registered and open, and nothing of it is served. */
            Doubted: { on: { 'lease.held': 'Railed' } },
            RailLost: { after: { railAgain: 'Railed' } },
          },
        },

        /** What was open is closed, then the lease is given back; both are bounded. */
        Ending: {
          after: { drain: '#manager.Ended' },
          initial: 'Closing',
          states: {
            Closing: {
              invoke: close,
              on: {
                'services.closed': 'Releasing',
                'effect.failed': [
                  { guard: { type: 'isOfLease', params: fact }, target: 'Alone' },
                  { target: 'Releasing' },
                ],
                'lease.taken': 'Alone',
                'lease.denied': 'Alone',
                'lease.refused': 'Alone',
              },
            },
            Releasing: {
              entry: { type: 'tellLease', params: { type: 'stop.requested' } },
              on: {
                'lease.released': 'Leaving',
                'lease.taken': 'Leaving',
                'lease.denied': 'Leaving',
                'lease.refused': 'Leaving',
                'effect.failed': 'Leaving',
              },
            },
            /** The lease has ended before: nothing of it is touched again. */
            Alone: {
              invoke: close,
              on: { 'services.closed': 'Leaving', 'effect.failed': 'Leaving' },
            },
            Leaving: {
              invoke: { id: 'leaveBroker', src: 'leaveBroker', ...ends },
              on: { 'broker.left': '#manager.Ended', 'effect.failed': '#manager.Ended' },
            },
          },
        },
      },
    },
    Ended: { type: 'final' },
  },
});
