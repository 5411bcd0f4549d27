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
    help: 'No credential was made. Run the same command again; where it then says that the agent is there already, retire that one first (cotal agent retire): nobody has a credential of it.',
  },
  'agent.unknown': {
    kind: 'refuse',
    template: 'there is no active agent {principal} ({state})',
    help: 'Nothing was changed. "cotal agent list" shows the agents of the space.',
  },
  'agent.not-retired': {
    kind: 'retry',
    template: 'agent {principal} is not retired yet: {reason}',
    help: 'It is retiring, and its credentials are revoked where that step was reached. Run the same command again: it goes on.',
  },
  'manager.session': {
    kind: 'refuse',
    template: 'session {session}: {reason}',
    help: 'Nothing was issued.',
  },
  'manager.silent': {
    kind: 'retry',
    template: 'the manager holds its lease and does not answer on ctl.manager ({reason})',
    help: 'What was asked for may have been done or not. See its log, then run the same command again.',
  },
  'manager.unknown': {
    kind: 'retry',
    template: 'whether a manager serves cannot be told: its lease row was not read: {reason}',
    help: 'Nothing was done. Try again, or see what is wrong with "cotal status".',
  },
  'manager.refused': {
    kind: 'refuse',
    template: 'the manager refused: {reason}',
    help: 'Nothing was changed beyond what the reason says.',
  },
  'manager.unauthorized': {
    kind: 'refuse',
    template: 'the broker at {url} does not accept what the keys under {root} sign for space {space}: {reason}',
    help: 'Nothing was claimed. This root has other keys than the mesh: name the right one with --root, or the right broker with --server.',
  },
  'manager.no-keys': {
    kind: 'refuse',
    template: 'agent {principal} has no credential under this root ({path})',
    help: 'Nothing was changed. Run this where the agent was added.',
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
