/**
 * Records of running processes under `<root>/.cotal/`. `<what>.<key>.pid` is written by one rename, by the process itself,
 * once it is the space's; it is removed by it only while it names it. Readers verify it before they believe it.
 *
 *   <what>.<key>.pid             the process that serves: pid, start time
 *   <what>.<key>.starting.<pid>  one that has begun and is not yet the space's, or is it no longer and has not ended: so that
 *                                it can always be found and stopped
 *   <what>.<key>.pid.stopping    the reservation of a stop
 *   <what>.<key>.stopped         somebody wants it stopped; whoever would start it again looks first
 */
import { readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { spaceKey } from '../../domain/names.ts';
import {
  judgeRecord,
  type RecordedIdentity,
  type RecordedProcess,
  type RecordVerdict,
  readRecord,
  recordText,
} from '../../domain/process-record.ts';
import type { ProcessRecord } from '../ports.ts';
import { cotalFolder } from './auth-store.ts';
import { readIfThere, writeAtomic } from './files.ts';
import { isCommandOf, lookAt, startOf } from './processes.ts';

/** Which process of which space of which root. */
export interface ProcessName {
  readonly root: string;
  readonly what: RecordedProcess;
  readonly space: string;
}

const nameOf = ({ what, space }: ProcessName): string => `${what}.${spaceKey(space)}`;
const pathOf = (name: ProcessName, end: string): string => join(cotalFolder(name.root), `${nameOf(name)}${end}`);

export const recordPath = (name: ProcessName): string => pathOf(name, '.pid');
export const logPath = (name: ProcessName): string => pathOf(name, '.log');
export const stoppingPath = (name: ProcessName): string => `${recordPath(name)}.stopping`;
const startingPath = (name: ProcessName, pid: number): string => pathOf(name, `.starting.${pid}`);
const stoppedPath = (name: ProcessName): string => pathOf(name, '.stopped');

/** The record of this very process. */
export function processRecord(name: ProcessName): ProcessRecord {
  const path = recordPath(name);
  const mine = { pid: process.pid, start: startOf(process.pid) };
  return {
    begin: () => recordStarting(name, mine),
    write: (may) => {
      if (readIfThere(path) !== recordText(mine)) writeAtomic(path, recordText(mine), undefined, undefined, may);
      // Whoever may not write it goes on being found as one that starts.
      if (readIfThere(path) === recordText(mine)) rmSync(startingPath(name, process.pid), { force: true });
    },
    leave: () => {
      // A move asks for no room on the disk. What cannot be moved stays what it is: it leads to this process all the same.
      try {
        if (readIfThere(path) === recordText(mine)) renameSync(path, startingPath(name, process.pid));
        else recordStarting(name, mine);
      } catch {}
    },
    remove: () => {
      if (readIfThere(path) === recordText(mine)) rmSync(path, { force: true });
      rmSync(startingPath(name, process.pid), { force: true });
    },
  };
}

/** Says that this process has begun to start; by whoever knows it first, it or its launcher. */
export const recordStarting = (name: ProcessName, process: RecordedIdentity): void =>
  writeAtomic(startingPath(name, process.pid), recordText(process));

/** Writes the record of a process that cannot do it itself: the broker. */
export const recordOther = (name: ProcessName, process: RecordedIdentity): void =>
  writeAtomic(recordPath(name), recordText(process));

export type RecordReading = { readonly kind: 'none' } | RecordVerdict;

/** The record of a process, verified. What cannot be read as one is stale, and proves nobody's death. */
export const readProcess = (name: ProcessName): RecordReading => readVerified(name, recordPath(name));

function readVerified(name: ProcessName, path: string): RecordReading {
  const text = readIfThere(path);
  if (text === undefined) return { kind: 'none' };
  const record = readRecord(text);
  if ('reason' in record) return { kind: 'stale', reason: record.reason, dead: false };
  return judgeRecord(record, lookAt(record.pid), isCommandOf(name));
}

/** Takes a record away that does not name a running process. */
export function clearStale(name: ProcessName): void {
  if (readProcess(name).kind === 'stale') rmSync(recordPath(name), { force: true });
}

/** Every process of this name that is known of. One that becomes the space's meanwhile may be in both. */
export interface KnownProcesses {
  readonly record: RecordReading;
  /** Those that have begun and are not yet the space's, or are it no longer. */
  readonly starting: readonly RecordedIdentity[];
}

/**
 * Looks at both, at those that start before and after: whoever becomes the space's meanwhile has its record before it is no
 * longer among them, and whoever gives it up is among them before it has it no longer. Files of those that are gone are removed.
 */
export function knownProcesses(name: ProcessName): KnownProcesses {
  const before = startingProcesses(name);
  const record = readProcess(name);
  const after = startingProcesses(name).filter(({ pid }) => !before.some((known) => known.pid === pid));
  return { record, starting: [...before, ...after] };
}

function startingProcesses(name: ProcessName): RecordedIdentity[] {
  const head = `${nameOf(name)}.starting.`;
  return filesOf(name.root).flatMap((file) => {
    if (!file.startsWith(head)) return [];
    const path = join(cotalFolder(name.root), file);
    const seen = readVerified(name, path);
    if (seen.kind === 'running') return [{ pid: seen.pid, start: seen.start }];
    if (seen.kind === 'stale') rmSync(path, { force: true });
    return [];
  });
}

export const markStopped = (name: ProcessName): void => writeAtomic(stoppedPath(name), `${process.pid}\n`);
export const clearStopped = (name: ProcessName): void => rmSync(stoppedPath(name), { force: true });
export const isStopped = (name: ProcessName): boolean => readIfThere(stoppedPath(name)) !== undefined;

/** Spaces of which there is a record of this kind, whether it is true or not. */
export const recordedSpaces = (root: string, what: RecordedProcess): string[] =>
  filesOf(root).flatMap((file) => {
    const [, key] = new RegExp(`^${what}\\.([0-9a-f]+)\\.(?:pid|starting\\.\\d+)$`).exec(file) ?? [];
    return key === undefined ? [] : [Buffer.from(key, 'hex').toString('utf8')];
  });

function filesOf(root: string): string[] {
  try {
    return readdirSync(cotalFolder(root));
  } catch {
    return [];
  }
}
