/** A memory daemon that is alone with its broker: time goes on, and news of the confirmations arrive, when the test says so. */
import type { LogName } from '../../../src/domain/log-events/catalogue.ts';
import { MemoryBroker } from '../../../src/services/memory/broker.ts';
import { Faults } from '../../../src/services/memory/faults.ts';
import { memoryLeaseRows } from '../../../src/services/memory/lease-rows.ts';
import { type Pace, Wire } from '../../../src/services/memory/wire.ts';
import { MemoryDaemon } from './daemon.ts';
import { WorldTime } from './time.ts';

/** Everything that is on its way arrives; nothing of the memory broker waits for more than a turn of the loop. */
async function arrived(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Starts one. The subscription to the confirmations is refused this often before it is bound. */
export async function startAlone({ refusals = 0 } = {}) {
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
    daemon,
    faults,
    row: () => rows.read(),
    /** What the lease row says, and what the daemon itself does. */
    ready: async () => {
      const read = await rows.read();
      return [read.kind === 'row' && read.row.ready, daemon.isServing];
    },
    /** The broker has the subscription, or has refused it. */
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
