/**
 * durable-membership: an agent's membership of one channel, as the agent sees it.
 *
 *   A1  joined live is the broker-enforced subscription, and it never waits for the daemon
 *   A2  `durable` is said only of what the registry granted; until then the backstop is unestablished, with cause and age
 *   A3  what is not established is asked for again and again with back-off, and at once when there is news: the plane
 *       turned ready, the channel became durable, the connection came back (M8)
 *   A4  generations and cursors only move forward; an answer that is late, repeated or older changes nothing (M6)
 *   A5  a leave ends the live subscription first and names the generation that it closes; it is asked for until answered
 *       Who joins again before that leaves first: a leave that is carried out late never ends what was granted since
 *   A6  a generation that somebody else closed is left, not opened again
 *   A7  while the connection is down nothing is live and nobody is asked; a connection that is back is not readiness: live is
 *       said again when the broker has answered after it was given the subscriptions. Durable stays what the registry granted
 *
 * Who asks for the state looks at tags: `live` (subscribed), `durable`, `left`, and `settled` where an outcome is known.
 */
import type { EventObject } from 'xstate';
import { noBackstop, openGeneration } from '../domain/backstop.ts';
import type { DurableMembershipContext } from './durable-membership.facts.ts';
import { type Channel, type Known, membership, type Open } from './durable-membership.setup.ts';
import { deafToLateFailures, type EffectFailed, ends, fact, reasonOf } from './effects.ts';

const channelOf = ({ context }: { context: DurableMembershipContext }): Channel => ({ channel: context.channel });
/** Asks for a membership: of the generation that is thought to be open, or for a new one. */
const open = ({ context }: { context: DurableMembershipContext }): Open => ({
  channel: context.channel,
  generation: openGeneration(context.backstop),
  owedLeave: context.backstop.owedLeave,
});
const known = ({ context }: { context: DurableMembershipContext }): Known => ({
  channel: context.channel,
  generation: context.backstop.generation,
});
const whyOf = { type: 'keepWhy', params: fact } as const;
const brokenBy = {
  type: 'keepWhy',
  params: ({ event }: { event: EventObject }) => ({ reason: reasonOf({ event }) }),
} as const;
/** A surprise as a cause: it has no time of its own, and the age counts from the first cause anyhow. */
const surprised = {
  type: 'keepCause',
  params: ({ context, event }: { context: DurableMembershipContext; event: EffectFailed }) => ({
    reason: `${event.effect} failed: ${event.message}`,
    at: context.backstop.since,
  }),
} as const;
const causeOf = { type: 'keepCause', params: fact } as const;
const closes = {
  target: '#durable-membership.Left',
  actions: [
    { type: 'keepClosed', params: fact },
    { type: 'keepWhy', params: { reason: 'somebody else left with this identity' } },
  ],
} as const;

const CONNECTION_DOWN = 'the connection is down';

export const durableMembershipMachine = membership.createMachine({
  id: 'durable-membership',
  context: ({ input }) => ({ ...input, backstop: noBackstop, failures: 0, why: '', dropped: 0 }),
  initial: 'Left',
  on: { ...deafToLateFailures },
  states: {
    Left: {
      tags: ['left', 'settled'],
      on: {
        'join.requested': { target: 'Subscribed', actions: 'begin' },
        /** What an earlier process joined is closed too: the registry knows its generation. */
        'leave.requested': { target: 'Closing', actions: 'begin' },
      },
    },

    Subscribed: {
      invoke: {
        id: 'subscribeLive',
        src: 'subscribeLive',
        input: channelOf,
        onError: { target: 'SubscribingAgain', actions: [brokenBy, 'countFailure'] },
      },
      initial: 'JoiningLive',
      states: {
        JoiningLive: {
          on: {
            'live.bound': {
              target: 'JoinedLive',
              actions: {
                type: 'keepCause',
                params: ({ event }) => ({ reason: 'the daemon has not answered yet', at: event.at }),
              },
            },
          },
        },

        JoinedLive: {
          tags: 'live',
          invoke: {
            id: 'followPlane',
            src: 'followPlane',
            input: ({ context }) => ({ channel: context.channel, urgent: true }),
            onError: { target: '.Resting', reenter: true, actions: 'countFailure' },
          },
          initial: 'Asking',
          states: {
            Asking: {
              invoke: { id: 'askDurable', src: 'askDurable', input: open, ...ends },
              initial: 'Once',
              states: {
                Once: {
                  on: {
                    'plane.ready': 'Again',
                    'class.durable': 'Again',
                    'connection.restored': 'Again',
                    'join.requested': 'Again',
                  },
                },
                /** There was news while the question was under way: an answer that does not establish it is asked once more. */
                Again: {
                  on: {
                    'durable.withheld': { target: '#durable-membership.Subscribed.JoinedLive.Asking', reenter: true },
                    'durable.unanswered': { target: '#durable-membership.Subscribed.JoinedLive.Asking', reenter: true },
                  },
                },
              },
              on: {
                'durable.granted': [
                  {
                    guard: { type: 'isForward', params: fact },
                    target: '#durable-membership.Subscribed.JoinedDurable',
                    actions: { type: 'keepGrant', params: fact },
                  },
                  {
                    target: 'Resting',
                    actions: [
                      {
                        type: 'keepCause',
                        params: ({ context }) => ({
                          reason: 'the daemon granted an older generation than is known',
                          at: context.backstop.since,
                        }),
                      },
                      'countFailure',
                    ],
                  },
                ],
                'durable.withheld': { target: 'Resting', actions: [causeOf, 'countFailure'] },
                'durable.unanswered': { target: 'Resting', actions: [causeOf, 'countFailure'] },
                'effect.failed': { target: 'Resting', actions: [surprised, 'countFailure'] },
              },
            },
            Resting: {
              tags: 'settled',
              after: { askAgain: 'Asking' },
              on: {
                'plane.ready': 'Asking',
                'class.durable': 'Asking',
                'connection.restored': 'Asking',
                'join.requested': 'Asking',
              },
            },
          },
          on: {
            'connection.lost': {
              target: 'LiveCutOff',
              actions: { type: 'keepWhy', params: { reason: CONNECTION_DOWN } },
            },
          },
        },

        /** Nothing comes live. The connection gives the subscription to the broker again by itself. */
        LiveCutOff: {
          tags: 'settled',
          on: {
            'connection.restored': { target: 'JoinedLive', actions: { type: 'keepWhy', params: { reason: '' } } },
          },
        },

        JoinedDurable: {
          tags: ['live', 'durable'],
          invoke: {
            id: 'followPlane',
            src: 'followPlane',
            input: ({ context }) => ({ channel: context.channel, urgent: false }),
            onError: { target: '.Standing', reenter: true },
          },
          initial: 'Standing',
          states: {
            Standing: {
              tags: 'settled',
              after: { verifyEvery: 'Verifying' },
              on: { 'connection.restored': 'Verifying', 'join.requested': 'Verifying' },
            },
            /** It stays durable while it is asked about: the registry's row is a stored fact, silence does not undo it. */
            Verifying: {
              invoke: { id: 'askDurable', src: 'askDurable', input: open, ...ends },
              on: {
                'durable.granted': [
                  {
                    guard: { type: 'isForward', params: fact },
                    target: 'Standing',
                    actions: { type: 'keepGrant', params: fact },
                  },
                  { target: 'Standing' },
                ],
                'durable.withheld': {
                  target: '#durable-membership.Subscribed.JoinedLive.Resting',
                  actions: [causeOf, 'countFailure'],
                },
                'durable.unanswered': { target: 'Unverified', actions: 'countFailure' },
                'effect.failed': { target: 'Unverified', actions: 'countFailure' },
              },
            },
            Unverified: {
              tags: 'settled',
              after: { askAgain: 'Verifying' },
              on: { 'plane.ready': 'Verifying', 'connection.restored': 'Verifying', 'join.requested': 'Verifying' },
            },
          },
          on: {
            'class.live': {
              target: '#durable-membership.Subscribed.JoinedLive.Resting',
              actions: [causeOf, 'countFailure'],
            },
            'connection.lost': 'DurableCutOff',
          },
        },

        /** What is posted meanwhile is owed all the same, and comes as copies. */
        DurableCutOff: {
          tags: ['durable', 'settled'],
          on: { 'connection.restored': 'JoinedDurable.Verifying' },
        },
      },
      on: {
        'live.refused': { target: 'Left', actions: whyOf },
        'live.lost': { target: 'SubscribingAgain', actions: [whyOf, 'countFailure'] },
        'membership.closed': closes,
        'leave.requested': { target: 'Closing', actions: 'begin' },
      },
    },

    /** The subscription ended without a refusal. */
    SubscribingAgain: {
      tags: 'settled',
      after: { subscribeAgain: 'Subscribed' },
      on: {
        'connection.restored': 'Subscribed',
        'join.requested': 'Subscribed',
        'leave.requested': { target: 'Closing', actions: 'begin' },
      },
    },

    /** Nothing of this channel is surfaced any more. A leave that is not answered is asked for again. */
    Closing: {
      invoke: {
        id: 'followPlane',
        src: 'followPlane',
        input: ({ context }) => ({ channel: context.channel, urgent: true }),
        onError: { target: '.Resting', reenter: true, actions: [brokenBy, 'countFailure'] },
      },
      initial: 'Asking',
      states: {
        Asking: {
          invoke: { id: 'closeDurable', src: 'closeDurable', input: known, ...ends },
          on: {
            'leave.closed': {
              target: '#durable-membership.Left',
              actions: [
                { type: 'keepClosed', params: fact },
                { type: 'keepDropped', params: fact },
              ],
            },
            'leave.absent': { target: '#durable-membership.Left', actions: 'keepLeaveSettled' },
            'leave.refused': { target: '#durable-membership.Left', actions: [whyOf, 'keepLeaveSettled'] },
            'leave.unanswered': { target: 'Resting', actions: [whyOf, 'countFailure'] },
            'effect.failed': {
              target: 'Resting',
              actions: [
                { type: 'keepWhy', params: ({ event }) => ({ reason: `${event.effect} failed: ${event.message}` }) },
                'countFailure',
              ],
            },
          },
        },
        Resting: {
          tags: 'settled',
          after: { askAgain: 'Asking' },
          on: { 'plane.ready': 'Asking', 'connection.restored': 'Asking', 'leave.requested': 'Asking' },
        },
      },
      on: { 'join.requested': { target: 'Subscribed', actions: ['begin', 'keepLeaveOwed'] } },
    },
  },
});
