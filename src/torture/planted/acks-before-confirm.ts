/** A daemon that takes a copy for confirmed as soon as it is handed off: it goes before the member has seen it. */
import { ServingPeriod } from '../../services/delivery/period.ts';

const open = ServingPeriod.prototype.open;
ServingPeriod.prototype.open = function (this: ServingPeriod) {
  const { copies } = this.ports;
  const storeAll = copies.storeAll.bind(copies);
  copies.storeAll = async (of) => {
    const outcome = await storeAll(of);
    if (outcome.kind === 'stored') {
      const seqs = of.copies.map((_, i) => outcome.lastSeq - i);
      await copies.remove({ seqs });
    }
    return outcome;
  };
  return open.call(this);
};
