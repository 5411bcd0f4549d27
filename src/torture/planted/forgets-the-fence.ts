/** A daemon without a fence: between a decision and its effect nobody asks whether it still serves. */
import { setTimeout as pause } from 'node:timers/promises';
import { NatsConnectionImpl } from '@nats-io/nats-core/internal';
import { ServingPeriod } from '../../services/delivery/period.ts';
import { Fence, PeriodGate } from '../../services/fence.ts';

/** So long a decision waits for its effect; somebody who is paused is paused here … */
const BETWEEN_MS = 1_500;
/** … and needs so long again to come round: what goes out then was not on its way when the process was frozen. */
const ROUND_MS = 600;
/** So long it keeps its connection when it has learned that another one serves. */
const LINGERS_MS = 1_500;

Fence.prototype.holds = () => true;
PeriodGate.prototype.close = () => {};

const open = ServingPeriod.prototype.open;
ServingPeriod.prototype.open = function (this: ServingPeriod) {
  const { entries } = this.ports;
  const storeAll = entries.storeAll.bind(entries);
  entries.storeAll = async (of) => {
    const decided = performance.now();
    await pause(BETWEEN_MS);
    if (performance.now() - decided > 2 * BETWEEN_MS) await pause(ROUND_MS);
    return storeAll(of);
  };
  return open.call(this);
};

const close = NatsConnectionImpl.prototype.close;
NatsConnectionImpl.prototype.close = async function (this: NatsConnectionImpl) {
  await pause(LINGERS_MS);
  return close.call(this);
};
