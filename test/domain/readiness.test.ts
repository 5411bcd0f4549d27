/** When a daemon says that it is ready (D1, L1): on its lease row, by which everybody outside goes, and to its own system. */
import { expect, it } from 'vitest';
import type { LogName } from '../../src/domain/log-events/catalogue.ts';
import { numbers } from '../../src/domain/numbers.ts';
import { MemoryBroker } from '../../src/services/memory/broker.ts';
import { Faults } from '../../src/services/memory/faults.ts';
import { memoryLeaseRows } from '../../src/services/memory/lease-rows.ts';
import { type Pace, Wire } from '../../src/services/memory/wire.ts';
import { MemoryDaemon } from '../support/world/daemon.ts';
import { WorldTime } from '../support/world/time.ts';

/** Everything that is on its way arrives; nothing of the memory broker waits for more than a turn of the loop. */
async function arrived(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A daemon whose subscription to the confirmations is bound at the broker when the test says so. */
async function started({ refusals = 0 } = {}) {
  const time = new WorldTime();
  const broker = new MemoryBroker({ clock: time.clock, space: 'main' });
  time.clock.onAdvance(() => broker.tick());
  let bind = () => {};
  const faults = new Faults();
  faults.deny('copies.hearSettled', refusals);
  const pace: Pace = async (verb, leg) => {
    if (verb === 'copies.hearSettled' && leg === 'news') await new Promise<void>((resolve) => (bind = resolve));
  };
  const daemon = new MemoryDaemon({ broker, time, incarnation: 'one', faults, pace });
  daemon.start();
  await arrived();
  const rows = memoryLeaseRows(new Wire({ broker }));
  return {
    /** What the lease row says, and what the daemon itself does. */
    ready: async () => {
      const read = await rows.read();
      return [read.kind === 'row' && read.row.ready, daemon.isServing];
    },
    bind: async () => {
      bind();
      await arrived();
    },
    wait: async (ms: number) => {
      time.advance(ms);
      await arrived();
    },
    /** What the subscription says when the broker ends it. */
    lose: async () => {
      const { reader } = daemon.actor.system.get('daemon').getSnapshot().children;
      reader.send({ type: 'confirmations.lost', why: 'the subscription ended' });
      await arrived();
    },
    told: (event: LogName) => daemon.journal.told(event).length,
  };
}

it('a daemon is ready when its subscription to the confirmations is bound, and not before', async () => {
  const { ready, bind, wait } = await started();
  await wait(numbers.leaseRenewMs);
  expect(await ready()).toEqual([false, false]);
  await bind();
  expect(await ready()).toEqual([true, true]);
});

it('one that hears no confirmations any more is not ready until it hears them again, and says why', async () => {
  const { ready, bind, lose, told } = await started();
  await bind();
  await lose();
  expect(await ready()).toEqual([false, false]);
  expect(told('confirmations.lost')).toBe(1);
  expect(told('daemon.quiesced')).toBe(1);
  await bind();
  expect(await ready()).toEqual([true, true]);
});

it('one whose subscription is refused goes on asking for it, says so each time, and does not begin anew for that', async () => {
  const { ready, bind, wait, told } = await started({ refusals: 2 });
  await bind();
  await wait(1_000);
  await bind();
  await wait(1_000);
  expect([told('confirmations.lost'), told('daemon.quiesced'), await ready()]).toEqual([2, 0, [false, false]]);
  await bind();
  expect(await ready()).toEqual([true, true]);
});
