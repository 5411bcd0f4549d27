/**
 * registry: one membership actor for each row that is being changed, and none for the others.
 *
 *   M4  at the start, every row that was left pending is completed
 *   M6  requests for one row are met one after the other, by one actor
 *
 * An actor is let go only when it has met every request that was sent to it: it says how many it has met.
 */
import { assign, enqueueActions, raise, setup } from 'xstate';
import type { Ask, JoinAnswer, LeaveAnswer } from '../domain/membership.ts';
import { backOff } from '../domain/pacing.ts';
import { answerOf, asked, deafToLateFailures, type EffectFailed, ends, surpriseOf } from './effects.ts';
import { type MembershipReport, membershipMachine } from './membership.machine.ts';

export type PendingFact = { type: 'rows.pending'; keys: string[] } | { type: 'broker.silent' };

export type RegistryEvent =
  | PendingFact
  | MembershipReport
  | EffectFailed
  | { type: 'membership.asked'; key: string; ask: Ask };

interface RegistryContext {
  /** Actors by row key: how many requests each was sent. */
  readonly rows: Readonly<Record<string, number>>;
  readonly failures: number;
}

type Asked = { key: string; ask: Ask };

/** Requests for one row that may wait at a time. */
const ASKS_LIMIT = 32;
const childOf = (key: string): string => `membership.${key}`;

const registry = setup({
  types: { context: {} as RegistryContext, events: {} as RegistryEvent },
  actors: {
    listPending: asked<PendingFact, undefined>('listPending'),
    membership: membershipMachine,
  },
  actions: {
    told: raise(answerOf<RegistryEvent>()),
    faulted: raise(surpriseOf),
    /** It will not answer: whoever waits hears nothing, and asks again. */
    dropFailed: assign(({ context, event }) => {
      const { [surpriseOf({ event }).effect.slice('membership.'.length)]: _failed, ...rows } = context.rows;
      return { rows };
    }),
    tellFailed: (_, _facts: { effect: string; message: string }) => {},
    ask: enqueueActions(({ context, enqueue }, { asks }: { asks: readonly Asked[] }) => {
      const rows = { ...context.rows };
      for (const { key, ask } of asks) {
        const known = rows[key];
        if (known === undefined)
          enqueue.spawnChild('membership', { id: childOf(key), input: { key, asksLimit: ASKS_LIMIT } });
        rows[key] = (known ?? 0) + 1;
        enqueue.sendTo(childOf(key), { type: 'request.asked', ask });
      }
      enqueue.assign({ rows });
    }),
    letGo: enqueueActions(({ context, enqueue }, { key }: { key: string }) => {
      const { [key]: _met, ...rows } = context.rows;
      enqueue.stopChild(childOf(key));
      enqueue.assign({ rows });
    }),
    /** Bound by the services: hands the answer to whoever holds the ticket. */
    answer: (_, _answered: { ticket: string; answer: JoinAnswer | LeaveAnswer }) => {},
    countFailure: assign(({ context }) => ({ failures: context.failures + 1 })),
  },
  guards: {
    hasMetAll: ({ context }, { key, asks }: { key: string; asks: number }) => context.rows[key] === asks,
  },
  delays: { backOff: ({ context }) => backOff(context.failures, 250, 30_000) },
});

/** A membership actor that fails takes nobody with it. */
const failed: Readonly<Record<never, never>> = {
  'xstate.error.actor.membership.*': { actions: ['dropFailed', { type: 'tellFailed', params: surpriseOf }] },
};
const fact = <E>({ event }: { event: E }): E => event;

export const registryMachine = registry.createMachine({
  id: 'registry',
  context: { rows: {}, failures: 0 },
  initial: 'Resuming',
  on: {
    ...deafToLateFailures,
    ...failed,
    'membership.asked': { actions: { type: 'ask', params: ({ event }) => ({ asks: [event] }) } },
    'membership.quiet': { guard: { type: 'hasMetAll', params: fact }, actions: { type: 'letGo', params: fact } },
    'request.answered': { actions: { type: 'answer', params: fact } },
  },
  states: {
    Resuming: {
      invoke: { id: 'listPending', src: 'listPending', ...ends },
      on: {
        'rows.pending': {
          target: 'Registering',
          actions: {
            type: 'ask',
            params: ({ event }) => ({ asks: event.keys.map((key): Asked => ({ key, ask: { kind: 'resume' } })) }),
          },
        },
        'broker.silent': { target: 'BackingOff', actions: 'countFailure' },
        'effect.failed': { target: 'BackingOff', actions: 'countFailure' },
      },
    },
    Registering: { tags: 'serving' },
    BackingOff: { after: { backOff: 'Resuming' } },
  },
});
