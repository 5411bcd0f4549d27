/** When a daemon says that it is ready (D1, L1): on its lease row, by which everybody outside goes, and to its own system. */
import { expect, it } from 'vitest';
import { numbers } from '../../src/domain/numbers.ts';
import { startAlone } from '../support/world/alone.ts';

it('a daemon is ready when its subscription to the confirmations is bound, and not before', async () => {
  const { ready, bind, wait } = await startAlone();
  await wait(numbers.leaseRenewMs);
  expect(await ready()).toEqual([false, false]);
  await bind();
  expect(await ready()).toEqual([true, true]);
});

it('one that hears no confirmations any more is not ready until it hears them again, and says why', async () => {
  const { ready, bind, lose, told } = await startAlone();
  await bind();
  await lose();
  expect(await ready()).toEqual([false, false]);
  expect(told('confirmations.lost')).toBe(1);
  expect(told('daemon.quiesced')).toBe(1);
  await bind();
  expect(await ready()).toEqual([true, true]);
});

it('one whose subscription is refused goes on asking for it, says so each time, and does not begin anew for that', async () => {
  const { ready, bind, wait, told } = await startAlone({ refusals: 2 });
  await bind();
  await wait(1_000);
  await bind();
  await wait(1_000);
  expect([told('confirmations.lost'), told('daemon.quiesced'), await ready()]).toEqual([2, 0, [false, false]]);
  await bind();
  expect(await ready()).toEqual([true, true]);
});
