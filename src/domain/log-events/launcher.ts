import { defineEvents } from './define.ts';

/** What `cotal up` and `cotal down` log. The two lines about a restart have no prefix: that is how they are written down. */
export const launcherEvents = defineEvents({
  'up.restarting': {
    level: 'warn',
    line: 'delivery daemon exited ({cause}) while nats-server is running - restarting it',
    meaning: 'A daemon that this `up` keeps died badly. It is started again at once.',
  },
  'up.running-again': {
    level: 'info',
    line: 'delivery daemon running again',
    meaning: 'The responder of the replacement is bound.',
  },
  'up.restart-failed': {
    level: 'warn',
    line: '! delivery daemon could not be restarted: {reason}; next attempt in {seconds} s',
    meaning:
      'A replacement ended before it served. The next attempt is made when the lease row in its way can have ended.',
  },
  'up.manager-restarting': {
    level: 'warn',
    line: 'manager exited ({cause}) while nats-server is running - restarting it',
    meaning: 'A manager that this `up` keeps died badly. It is started again at once.',
  },
  'up.manager-again': { level: 'info', line: 'manager running again', meaning: 'The replacement serves.' },
  'up.manager-restart-failed': {
    level: 'warn',
    line: '! manager could not be restarted: {reason}; next attempt in {seconds} s',
    meaning: 'A replacement ended before it served.',
  },
  'up.delivery-unbound': {
    level: 'warn',
    line: '! delivery daemon (pid {pid}) is running, but its responder is not bound: posts are not copied and no join becomes durable until it is; see {log}',
    meaning: 'The daemon is alive and does not serve. It is announced as soon as it does.',
  },
  'up.manager-unbound': {
    level: 'warn',
    line: '! manager (pid {pid}) is running, but does not serve: agents are neither added nor retired until it does; see {log}',
    meaning: 'The manager is alive and does not serve.',
  },
  'up.child-left': {
    level: 'warn',
    line: '! up: {name} (pid {pid}) was to be stopped and still runs: {reason}; it is not started again when it ends',
    meaning: 'A stop that was asked for did not come about. "cotal down" asks for it again.',
  },
  'up.child-stopped': {
    level: 'info',
    line: '• up: {name} ended ({cause}); it stays stopped',
    meaning: 'It ended cleanly, by a signal, or because somebody stopped it. `cotal up` starts it again.',
  },
  'up.failed': {
    level: 'error',
    line: '✗ up: {reason}',
    meaning: 'What was asked for is not there, and why. What this run had started was stopped again.',
  },
  'up.broker-exited': {
    level: 'warn',
    line: '! up: nats-server exited ({cause}); stopping what depends on it',
    meaning: 'The broker ended under a foreground `up`.',
  },
  'up.signalled': {
    level: 'info',
    line: '• up: received {signal}, stopping',
    meaning: 'Somebody asked `up` to stop: delivery, manager and broker are stopped, one after the other.',
  },
  'up.stopped': { level: 'info', meaning: 'One stop has ended, and how.' },
  'up.adopted': {
    level: 'info',
    line: '• up: {what} runs already (pid {pid})',
    meaning: 'What runs is kept; only what is missing is started.',
  },
  'up.minted': {
    level: 'info',
    meaning: 'Credentials were made anew, and why.',
  },
  'up.record-replaced': {
    level: 'warn',
    line: "! up: this machine's registry had another root for space {space}, {recorded}; it now has {root}",
    meaning: 'The registry has one mesh a space. Commands on the other root need "cotal up" there first.',
  },
  'up.live-only': {
    level: 'info',
    line: '• up: open mode: live only, no delivery daemon, nothing is kept for members that are away',
    meaning: 'Open mode has no trusted reader, so there is no durable backstop.',
  },
  'stop.killing': {
    level: 'warn',
    line: '! {target} (pid {pid}) has not exited {seconds} s after SIGTERM; sending SIGKILL',
    meaning: 'It did not heed the signal. Its credential is removed once its death is confirmed.',
  },
  'stop.cleared': {
    level: 'warn',
    line: '! {target}: the record was stale ({reason}) and was removed; nothing was signalled',
    meaning: 'The record did not name a running process of ours.',
  },
});
