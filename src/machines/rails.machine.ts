/**
 * rails: the responder of `ctl.delivery` and `ctl.delivery-admin`.
 *
 *   K1  bound late, unbound first: leaving this machine's states unsubscribes before anything else is stopped
 *   K4  while the fence holds, every request that was accepted is answered
 *
 * It is a child of `serving`; in doubt its parent stops it, and callers hear nothing, which they may try again.
 */
import { assign, raise, sendParent, setup } from 'xstate';
import { backOff } from '../domain/pacing.ts';
import { deafToLateFailures, heard, reasonOf } from './effects.ts';

export type RailsEvent = { type: 'rails.bound' } | { type: 'rails.lost'; why: string };
export type RailsReport = RailsEvent;

const rails = setup({
  types: { context: {} as { failures: number }, events: {} as RailsEvent },
  actors: { serveRails: heard<RailsEvent, undefined>('serveRails') },
  actions: {
    lost: raise(({ event }): RailsEvent => ({ type: 'rails.lost', why: reasonOf({ event }) })),
    report: sendParent((_, report: RailsReport) => report),
    countFailure: assign(({ context }) => ({ failures: context.failures + 1 })),
    forgetFailures: assign({ failures: 0 }),
  },
  delays: { backOff: ({ context }) => backOff(context.failures, 250, 5_000) },
});

export const railsMachine = rails.createMachine({
  id: 'rails',
  context: { failures: 0 },
  initial: 'Serving',
  on: { ...deafToLateFailures },
  states: {
    Serving: {
      invoke: { id: 'serveRails', src: 'serveRails', onError: { actions: 'lost' } },
      initial: 'Unbound',
      states: {
        Unbound: {
          on: {
            'rails.bound': {
              target: 'Bound',
              actions: ['forgetFailures', { type: 'report', params: { type: 'rails.bound' } }],
            },
          },
        },
        Bound: { tags: 'serving' },
      },
      on: {
        'rails.lost': {
          target: 'BackingOff',
          actions: ['countFailure', { type: 'report', params: ({ event }) => event }],
        },
      },
    },
    BackingOff: { after: { backOff: 'Serving' } },
  },
});
