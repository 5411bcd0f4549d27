import { defineErrors } from './define.ts';

/** Refusals and failures of `cotal up`, `cotal down` and `cotal doctor`. */
export const launcherErrors = defineErrors({
  'up.port-in-use': {
    kind: 'refuse',
    template: 'port {port} on {host} is in use by another program',
    help: 'Nothing was started. Choose another one with --port (0 takes a free one), or stop that program.',
  },
  'up.broker-too-old': {
    kind: 'refuse',
    template: 'nats-server {version} is too old; at least {need} is needed',
    help: 'Nothing was started. Name a newer one in COTAL_NATS_SERVER.',
  },
  'up.broker-exited': {
    kind: 'fatal',
    template: 'nats-server ended at once ({cause}): {lines}; see {log}',
    help: 'Nothing was left running.',
  },
  'up.broker-silent': {
    kind: 'fatal',
    template: 'nats-server does not answer: {why}; see {log}',
    help: 'Nothing else was started. "cotal down broker" stops one that hangs.',
  },
  'up.store-stopped': {
    kind: 'refuse',
    template: 'the broker (process {pid}) takes no write any more to {stopped}',
    help: 'Nothing was changed. Free space on the disk of .cotal/broker/store, then "cotal down" and "cotal up": a stopped stream takes writes again when the broker is started again.',
  },
  'up.differs': {
    kind: 'refuse',
    template: 'the store of space {space} differs from what was asked for: {differences}',
    help: 'Nothing was changed. Leave the options out to keep what is there.',
  },
  'up.provision': {
    kind: 'fatal',
    template: 'the broker did not make {what}: {reason}',
    help: 'What was made before stays. Run the same command again when the reason is gone.',
  },
  'up.running-otherwise': {
    kind: 'refuse',
    template: 'the broker runs with {setting} {have}; {wanted} was asked for',
    help: 'Nothing was changed. Stop it first with "cotal down", then "cotal up" with that option.',
  },
  'up.mode': {
    kind: 'refuse',
    template: 'the mesh of {root} is {have}, not {wanted}',
    help: 'Nothing was changed. Choose another --root for {wanted}.',
  },
  'up.open-tls': {
    kind: 'refuse',
    exit: 64,
    template: '--open and --tls exclude each other: an open mesh is for one machine and one user',
    help: 'Nothing was started.',
  },
  'down.busy': {
    kind: 'refuse',
    template: '{target} is being stopped already, by process {pid}',
    help: 'Nothing was signalled. Wait for that stop to end.',
  },
  'down.needed': {
    kind: 'refuse',
    template: 'the broker is needed by {names}',
    help: 'Nothing was signalled. Stop that first: "cotal down" stops everything of a space in the right order.',
  },
  'down.survived': {
    kind: 'fatal',
    template: '{target} (process {pid}) is still there after SIGKILL',
    help: 'Its record and its credential were left as they are. Look at the process itself.',
  },
  'down.failed': {
    kind: 'fatal',
    template: '{target} could not be stopped: {reason}',
    help: 'Its record and its credential were left as they are.',
  },
});
