import { durableMembershipMachine } from '../../../src/machines/durable-membership.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import { promises } from './durable-membership.promises.ts';

export const samples = samplesOf(durableMembershipMachine, {
  inputs: { general: { channel: 'team.general' } },
  events: [
    { type: 'join.requested' },
    { type: 'leave.requested' },
    { type: 'connection.lost' },
    { type: 'connection.restored' },
    { type: 'live.bound', at: 1_000 },
    { type: 'live.refused', reason: 'the broker denied it' },
    { type: 'live.lost', reason: 'the connection closed' },
    { type: 'plane.ready' },
    { type: 'class.durable' },
    { type: 'class.live', reason: 'the channel is live', at: 2_000 },
  ],
  answers: {
    askDurable: [
      { type: 'durable.granted', generation: 1, joinCursor: 10 },
      { type: 'durable.granted', generation: 2, joinCursor: 20 },
      { type: 'durable.granted', generation: 2, joinCursor: 15 },
      { type: 'durable.withheld', reason: 'the ACL does not cover it', at: 3_000 },
      { type: 'durable.unanswered', reason: 'no responders', at: 4_000 },
      { type: 'membership.closed', generation: 2 },
    ],
    closeDurable: [
      { type: 'leave.closed', generation: 2, dropped: 3 },
      { type: 'leave.absent' },
      { type: 'leave.refused', reason: 'generation 9 does not exist' },
      { type: 'leave.unanswered', reason: 'no responders' },
    ],
  },
  clamp: ({ backstop: { generation, joinCursor, closed, owedLeave } }) => ({
    generation,
    joinCursor,
    closed,
    owedLeave,
  }),
  goals: ['Left', 'Subscribed.JoinedDurable.Standing', 'Subscribed.JoinedLive.Resting'],
  bounded: { Left: 'the agent, who joins when it wants to' },
  happy: [
    'Left',
    'Subscribed.JoiningLive',
    'Subscribed.JoinedLive.Asking.Once',
    'Subscribed.JoinedDurable.Standing',
    'Closing.Asking',
  ],
  promises,
});
