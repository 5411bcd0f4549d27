/**
 * brokerWatch: the daemon's only judge of whether the broker is there, by the resident connection's events alone (B1).
 *
 *   B2  gone when the time since the disconnect, less this process's own stalls, reaches the window
 *   B3  past the backstop by the clock, however long the process was stalled
 *   B4  a reconnect stops the clock
 *   B5  while a credential is expired the outage is the credential's: this clock stands still
 *   B6  events of a connection that was replaced change nothing
 *   B8  a client that closed for good is a disconnect too
 */
import { assign, raise, sendParent, setup } from 'xstate';
import { backstopLeft, type Outage, windowLeft } from '../domain/outage.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, fact, surpriseOf } from './effects.ts';

/** `connection` numbers the resident connections of this process, so that a replaced one is recognised. */
export type ConnectionFact =
  | { type: 'broker.disconnected'; connection: number; at: number }
  | { type: 'broker.reconnected'; connection: number }
  | { type: 'broker.closed'; connection: number; at: number }
  | { type: 'credential.expired'; connection: number; at: number };

/**
 * The same measurement, under a name of its own for each clock: they run side by side, and a fact that both could hear
 * would be taken by the wrong one.
 */
export type WindowFact = { type: 'window.measured' } & Outage;
export type BackstopFact = { type: 'backstop.measured' } & Outage;

export type BrokerWatchEvent =
  | ConnectionFact
  | WindowFact
  | BackstopFact
  | EffectFailed
  /** The process opened a new resident connection; `connected` false: its dial has not succeeded yet. */
  | { type: 'connection.replaced'; connection: number; connected: boolean; at: number };

export type BrokerWatchReport = { type: 'broker.gone' } | { type: 'broker.past-backstop' };

export interface BrokerWatchInput {
  readonly connection: number;
  readonly windowMs: number;
  readonly backstopMs: number;
}

export interface BrokerWatchContext extends BrokerWatchInput {
  /** Monotonic time of the disconnect. */
  readonly since: number;
  readonly windowWaitMs: number;
  readonly backstopWaitMs: number;
}

const brokerWatch = setup({
  types: { context: {} as BrokerWatchContext, events: {} as BrokerWatchEvent, input: {} as BrokerWatchInput },
  actors: {
    measureForWindow: asked<WindowFact, { since: number }>('measureForWindow'),
    measureForBackstop: asked<BackstopFact, { since: number }>('measureForBackstop'),
  },
  actions: {
    told: raise(answerOf<BrokerWatchEvent>()),
    faulted: raise(surpriseOf),
    startClock: assign(({ context }, { at }: { at: number }) => ({
      since: at,
      windowWaitMs: context.windowMs,
      backstopWaitMs: context.backstopMs,
    })),
    keepConnection: assign((_, { connection }: { connection: number }) => ({ connection })),
    waitForWindow: assign(({ context }, outage: Outage) => ({ windowWaitMs: windowLeft(outage, context.windowMs) })),
    waitForBackstop: assign(({ context }, outage: Outage) => ({
      backstopWaitMs: backstopLeft(outage, context.backstopMs),
    })),
    report: sendParent((_, report: BrokerWatchReport) => report),
  },
  guards: {
    isResident: ({ context }, { connection }: { connection: number }) => connection === context.connection,
    isGone: ({ context }, outage: Outage) => windowLeft(outage, context.windowMs) <= 0,
    isPastBackstop: ({ context }, outage: Outage) => backstopLeft(outage, context.backstopMs) <= 0,
    isOf: (_, { effect, of }: { effect: string; of: string }) => effect === of,
    isConnected: (_, { connected }: { connected: boolean }) => connected,
  },
  delays: {
    window: ({ context }) => context.windowWaitMs,
    backstop: ({ context }) => context.backstopWaitMs,
  },
});

const resident = { type: 'isResident', params: fact } as const;
const since = ({ context }: { context: BrokerWatchContext }) => ({ since: context.since });
const of =
  (name: string) =>
  ({ event }: { event: EffectFailed }) => ({ effect: event.effect, of: name });
const startsClock = { type: 'startClock', params: fact } as const;

export const brokerWatchMachine = brokerWatch.createMachine({
  id: 'broker-watch',
  context: ({ input }) => ({ ...input, since: 0, windowWaitMs: input.windowMs, backstopWaitMs: input.backstopMs }),
  initial: 'Connected',
  on: {
    ...deafToLateFailures,
    'connection.replaced': [
      {
        guard: { type: 'isConnected', params: fact },
        target: '.Connected',
        actions: { type: 'keepConnection', params: fact },
      },
      { target: '.Disconnected', actions: [{ type: 'keepConnection', params: fact }, startsClock] },
    ],
    'credential.expired': { guard: resident, target: '.Suspended' },
  },
  states: {
    Connected: {
      tags: 'healthy',
      on: {
        'broker.disconnected': { guard: resident, target: 'Disconnected', actions: startsClock },
        'broker.closed': { guard: resident, target: 'Disconnected', actions: startsClock },
      },
    },

    Disconnected: {
      on: { 'broker.reconnected': { guard: resident, target: 'Connected' } },
      type: 'parallel',
      states: {
        window: {
          initial: 'Waiting',
          states: {
            Waiting: { after: { window: 'Measuring' } },
            Measuring: {
              invoke: { id: 'measureForWindow', src: 'measureForWindow', input: since, ...ends },
              on: {
                'window.measured': [
                  {
                    guard: { type: 'isGone', params: fact },
                    target: '#broker-watch.Gone',
                    actions: { type: 'report', params: { type: 'broker.gone' } },
                  },
                  { target: 'Waiting', actions: { type: 'waitForWindow', params: fact } },
                ],
                'effect.failed': { guard: { type: 'isOf', params: of('measureForWindow') }, target: 'Waiting' },
              },
            },
          },
        },
        backstop: {
          initial: 'Waiting',
          states: {
            Waiting: { after: { backstop: 'Measuring' } },
            Measuring: {
              invoke: { id: 'measureForBackstop', src: 'measureForBackstop', input: since, ...ends },
              on: {
                'backstop.measured': [
                  {
                    guard: { type: 'isPastBackstop', params: fact },
                    target: '#broker-watch.PastBackstop',
                    actions: { type: 'report', params: { type: 'broker.past-backstop' } },
                  },
                  { target: 'Waiting', actions: { type: 'waitForBackstop', params: fact } },
                ],
                'effect.failed': { guard: { type: 'isOf', params: of('measureForBackstop') }, target: 'Waiting' },
              },
            },
          },
        },
      },
    },

    /** The credential is expired: what the connection does meanwhile is no news about the broker. */
    Suspended: {},

    Gone: { type: 'final' },
    PastBackstop: { type: 'final' },
  },
});
