import { defineErrors } from './define.ts';

/** Refusals and failures around the lifecycles of agents. */
export const agentErrors = defineErrors({
  'agent.exists': {
    kind: 'refuse',
    template: 'agent {principal} is there already ({state})',
    help: 'Nothing was changed. Names are unique without regard to case; retire that agent first, or choose another name.',
  },
  'agent.step': {
    kind: 'retry',
    template: 'agent {principal}: {step} did not succeed: {reason}',
    help: 'No credential was made. Run the same command again: what was begun is taken up or left unused.',
  },
  'agent.list': {
    kind: 'retry',
    template: 'the agents cannot be told: {what} was not answered: {reason}',
    help: 'Nothing was changed. Try again, or see what is wrong with "cotal status".',
  },
  'channel.set': {
    kind: 'retry',
    template: 'the row of channel {channel} was not written: {reason}',
    help: 'Nothing was changed. Try again, or see what is wrong with "cotal status".',
  },
  'channel.list': {
    kind: 'retry',
    template: 'the channels cannot be told: {what} was not answered: {reason}',
    help: 'Nothing was changed. Try again, or see what is wrong with "cotal status".',
  },
});
