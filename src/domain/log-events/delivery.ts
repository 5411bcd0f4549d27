import { defineEvents } from './define.ts';

/** What a delivery daemon logs. Prefixes: ✗ fatal, ! warning, • note, ✓ good news. */
export const deliveryEvents = defineEvents({
  'broker.gone': {
    level: 'error',
    line: '✗ delivery: broker connection unavailable (broker unreachable), exiting (coupled to the broker)',
    meaning: 'The broker was away for the whole window, stalls of this process not counted.',
  },
  'broker.past-backstop': {
    level: 'error',
    line: '✗ delivery: broker connection unavailable past backstop (broker unreachable), exiting (coupled to the broker)',
    meaning: 'The broker was away for the whole backstop, by the wall clock.',
  },
  'credential.expired': {
    level: 'warn',
    line: '! delivery: credential expired, awaiting proved renewal',
    meaning: 'The broker no longer takes the credential. Only a renewal that the broker accepted ends the wait.',
  },
  'credential.lapsed': {
    level: 'error',
    line: '✗ delivery: credential expired without renewal',
    meaning: 'No proved renewal came before the backstop.',
  },
  'daemon.signalled': {
    level: 'info',
    line: '• delivery: received {signal}, exiting (space {space}, shard 0)',
    meaning: 'Somebody asked the daemon to stop. A SIGKILL leaves no line.',
  },
});
