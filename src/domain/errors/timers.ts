import { defineErrors } from './define.ts';

/** Refusals of `cotal timer`. */
export const timerErrors = defineErrors({
  'timer.token': {
    kind: 'refuse',
    exit: 64,
    template: '{name} is "{input}", not one token: 1 to 128 of A-Z a-z 0-9 _ -',
    help: 'Nothing was asked for.',
  },
  'timer.deadline': {
    kind: 'refuse',
    exit: 64,
    template: '--at "{input}" is not a time with its zone from 1970 to {latest}',
    help: 'Nothing was asked for. Write it as 2030-01-31T12:00:00Z, or as milliseconds since the epoch. The broker counts nanoseconds in 64 bits: what lies beyond would fire at once.',
  },
  'timer.when': {
    kind: 'refuse',
    exit: 64,
    template: 'a timer needs either --at or --in',
    help: 'Nothing was asked for.',
  },
  'timer.ask': {
    kind: 'refuse',
    template: 'the timer {timerId} could not be asked for: {reason}',
    help: 'Look whether the broker has the stream of timer requests with "cotal doctor".',
  },
  'timer.list': {
    kind: 'retry',
    template: 'the timers cannot be listed: {reason}',
    help: 'Nothing is wrong with the timers themselves: ask again when the broker answers.',
  },
});
