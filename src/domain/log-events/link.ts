import { defineEvents } from './define.ts';

/** What a provider link logs. Ids, codes and numbers; never a token, an address with one, or a body. */
export const linkEvents = defineEvents({
  'link.moved': { level: 'debug', meaning: 'The link went from one state to another.' },
  'link.ready': {
    level: 'info',
    line: '✓ provider: {provider} of node {node} is registered, with cursors',
    meaning: 'A registration was accepted on this very connection: from now on the link is connected.',
  },
  'link.rejected': {
    level: 'warn',
    line: '! provider: the registration of {provider} on node {node} was rejected: {code}',
    meaning:
      'The peer refused the registration. The socket is closed; the link dials again after the wait it was told.',
  },
  'link.failed': {
    level: 'warn',
    line: '! provider: not connected to node {node}: {code}',
    meaning: 'An attempt or a session ended. The link dials again by itself.',
  },
  'link.refused': {
    level: 'error',
    line: '✗ provider: refused on node {node}: {code}',
    meaning: 'There is no token that the peer takes. The link has ended; it needs a person.',
  },
  'link.waiting': { level: 'info', meaning: 'The link waits before it dials again; `waitMs` says for how long.' },
  'link.uncertified': {
    level: 'warn',
    meaning: 'A deliver came for an identity whose cursor this connection does not hold. It was not acknowledged.',
  },
  'link.gap': {
    level: 'warn',
    meaning: 'A deliver came that is not the next one. It was not acknowledged; an inventory is asked for at once.',
  },
  'link.inventory-refused': {
    level: 'warn',
    meaning: 'An inventory was refused, or could not be made; it is made again.',
  },
  'link.agent-refused': {
    level: 'warn',
    line: '! provider: agent {agent} is not ours on node {node}: {code}',
    meaning: 'The peer does not take this agent from us. It is asked again with each inventory.',
  },
  'link.agent-certified': { level: 'debug', meaning: 'An identity has its cursor on this connection.' },
  'link.skipped': {
    level: 'warn',
    meaning: 'The peer’s cursor is ahead of ours: what lies between will not come. `from` and `to` are sequences.',
  },
  'link.unreadable': { level: 'warn', meaning: 'A frame that cannot be read, told once by kind; all are counted.' },
  'link.unasked': { level: 'warn', meaning: 'An answer that nobody waits for, told once by kind; all are counted.' },
  'link.nameless': {
    level: 'warn',
    line: '! provider: the name of the broker, {host}, does not resolve ({reason}); next try in {seconds} s',
    meaning: 'The start of a bridge waits for the name service, as long as a daemon of the space would.',
  },
  'link.bridge-waiting': {
    level: 'warn',
    meaning: 'An entry could not be stored or looked for in the space. It is not acknowledged; it is tried again.',
  },
  'link.bridge-held-up': {
    level: 'warn',
    line: '! provider: what comes for {agent} waits: {why}; it is not acknowledged, and is tried again',
    meaning: 'This machine cannot do its part for an agent. Told once, until something gets through.',
  },
  'link.bridge-follows': {
    level: 'info',
    line: '✓ provider: what comes for {agent} goes to {member} from now on',
    meaning: 'The lifecycle that an agent was mapped to is retired, and another one of the same principal reads.',
  },
  'link.health-unwritten': {
    level: 'warn',
    line: '! provider: the health of the link is not kept: {why}',
    meaning: 'The health file cannot be written. The link goes on; told once, until it can be written.',
  },
  'link.bridge-unfit': {
    level: 'warn',
    line: '! provider: {agent} {seq} does not fit into the space: {why}; it is acknowledged and dropped',
    meaning: 'What came can be no entry of the space, now or later. Kept, it would block everything behind it.',
  },
});
