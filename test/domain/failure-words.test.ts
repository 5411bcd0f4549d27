import { expect, it } from 'vitest';
import { type DriverFailure, wordsOfFailure } from '../../src/services/nats/driver-errors.ts';

it.each<[DriverFailure | { kind: string; failure: DriverFailure }, string]>([
  [{ kind: 'refused', code: 10012, message: 'error creating store' }, 'error creating store (10012)'],
  [{ kind: 'failed', failure: { kind: 'timeout' } }, 'timeout'],
  [{ kind: 'denied', subject: 'a.b', operation: 'publish' }, 'publish on a.b was denied'],
  [{ kind: 'no-responders', subject: 'a.b' }, 'no-responders on a.b'],
  [{ kind: 'unexpected', message: 'broken' }, 'broken'],
])('what the broker did not do is told in words: %o', (failure, words) => {
  expect(wordsOfFailure(failure)).toBe(words);
});
