/** A stop gives the lease back as long as it has time: what is left behind keeps a successor out for the row's whole life. */
import { expect, it } from 'vitest';
import { releaseLimit } from '../../src/domain/lease.ts';
import { numbers } from '../../src/domain/numbers.ts';
import { startAlone } from '../support/world/alone.ts';

it('a stop that meets a renewal on a slow broker looks at the row and gives it back', async () => {
  const { daemon, faults, bind, wait, row } = await startAlone();
  await bind();
  faults.delay(3_000, 'leaseRows.*');
  await wait(numbers.leaseRenewMs);
  daemon.stop();
  await wait(0);
  // The release meets the renewal's revision, the row is looked at, and the next release is the one.
  for (let request = 0; request < 3; request++) await wait(3_000);
  expect([(await row()).kind, daemon.actor.getSnapshot().status]).toEqual(['absent', 'done']);
});

it('a broker that answers nothing ends the wait before the stop is killed, with time to close', async () => {
  const { daemon, faults, bind, wait } = await startAlone();
  await bind();
  faults.hold('leaseRows.*');
  daemon.stop();
  await wait(releaseLimit(numbers));
  expect(daemon.actor.getSnapshot().status).toBe('done');
  expect(releaseLimit(numbers) + numbers.drainMs).toBeLessThan(numbers.stopGraceMs);
  expect(releaseLimit({ ...numbers, stopGraceMs: 3_000 })).toBe(numbers.drainMs);
});
