/**
 * What one sync of the disk takes that the broker's store lies on. A broker that syncs before it acknowledges is as fast as
 * its disk, and a shared disk is not as fast from one minute to the next: latency is read beside this.
 */
import { closeSync, fdatasyncSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { median, rounded } from '../figures.ts';

const SYNCS = 15;
const block = Buffer.alloc(4_096, 1);

/** Milliseconds, the median of some writes of 4 KiB that are synced one by one in a folder of their own under `folder`. */
export function syncMs(folder: string): number {
  const own = mkdtempSync(join(folder, 'sync-'));
  const file = openSync(join(own, 'file'), 'w');
  try {
    const took = Array.from({ length: SYNCS }, () => {
      const began = performance.now();
      writeSync(file, block);
      fdatasyncSync(file);
      return performance.now() - began;
    });
    return rounded(median(took), 2);
  } finally {
    closeSync(file);
    rmSync(own, { recursive: true });
  }
}
