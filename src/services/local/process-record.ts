/**
 * The record of a running process: `<root>/.cotal/<what>.<key>.pid`. Line 1 is the pid, line 2 `<boot id> <start ticks>`,
 * which together name one process for ever, or `-` where the system does not tell. Written by one rename, by the process
 * itself, and removed by it only while it names it.
 */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { spaceKey } from '../../domain/names.ts';
import type { ProcessRecord } from '../ports.ts';
import { cotalFolder } from './auth-store.ts';
import { readIfThere, writeAtomic } from './files.ts';

export type RecordedProcess = 'delivery' | 'manager' | 'broker';

export const recordPath = (root: string, what: RecordedProcess, space: string): string =>
  join(cotalFolder(root), `${what}.${spaceKey(space)}.pid`);

export const logPath = (root: string, what: RecordedProcess, space: string): string =>
  join(cotalFolder(root), `${what}.${spaceKey(space)}.log`);

/** `<boot id> <start ticks>` of a process, or undefined where the system does not tell. */
export function startOf(pid: number): string | undefined {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // The name in parentheses may hold anything; what counts comes after the last one.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const ticks = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
    return ticks === undefined ? undefined : `${boot} ${ticks}`;
  } catch {
    return undefined;
  }
}

export function processRecord({
  root,
  what,
  space,
}: {
  root: string;
  what: RecordedProcess;
  space: string;
}): ProcessRecord {
  const path = recordPath(root, what, space);
  const text = () => `${process.pid}\n${startOf(process.pid) ?? '-'}\n`;
  return {
    write: () => writeAtomic(path, text()),
    remove: () => {
      if (readIfThere(path) === text()) rmSync(path, { force: true });
    },
  };
}
