/** What the root system of a delivery daemon is told at its start: who it is, and its numbers. */
import type { InputFrom } from 'xstate';
import type { Numbers } from './domain/numbers.ts';
import type { systemMachine } from './machines/system.machine.ts';

/** Principal of every delivery daemon. */
export const HOLDER = 'local.delivery';

export const systemInput = (of: {
  incarnation: string;
  standby: boolean;
  numbers: Numbers;
}): InputFrom<typeof systemMachine> => {
  const { incarnation, standby, numbers } = of;
  return {
    daemon: {
      nameWaitMs: numbers.nameWaitMs,
      lease: { holder: HOLDER, incarnation, standby },
      reader: {
        laneLimit: numbers.laneLimit,
        placingLimit: numbers.placingLimit,
        restingLimit: numbers.restingLimit,
        inventory: { room: numbers.inventoryRoom },
        lane: {
          window: numbers.windowSize,
          retries: numbers.giveUpRetries,
          backOffMs: numbers.backOffMs,
          backOffLimitMs: numbers.backOffLimitMs,
          removalBatch: numbers.removalBatch,
        },
      },
    },
    brokerWatch: { connection: 1, windowMs: numbers.brokerGoneMs, backstopMs: numbers.brokerGoneBackstopMs },
    credential: { connection: 1, backstopMs: numbers.brokerGoneBackstopMs },
  };
};
