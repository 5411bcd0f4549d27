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
});
