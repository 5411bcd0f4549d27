import { copiesContract } from './copies.contract.ts';
import { entriesContract } from './entries.contract.ts';
import type { Ground } from './ground.ts';
import { leaseRowsContract } from './lease-rows.contract.ts';
import { outcomesContract } from './outcomes.contract.ts';
import { postsContract } from './posts.contract.ts';
import { railsContract } from './rails.contract.ts';
import { restartContract } from './restart.contract.ts';
import { rowWatchContract } from './row-watch.contract.ts';
import { rowsContract } from './rows.contract.ts';

/** Every contract there is, over one ground. */
export function keepsEveryContract(on: () => Ground): void {
  for (const contract of [
    postsContract,
    entriesContract,
    copiesContract,
    rowsContract,
    rowWatchContract,
    leaseRowsContract,
    railsContract,
    outcomesContract,
    restartContract,
  ]) {
    contract(on);
  }
}
