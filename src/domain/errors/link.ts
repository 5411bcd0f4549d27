import { defineErrors } from './define.ts';

/** Refusals and failures of the provider link: the side of the node's owner. */
export const linkErrors = defineErrors({
  'link.number': {
    kind: 'refuse',
    exit: 64,
    template: '{variable} is "{input}", not a whole number from 1 to 2147483647 of a name that is known',
    help: 'Nothing was started. Unset it for the usual value.',
  },
  'link.address': {
    kind: 'refuse',
    exit: 64,
    template:
      '"{input}" is no address of a provider plane: ws://, wss://, http:// or https://, without a path, a token or a user',
    help: 'Nothing was started. Give the token by --token-file, COTAL_NODE_TOKEN or COTAL_WORKSPACE_KEY.',
  },
  'link.name': {
    kind: 'refuse',
    exit: 64,
    template: '{what} "{input}" is not 1 to 128 bytes without control characters',
    help: 'Nothing was started.',
  },
  'link.map': {
    kind: 'refuse',
    exit: 64,
    template: '"{input}" is no mapping: hostedName=owner.actor, each name once',
    help: 'Nothing was started.',
  },
  'link.no-agents': {
    kind: 'refuse',
    exit: 64,
    template: 'no agent is named: a link provides what --map or --agent names, and nothing else',
    help: 'Nothing was started. Give --map hostedName=owner.actor, or --agent hostedName to print what comes.',
  },
  'link.no-token': {
    kind: 'refuse',
    exit: 64,
    template: 'there is no token for node {node}',
    help: 'Nothing was started. Give --token-file, COTAL_NODE_TOKEN, or COTAL_WORKSPACE_KEY to have one made.',
  },
  'link.no-agent': {
    kind: 'refuse',
    template: 'agent {agent} of this space has no live lifecycle',
    help: 'Nothing was started. Add it with "cotal agent add", then start the link again.',
  },
});
