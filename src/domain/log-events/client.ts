import { defineEvents } from './define.ts';

/** What an agent's client logs. */
export const clientEvents = defineEvents({
  'client.plane-not-ready': {
    level: 'warn',
    line: '! client: bound {durable} of space {space}, but the delivery lease of this plane is {condition}; a daemon that starts later delivers through it. If another plane serves the space, reconnect against that one: it re-binds the durable there',
    meaning: 'The agent is connected to a plane on which no delivery daemon is ready. What is posted stays owed.',
  },
  'client.unestablished': {
    level: 'warn',
    line: '! client: {channel} is joined live, durable backstop unestablished: {reason}',
    meaning: 'Posts reach the agent only while it is subscribed. It is asked for again until it is established.',
  },
  'client.durable': {
    level: 'info',
    line: '✓ client: {channel} is joined durable (generation {generation})',
    meaning: 'What is posted from now on is kept for the agent until it has confirmed it.',
  },
  'client.left': { level: 'info', meaning: 'A channel is left, and why.' },
  'client.foreign-copy': {
    level: 'warn',
    line: '! client: a message in {durable} is no copy for this member ({why}); it is terminated, further ones of this kind are only counted',
    meaning: 'Something was steered onto the subject of the inbox. It is never surfaced.',
  },
  'client.poison-post': {
    level: 'warn',
    meaning: 'A message on a channel is no post; further ones of this kind are only counted.',
  },
  'client.live-dropped': {
    level: 'warn',
    line: '! client: nobody reads the inbox: {count} live posts were dropped, oldest first',
    meaning: 'Live delivery is at-most-once. Posts of durable channels are still owed.',
  },
  'client.closed': { level: 'error', meaning: 'The connection was closed for good, and why.' },
});
