/** What a process of this machine holds, as the kernel tells it. Linux only: elsewhere nothing is known, and NaN is said. */
import { readdirSync, readFileSync } from 'node:fs';

/** A tick of the kernel's accounting, milliseconds. */
const TICK_MS = 10;

export interface Held {
  readonly rss: number;
  readonly descriptors: number;
  /** Time of the processors that it has had. */
  readonly cpuMs: number;
}

export function heldBy(pid: number): Held {
  try {
    const after = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const rss = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return {
      rss: Number(rss) * 1024,
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      cpuMs: (Number(after[11]) + Number(after[12])) * TICK_MS,
    };
  } catch {
    return { rss: Number.NaN, descriptors: Number.NaN, cpuMs: Number.NaN };
  }
}
