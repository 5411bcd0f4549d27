/** A daemon without a fence: between a decision and its effect nobody asks whether it still serves. */
import { setTimeout as pause } from 'node:timers/promises';
import { ServingPeriod } from '../../services/delivery/period.ts';
import { Fence, PeriodGate } from '../../services/fence.ts';

/** So long a decision waits for its effect; somebody who is paused is paused here. */
const BETWEEN_MS = 1_500;

Fence.prototype.holds = () => true;
PeriodGate.prototype.close = () => {};

const open = ServingPeriod.prototype.open;
ServingPeriod.prototype.open = function (this: ServingPeriod) {
  const { entries } = this.ports;
  const storeAll = entries.storeAll.bind(entries);
  entries.storeAll = async (of) => {
    await pause(BETWEEN_MS);
    return storeAll(of);
  };
  return open.call(this);
};
