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
import {
  answerOf,
  asked,
  deafToLateFailures,
  type EffectFailed,
  ends,
  fact,
  failuresOf,
  surpriseOf,
} from './effects.ts';
import { type MembershipReport, membershipMachine } from './membership.machine.ts';

export type PendingFact = { type: 'rows.pending'; keys: string[] } | { type: 'broker.silent' };

export type RegistryEvent =
  | PendingFact
  | MembershipReport
  | EffectFailed
  | { type: 'membership.asked'; key: string; ask: Ask };

export interface RegistryContext {
  /** Actors by row key: the child's id and how many requests it was sent. */
  readonly rows: Readonly<Record<string, { id: string; sent: number }>>;
  readonly started: number;
  readonly failures: number;
}

type Asked = { key: string; ask: Ask };

const registry = setup({
  types: { context: {} as RegistryContext, events: {} as RegistryEvent },
  actors: {
    listPending: asked<PendingFact, undefined>('listPending'),
    membership: membershipMachine,
  },
  actions: {
    told: raise(answerOf<RegistryEvent>()),
    faulted: raise(surpriseOf),
    ask: enqueueActions(({ context, enqueue }, { asks }: { asks: readonly Asked[] }) => {
      const rows = { ...context.rows };
      let { started } = context;
      for (const { key, ask } of asks) {
        const known = rows[key];
        const id = known?.id ?? `membership.${key}.${started++}`;
        if (known === undefined) enqueue.spawnChild('membership', { id, input: { key } });
        rows[key] = { id, sent: (known?.sent ?? 0) + 1 };
        enqueue.sendTo(id, { type: 'request.asked', ask });
      }
      enqueue.assign({ rows, started });
    }),
    letGo: enqueueActions(({ context, enqueue }, { key }: { key: string }) => {
      const { [key]: row, ...rows } = context.rows;
      if (row !== undefined) enqueue.stopChild(row.id);
      enqueue.assign({ rows });
    }),
    /** Whoever asked the failed actor hears nothing and may ask again; the row is met by a new actor. */
    letGoFailed: assign(({ context }, { effect }: { effect: string }) => ({
      rows: Object.fromEntries(Object.entries(context.rows).filter(([, { id }]) => id !== effect)),
    })),
    /** Bound by the services: hands the answer to whoever holds the ticket. */
    answer: (_, _answered: { ticket: string; answer: JoinAnswer | LeaveAnswer }) => {},
    tellFailed: (_, _facts: { effect: string; message: string }) => {},
    countFailure: assign(({ context }) => ({ failures: context.failures + 1 })),
  },
  guards: {
    isOwn: (_, { effect }: { effect: string }) => effect === 'listPending',
    hasMetAll: ({ context }, { key, asks }: { key: string; asks: number }) => context.rows[key]?.sent === asks,
  },
  delays: { backOff: ({ context }) => backOff(context.failures, 250, 30_000) },
});

export const registryMachine = registry.createMachine({
  id: 'registry',
  context: { rows: {}, started: 0, failures: 0 },
  initial: 'Resuming',
  on: {
    ...deafToLateFailures,
    ...failuresOf('membership'),
    'effect.failed': {
      actions: [
        { type: 'tellFailed', params: fact },
        { type: 'letGoFailed', params: fact },
      ],
    },
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
        'effect.failed': { guard: { type: 'isOwn', params: fact }, target: 'BackingOff', actions: 'countFailure' },
      },
    },
    Registering: { tags: 'serving' },
    BackingOff: { after: { backOff: 'Resuming' } },
  },
});
