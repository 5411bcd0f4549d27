import { defineEvents } from './define.ts';

/** What `cotal manager` logs. */
export const managerEvents = defineEvents({
  'manager.nameless': {
    level: 'warn',
    line: '! manager: the name of the broker, {host}, does not resolve ({reason}); next try in {seconds} s',
    meaning:
      'The start waits for the name service, with longer and longer rests, for COTAL_MANAGER_NAME_WAIT_MS in all.',
  },
  'manager.proof': {
    level: 'info',
    line: '• manager: store proof {end}: {message}',
    meaning: 'Whether the daemon re-reads the store that this manager signs into. Only where it matched does it renew.',
  },
  'manager.not-owner': {
    level: 'warn',
    line: '! manager: it does not renew credentials: {message}',
    meaning: 'The daemon re-reads another store. The manager serves all the same; who shares the store has to renew.',
  },
  'manager.repaired': {
    level: 'info',
    line: '✓ manager: the frozen gate was {end}',
    meaning: 'An earlier manager had frozen the registration gate and was proved gone.',
  },
  'manager.registered': {
    level: 'info',
    line: '• manager: registered, epoch {processEpoch} ({holders} holders verified gone with {requests} requests)',
    meaning: 'Freeze, revocation, eviction, epoch and reopening have ended.',
  },
  'manager.serving': {
    level: 'info',
    line: '✓ manager: serving space {space}',
    meaning: 'The lease is ready and the rail is bound.',
  },
  'manager.doubt': {
    level: 'warn',
    line: '! manager: it does not serve for now: {why}',
    meaning: 'A doubt about the lease, or the rail was lost. It serves again when that is settled.',
  },
  'manager.signalled': {
    level: 'info',
    line: '• manager: received {signal}, exiting (space {space})',
    meaning: 'Somebody asked the manager to stop.',
  },
  'manager.refused': {
    level: 'error',
    line: '✗ manager: {message}',
    meaning: 'The manager does not serve, and why. Its lease was given back.',
  },
  'manager.ended': { level: 'info', meaning: 'The manager has ended, and why.' },
  'manager.renewal': { level: 'info', meaning: 'One pass of renewal has ended, and how.' },
  'manager.renewal-missed': {
    level: 'warn',
    line: '! manager: a renewal was missed ({outcome}; due: {names}): {reason}',
    meaning: 'It is tried again, with longer and longer rests, up to a minute and never past what its life allows.',
  },
  'manager.asked': { level: 'info', meaning: 'A request on the rail of the manager was answered.' },
  'manager.rail-fault': { level: 'error', meaning: 'A request could not be answered for a reason nobody expected.' },
  'manager.session-kept': {
    level: 'warn',
    line: '! manager: the holder of session {session} is not proved gone ({reason}); its row is kept',
    meaning: 'The next registration verifies it.',
  },
});
