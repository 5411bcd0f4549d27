import { defineErrors } from './define.ts';

/** Refusals of the inspector, the recordings and the metrics. */
export const inspectorErrors = defineErrors({
  'inspect.none': {
    kind: 'refuse',
    template: 'nothing of space {space} is running with --inspect under {root}',
    help: 'Nothing was opened. Start it with "cotal up --inspect" or "cotal deliver --inspect".',
  },
  'inspect.other': {
    kind: 'refuse',
    template: '{what} of space {space} does not run with --inspect; these do: {running}',
    help: 'Nothing was opened. Name one of those, or start {what} with --inspect.',
  },
  'record.file': {
    kind: 'refuse',
    template: 'the recording {path} cannot be written: {reason}',
    help: 'Nothing was started. Name a new file in a folder that is there.',
  },
  'replay.file': {
    kind: 'refuse',
    template: '{path} cannot be replayed: {reason}',
    help: 'Nothing was replayed. A recording is made with "cotal deliver --record FILE".',
  },
});
