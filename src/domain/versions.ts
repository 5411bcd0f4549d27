/** Versions of the broker: `major.minor.patch`, compared by number. */

/** Least nats-server that plane3 runs on: atomic batches, per-message TTL and schedules came with it. */
export const NATS_SERVER_NEED = '2.12.0';

/** Least nats-server that was seen to say in its health which streams it has stopped. */
export const TELLS_STOPPED_STORES = '2.14.0';

const numbersOf = (version: string): number[] => version.split('.').map(Number);

/** True when `version` is not older than `need`; a suffix after `-` (a pre-release) is not looked at. */
export function isAtLeast(version: string, need: string): boolean {
  const have = numbersOf(version.split('-')[0] ?? '');
  const want = numbersOf(need);
  for (let i = 0; i < want.length; i++) {
    const difference = (have[i] ?? 0) - (want[i] ?? 0);
    if (Number.isNaN(difference)) return false;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

/** The version in what `nats-server --version` prints, or undefined when it prints something else. */
export const readServerVersion = (output: string): string | undefined =>
  /^nats-server:? v?(\d+\.\d+\.\d+[^\s]*)\s*$/m.exec(output)?.[1];
