/** How a command that stays is watched: `--inspect`, `--http`, and every step in its log at debug. What does it is loaded when it is asked for. */
import type { AddressName } from '../inspector/address.ts';
import type { Watch } from '../inspector/watch.ts';
import type { Journal } from '../services/ports.ts';
import { portOf } from './flags.ts';

export const inspectFlag = '--inspect [port]';

/** Port of `--inspect`, which may stand alone; undefined where it was not given. */
export const inspectPort = (given: string | true | undefined): number | undefined =>
  given === undefined ? undefined : given === true ? 0 : portOf('--inspect')(given);

export const recordFlag = '--record <file>';
export const httpFlag = '--http <port>';

/** Undefined where nobody asked to watch. */
export async function watched(
  options: AddressName & {
    readonly journal: Journal;
    readonly inspect: number | undefined;
    readonly http?: number | undefined;
    readonly record?: string | undefined;
  },
): Promise<Watch | undefined> {
  const steps = process.env.COTAL_LOG_LEVEL === 'debug';
  const { inspect, http, record } = options;
  if (inspect === undefined && http === undefined && record === undefined && !steps) return undefined;
  const { watchProcess } = await import('../inspector/watch.ts');
  return watchProcess({ ...options, steps });
}
