import { defineErrors } from './define.ts';

/** Refusals and failures of the delivery daemon and its rails. */
export const deliveryErrors = defineErrors({
  'rail.unknown-op': {
    kind: 'refuse',
    template: 'operation "{op}" is not served on {rail}',
    help: 'Nothing was done. The operations of this rail are listed in docs/contract.md.',
  },
  'rail.bad-args': {
    kind: 'refuse',
    template: '{op}: {reason}',
    help: 'Nothing was done.',
  },
  'rail.too-large': {
    kind: 'refuse',
    template: "the reply to {op} is {bytes} bytes, more than the broker's max_payload of {limit}",
    help: 'Ask for less at a time (a smaller limit), or raise max_payload of the broker.',
  },
  'rail.not-wired': {
    kind: 'refuse',
    template: '{op} is not available on this daemon: {reason}',
    help: 'Nothing was done.',
  },
  'rail.no-lifecycle': {
    kind: 'refuse',
    template: '{principal} has no live lifecycle with a read ACL',
    help: 'Add the agent again, or check its ACL row with "cotal agent list".',
  },
  'rail.several-lifecycles': {
    kind: 'refuse',
    template: '{principal} has {count} live lifecycles; which one is meant cannot be told',
    help: 'Retire the ones that are not in use with "cotal agent retire".',
  },
  'rail.not-readable': {
    kind: 'refuse',
    template: 'the read ACL of {principal} does not cover {channel}',
    help: 'Nothing was read. Ask for a grant with "cotal agent grant".',
  },
});
