import { defineErrors } from './define.ts';

/** Refusals and failures on the agent's side. */
export const clientErrors = defineErrors({
  'client.credential': {
    kind: 'refuse',
    template: 'this is not the credential of an agent: {reason}',
    help: 'Nothing was dialled. Take the creds file that "cotal agent add" wrote.',
  },
  'broker.unreachable': {
    kind: 'retry',
    template: 'the broker at {url} cannot be used: {reason}',
    help: 'Nothing was sent. Start the mesh with "cotal up", or see what is wrong with "cotal status".',
  },
  'client.no-durable': {
    kind: 'refuse',
    template: 'the delivery durable {durable} of space {space} is not there: {reason}',
    help: 'It was not made: that is the part of the manager. Add the agent again with "cotal agent add", or check which space this credential belongs to.',
  },
  'client.reading': {
    kind: 'refuse',
    template: 'the inbox of {member} is being read already by this client',
    help: 'Nothing was pulled. End the other loop first, or share what it surfaces.',
  },
  'client.pull-lost': {
    kind: 'retry',
    template: 'the broker does not answer the pull of {durable}',
    help: 'Nothing was confirmed that was not surfaced. Try again, or see what is wrong with "cotal status".',
  },
  'client.closed': {
    kind: 'refuse',
    template: 'the client of {member} is closed: {reason}',
    help: 'Nothing more is sent; what was under way may have been done. Connect again.',
  },
  'join.refused': {
    kind: 'refuse',
    template: '{member} may not join {channel}: {reason}',
    help: 'It is not joined. Ask for a grant that covers the channel with "cotal agent grant".',
  },
  'post.denied': {
    kind: 'refuse',
    template: '{member} may not post to {channel}: the broker denied {subject}',
    help: 'Nothing was stored. Ask for a grant that covers the channel with "cotal agent grant".',
  },
  'post.refused': {
    kind: 'refuse',
    template: 'the post to {channel} was refused by the broker: {reason}',
    help: 'Nothing was stored.',
  },
  'post.malformed': {
    kind: 'refuse',
    exit: 64,
    template: 'the post to {channel} is not well-formed: {reason}',
    help: 'Nothing was sent.',
  },
  'post.unanswered': {
    kind: 'retry',
    template: 'the broker did not answer for the post {id} to {channel} ({reason})',
    help: 'It may have been stored, or not. Post it again with the same id: a second one is then recognized.',
  },
  'rail.refused': {
    kind: 'refuse',
    template: '{op} was refused by the daemon: {reason} ({code})',
    help: 'Nothing was changed.',
  },
  'client.on-the-way': {
    kind: 'retry',
    template: 'entries are pending and did not come: {pending}, of them handed off: {handedOff}',
    help: 'They are on the way, in the hands of another process of this agent, or were confirmed a moment ago. Try again, or wait for them (--wait).',
  },
  'rail.silent': {
    kind: 'retry',
    template: 'no daemon answered {op} on {rail} ({reason})',
    help: 'Nothing is known of it, which is not the same as none. Try again when "cotal status" shows a delivery daemon that serves.',
  },
  'rail.unreadable': {
    kind: 'refuse',
    template: 'the reply to {op} on {rail} cannot be read',
    help: 'The daemon speaks another version, or somebody else answered.',
  },
});
