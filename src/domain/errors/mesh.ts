import { defineErrors } from './define.ts';

/** Refusals and failures of the mesh: the broker, its streams and its credentials. */
export const meshErrors = defineErrors({
  'wire.message': {
    kind: 'refuse',
    template: 'message on {subject} is not a post: {reason}',
    help: 'It was acknowledged, counted and dropped.',
  },
});
