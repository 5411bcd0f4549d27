import { defineErrors } from './define.ts';

/** Refusals and failures of the provider link: the side of the node's owner. */
export const linkErrors = defineErrors({
  'link.number': {
    kind: 'refuse',
    exit: 64,
    template: '{variable} is "{input}", not a whole number from 1 to 2147483647 of a name that is known',
    help: 'Nothing was started. Unset it for the usual value.',
  },
});
