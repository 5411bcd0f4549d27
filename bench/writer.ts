/** The fan-out writer by itself: its machine over the real ports, without lanes, to measure what it alone can do. */
import { createActor, setup } from 'xstate';
import { numbers } from '../src/domain/numbers.ts';
import type { FanoutReport } from '../src/machines/fanout.machine.ts';
import { bindFanout } from '../src/services/bind-delivery.ts';
import { ServingPeriod } from '../src/services/delivery/period.ts';
import { PeriodGate } from '../src/services/fence.ts';
import { systemClock } from '../src/services/local/clock.ts';
import { natsDeliveryPorts } from '../src/services/nats/delivery-ports.ts';
import { Resident } from '../src/services/nats/resident.ts';
import { Tally } from '../src/services/tally.ts';
import { type BenchSpace, heldFence, silentJournal, TIMEOUT_MS } from './space.ts';

export interface Writer {
  readonly tally: Tally;
  readonly period: ServingPeriod;
  start(): void;
  stop(): Promise<void>;
}

export async function openWriter({ mesh }: BenchSpace): Promise<Writer> {
  const tally = new Tally();
  const credential = await mesh.credsFor('delivery');
  const resident = await Resident.open(
    { url: mesh.url, name: 'bench writer', credential },
    { clock: systemClock, pingIntervalMs: 60_000, maxPingOut: 5 },
    1,
  );
  const gate = new PeriodGate({ fence: heldFence(), isConnected: () => resident.isUp() });
  const setting = { space: mesh.space, writerIdentity: 'bench', journal: silentJournal, tally, clock: systemClock };
  const period = new ServingPeriod({
    ports: natsDeliveryPorts({ resident, gate: gate.why, incarnation: 'bench', timeoutMs: TIMEOUT_MS, ...setting }),
    setting: {
      ...setting,
      window: numbers.windowSize,
      batchSize: numbers.batchSize,
      inventoryFrom: numbers.inventoryFrom,
      quota: 10_000_000,
      handlers: {},
    },
    tell: () => {},
  });
  const opened = await period.open();
  if (opened.kind !== 'open') throw new Error(`the index of the bench: ${opened.why}`);
  const fanout = bindFanout({ period: () => period, journal: silentJournal, tally, numbers });
  const parent = setup({ types: { events: {} as FanoutReport }, actors: { fanout } }).createMachine({
    invoke: { id: 'fanout', src: 'fanout' },
  });
  const actor = createActor(parent);
  return {
    tally,
    period,
    start: () => void actor.start(),
    stop: async () => {
      actor.stop();
      gate.close('the measurement is over');
      period.close();
      await resident.close();
    },
  };
}
