import { defineEvents } from './define.ts';

/** What the watching of a process logs: inspector, metrics, recordings. */
export const inspectorEvents = defineEvents({
  'machine.stepped': {
    level: 'debug',
    meaning: 'One step of one machine: the event, the facts that followed from it, the states before and after.',
  },
  'door.opened': {
    level: 'info',
    line: '• {process}: {what} at {url}',
    meaning: 'Somebody on this machine may look. The inspector wants a token, which "cotal inspect" knows.',
  },
  'door.refused': {
    level: 'warn',
    line: '! {process}: {what} has no port ({port}: {why}); it is tried again, and nothing waits for it',
    meaning: 'The port is taken, or the listener was lost. The process does its work all the same.',
  },
  'viewer.refused': {
    level: 'warn',
    meaning:
      'Somebody without the token, from another page or with another method was refused. Told once for each reason.',
  },
  'inspector.fault': {
    level: 'error',
    meaning: 'Something in the watching of the machines failed. The machines do not notice. Told once.',
  },
  'recording.began': { level: 'info', meaning: 'Every step of every machine is written to a file.' },
  'recording.ended': {
    level: 'warn',
    line: '! {process}: the recording {file} ends here ({why}); the process goes on without it',
    meaning: 'The file cannot be written any more, or has reached its limit. What is in it can be replayed.',
  },
});
