/**
 * door: one loopback port of a process, behind which it may be looked at: the inspector, or metrics and health.
 *
 *   I1  a door that cannot be opened, or is lost, is tried again with back-off, for ever; it reports to nobody, so that
 *       nothing waits for it and nothing ends over it
 *   I2  it is told once how a door is refused, and again when it is refused in another way
 *   I3  after a stop nothing listens
 */
import { assign, raise, setup } from 'xstate';
import { backOff } from '../domain/pacing.ts';
import { deafToLateFailures, fact, heard, reasonOf } from './effects.ts';

export type DoorFact =
  | { type: 'door.opened'; port: number }
  /** `why`: EADDRINUSE and the like. */
  | { type: 'door.refused'; why: string }
  | { type: 'door.lost'; why: string };

export type DoorEvent = DoorFact | { type: 'stop.requested' };

export interface DoorInput {
  /** 0 takes a free one. */
  readonly port: number;
  readonly backOffMs: number;
  readonly backOffLimitMs: number;
}

export interface DoorContext extends DoorInput {
  /** Refusals in a row. */
  readonly failures: number;
  /** How it was refused last; empty while it is open. */
  readonly why: string;
}

const door = setup({
  types: { context: {} as DoorContext, events: {} as DoorEvent, input: {} as DoorInput },
  actors: { keepDoor: heard<DoorFact, { port: number }>('keepDoor') },
  actions: {
    lost: raise(({ event }): DoorEvent => ({ type: 'door.lost', why: reasonOf({ event }) })),
    countRefusal: assign(({ context }, { why }: { why: string }) => ({ failures: context.failures + 1, why })),
    forgetRefusals: assign({ failures: 0, why: '' }),
    tellOpened: (_, _facts: { port: number }) => {},
    tellRefused: (_, _facts: { port: number; why: string }) => {},
  },
  guards: {
    isKnown: ({ context }, { why }: { why: string }) => why === context.why,
  },
  delays: {
    backOff: ({ context }) => backOff(context.failures, context.backOffMs, context.backOffLimitMs),
  },
});

const why = ({ event }: { event: { why: string } }) => ({ why: event.why });
const told = ({ context, event }: { context: DoorContext; event: { why: string } }) => ({
  port: context.port,
  why: event.why,
});
const refused = [
  {
    guard: { type: 'isKnown', params: why },
    target: 'BackingOff',
    actions: { type: 'countRefusal', params: why },
  },
  {
    target: 'BackingOff',
    actions: [
      { type: 'countRefusal', params: why },
      { type: 'tellRefused', params: told },
    ],
  },
] as const;

export const doorMachine = door.createMachine({
  id: 'door',
  context: ({ input }) => ({ ...input, failures: 0, why: '' }),
  initial: 'Keeping',
  on: { ...deafToLateFailures, 'stop.requested': '.Closed' },
  states: {
    Keeping: {
      invoke: {
        id: 'keepDoor',
        src: 'keepDoor',
        input: ({ context }) => ({ port: context.port }),
        onError: { actions: 'lost' },
      },
      initial: 'Opening',
      states: {
        Opening: {
          on: {
            'door.opened': {
              target: 'Open',
              actions: ['forgetRefusals', { type: 'tellOpened', params: fact }],
            },
          },
        },
        Open: { tags: 'serving' },
      },
      on: { 'door.refused': refused, 'door.lost': refused },
    },
    BackingOff: { after: { backOff: 'Keeping' } },
    Closed: { type: 'final' },
  },
});
