/**
 * The nats-server of a root. Its record is written by `up` the moment it is spawned; where that was not possible, the ports
 * file that the server itself writes, with its pid in the name, still leads to it. One broker serves every space of a root.
 */
import type { ChildProcess } from 'node:child_process';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { isSame, type RecordedIdentity } from '../domain/process-record.ts';
import { causeOf } from '../domain/restart.ts';
import type { BrokerExit } from '../machines/launcher.facts.ts';
import { portsOf } from '../services/local/broker.ts';
import { brokerFolder } from '../services/local/broker-config.ts';
import { readProcess, recordedSpaces } from '../services/local/process-record.ts';
import { isCommandOf, lookAt, startOf } from '../services/local/processes.ts';
import type { Stoppable } from '../services/ports.ts';

export function brokerOfRoot(root: string): RecordedIdentity | undefined {
  for (const space of recordedSpaces(root, 'broker')) {
    const record = readProcess({ root, what: 'broker', space });
    if (record.kind === 'running') return { pid: record.pid, start: record.start };
  }
  const isOurs = isCommandOf({ root, what: 'broker', space: '' });
  for (const path of globSync(join(brokerFolder(root), '*.ports'))) {
    const pid = Number(/_(\d+)\.ports$/.exec(path)?.[1] ?? 0);
    const seen = pid > 0 ? lookAt(pid) : ({ kind: 'gone' } as const);
    // Without a readable command line a ports file alone proves nothing: it is no record.
    if (seen.kind === 'alive' && seen.argv !== undefined && isOurs({ argv: seen.argv })) {
      return { pid, start: seen.start ?? '-' };
    }
  }
  return undefined;
}

/** Where it listens, as its ports file says; undefined while it has not said so. */
export const urlOfBroker = (root: string, pid: number): string | undefined => portsOf(root, pid);

const LOOK_AGAIN_MS = 250;

/** Tells the end of the broker: of our own child at once, of an adopted one when it is seen to be gone. */
export function watchBroker(
  of: { pid: number; child: ChildProcess | undefined; isAsked: () => boolean },
  tell: (exit: BrokerExit) => void,
): Stoppable {
  const { pid, child } = of;
  const told = (code: number | null, signal: string | null) =>
    tell({ type: 'broker.exited', cause: causeOf({ code, signal }), asked: of.isAsked() });
  if (child !== undefined) {
    if (child.exitCode !== null || child.signalCode !== null) {
      setImmediate(() => told(child.exitCode, child.signalCode));
      return { stop: async () => {} };
    }
    // Nothing else may be left to keep this process waiting for it.
    child.ref();
    child.once('exit', told);
    return { stop: async () => void child.off('exit', told) };
  }
  const adopted = { pid, start: startOf(pid) };
  const timer = setInterval(() => {
    if (isSame(adopted, lookAt(pid))) return;
    clearInterval(timer);
    told(null, null);
  }, LOOK_AGAIN_MS);
  return { stop: async () => clearInterval(timer) };
}
