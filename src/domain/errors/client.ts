import { defineErrors } from './define.ts';

/** Refusals and failures on the agent's side. */
export const clientErrors = defineErrors({
  'client.credential': {
    kind: 'refuse',
    template: 'this is not the credential of an agent: {reason}',
    help: 'Nothing was dialled. Take the creds file that "cotal agent add" wrote.',
  },
});
