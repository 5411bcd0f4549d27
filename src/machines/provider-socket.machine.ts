/**
 * providerSocket: what one socket of a node may do. The same code in Node and in workerd, where its snapshot is the
 * socket's attachment; therefore no timers and no effects: time comes in with the events.
 *
 *   P1  deliverable, alive, or allowed to change anything only after node.register was accepted on this very connection
 *   P2  `lastSeen` is the time of the last accepted frame: an open socket is no sign of life, nor is a refused frame
 *   P3  a failed registration leaves nothing deliverable, also on a connection that was bound before
 *   P4  unbound past its bound is reaped, but not while its register is within its own deadline
 *   P5  bound and silent past its bound is reaped, whatever the socket says
 *   P6  superseded, reaped, overloaded, closed: nothing that comes later changes anything
 *
 * Every waiting state is bounded by `time.passed`, which the reaper sends from the node's alarm. `lastSeen` moves with every
 * frame and therefore stands beside the snapshot, not in it: the machine is stepped by what changes a state.
 */
import { assign, setup } from 'xstate';
import { hasElapsed } from '../domain/provider/liveness.ts';
import type { ProviderId } from '../domain/provider/names.ts';
import { fact } from './effects.ts';

export interface SocketInput {
  readonly connection: string;
  readonly workspace: string;
  readonly node: string;
  /** Milliseconds, as every time here. */
  readonly openedAt: number;
  readonly bounds: {
    readonly reapMs: number;
    readonly unboundMs: number;
    /** How long a register may take before its socket counts as waiting again. */
    readonly registerMs: number;
  };
}

export interface SocketContext extends SocketInput {
  /** Since when the socket is unbound. */
  readonly unboundSince: number;
  /** When the register under way was asked for; 0 when there is none. */
  readonly registerAskedAt: number;
  /** Who the connection was last bound as. */
  readonly provider: ProviderId | null;
}

type Accepted = { readonly type: 'register.accepted'; readonly at: number; readonly provider: ProviderId };
export type SocketEvent =
  | { readonly type: 'register.asked'; readonly at: number }
  | (Accepted & { readonly mode: 'immediate' | 'agent_scoped' })
  | { readonly type: 'register.failed'; readonly at: number }
  | { readonly type: 'provider.deregistered'; readonly at: number }
  | { readonly type: 'challenger.accepted'; readonly at: number }
  | { readonly type: 'time.passed'; readonly at: number; readonly lastSeen: number }
  | { readonly type: 'queue.overflowed'; readonly at: number }
  | { readonly type: 'socket.closed'; readonly at: number };

const socket = setup({
  types: { context: {} as SocketContext, events: {} as SocketEvent, input: {} as SocketInput },
  actions: {
    asked: assign((_, { at }: { at: number }) => ({ registerAskedAt: at })),
    bind: assign((_, { provider }: { provider: ProviderId }) => ({ provider, registerAskedAt: 0 })),
    unbind: assign((_, { at }: { at: number }) => ({ provider: null, unboundSince: at, registerAskedAt: 0 })),
    answered: assign({ registerAskedAt: 0 }),
  },
  guards: {
    isAgentScoped: (_, { mode }: { mode: 'immediate' | 'agent_scoped' }) => mode === 'agent_scoped',
    isSilent: ({ context }, { at, lastSeen }: { at: number; lastSeen: number }) =>
      at - lastSeen >= context.bounds.reapMs,
    isOverdue: ({ context: { unboundSince, bounds } }, { at }: { at: number }) =>
      hasElapsed(unboundSince, at, bounds.unboundMs),
    isOverdueAndUnanswered: ({ context: { unboundSince, registerAskedAt, bounds } }, { at }: { at: number }) =>
      hasElapsed(unboundSince, at, bounds.unboundMs) && hasElapsed(registerAskedAt, at, bounds.registerMs),
  },
});

const bound = [
  {
    guard: { type: 'isAgentScoped', params: fact },
    target: '#providerSocket.Bound.AgentScoped',
    actions: { type: 'bind', params: fact },
  },
  { target: '#providerSocket.Bound.Immediate', actions: { type: 'bind', params: fact } },
] as const;

export const providerSocketMachine = socket.createMachine({
  id: 'providerSocket',
  context: ({ input }) => ({
    ...input,
    unboundSince: input.openedAt,
    registerAskedAt: 0,
    provider: null,
  }),
  initial: 'Unbound',
  states: {
    Unbound: {
      initial: 'Waiting',
      states: {
        Waiting: {
          on: {
            'register.asked': { target: 'Registering', actions: { type: 'asked', params: fact } },
            'time.passed': { guard: { type: 'isOverdue', params: fact }, target: '#providerSocket.Reaped' },
          },
        },
        Registering: {
          on: {
            'register.asked': { actions: { type: 'asked', params: fact } },
            'register.accepted': bound,
            'register.failed': { target: 'Waiting', actions: 'answered' },
            'time.passed': {
              guard: { type: 'isOverdueAndUnanswered', params: fact },
              target: '#providerSocket.Reaped',
            },
          },
        },
      },
    },

    Bound: {
      tags: 'bound',
      initial: 'Withdrawn',
      states: {
        Immediate: { tags: 'deliverable' },
        AgentScoped: { tags: 'deliverable' },
        /** A registration on this bound connection failed: it holds its provider, and nothing is delivered. */
        Withdrawn: {},
      },
      on: {
        'register.asked': { actions: { type: 'asked', params: fact } },
        'register.accepted': bound,
        'register.failed': { target: '.Withdrawn', actions: 'answered' },
        'provider.deregistered': { target: 'Unbound', actions: { type: 'unbind', params: fact } },
        'challenger.accepted': 'Superseded',
        'time.passed': { guard: { type: 'isSilent', params: fact }, target: 'Reaped' },
      },
    },

    Superseded: { type: 'final' },
    Reaped: { type: 'final' },
    Overloaded: { type: 'final' },
    Closed: { type: 'final' },
  },
  on: {
    'queue.overflowed': '.Overloaded',
    'socket.closed': '.Closed',
  },
});
