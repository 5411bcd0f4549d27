/** What the shared stop does on this workstation: records, marks, signals, and the credential after a confirmed death. */
import { rmSync } from 'node:fs';
import { type Actor, createActor } from 'xstate';
import type { Numbers } from '../domain/numbers.ts';
import { isSame, type RecordedIdentity, type RecordedProcess } from '../domain/process-record.ts';
import type { StopOutcome } from '../machines/stop.machine.ts';
import { bindStop, type StopServices } from '../services/bind-launcher.ts';
import { credsPath } from '../services/local/mint.ts';
import {
  clearStale,
  knownProcesses,
  markStopped,
  type ProcessName,
  recordedSpaces,
  stoppingPath,
} from '../services/local/process-record.ts';
import { lookAt } from '../services/local/processes.ts';
import { holderNow, type Reservation, reserve } from '../services/local/reservation.ts';
import type { Journal, Stoppable } from '../services/ports.ts';
import { brokerOfRoot } from './broker-of-root.ts';

const LOOK_AGAIN_MS = 20;

export interface StopperOptions {
  readonly root: string;
  readonly space: string;
  readonly numbers: Numbers;
  readonly journal: Journal;
}

export function stopper({ root, space, numbers, journal }: StopperOptions): StopServices {
  const held = new Map<RecordedProcess, Extract<Reservation, { kind: 'taken' }>>();
  const name = (what: RecordedProcess): ProcessName => ({ root, what, space });
  /** Whose stale record is our own doing. */
  const met = new Set<RecordedProcess>();
  const found = (target: RecordedProcess, process: RecordedIdentity) => {
    met.add(target);
    return { type: 'process.found', ...process } as const;
  };
  return {
    journal,
    numbers,
    reserve: (target) => {
      // One of ours that was left in the middle, with whoever asked for it, is carried on.
      if (held.has(target)) return { type: 'reservation.taken' };
      const reservation = reserve(stoppingPath(name(target)));
      if (reservation.kind === 'held') return { type: 'reservation.held', pid: reservation.pid };
      held.set(target, reservation);
      return { type: 'reservation.taken' };
    },
    release: (target) => {
      held.get(target)?.release();
      held.delete(target);
    },
    awaitTurn: (target, tell) =>
      when(() => holderNow(stoppingPath(name(target))) === undefined || held.has(target), tell),
    dependantsOf: (target) => (target === 'broker' ? dependantsOf(root) : []),
    mark: (target) => markStopped(name(target)),
    find: (target) => {
      const {
        record,
        starting: [starting],
      } = knownProcesses(name(target));
      if (record.kind === 'running') return found(target, { pid: record.pid, start: record.start });
      if (starting !== undefined) return found(target, starting);
      const unrecorded = target === 'broker' ? brokerOfRoot(root) : undefined;
      if (unrecorded !== undefined) return found(target, unrecorded);
      if (record.kind === 'none') return { type: 'process.none', record: 'absent' };
      if (!met.has(target)) journal.tell('stop.cleared', { target, reason: record.reason });
      return { type: 'process.none', record: record.dead ? 'dead' : 'unreadable' };
    },
    signal: (process, signal) => sendSignal(process, signal),
    awaitDeath: (process, tell) => when(() => !isSame(process, lookAt(process.pid)), tell),
    removeTraces: ({ target, confirmed }) => {
      clearStale(name(target));
      if (confirmed && target !== 'broker') rmSync(credsPath(root, space, target), { force: true });
    },
  };
}

/** Looks again and again, and tells once. */
function when(isSo: () => boolean, tell: () => void): Stoppable {
  const timer = setInterval(() => {
    if (!isSo()) return;
    clearInterval(timer);
    tell();
  }, LOOK_AGAIN_MS);
  return { stop: async () => clearInterval(timer) };
}

/** Looks once more and signals in one turn: nothing of ours comes in between (S2). */
function sendSignal(found: RecordedIdentity, signal: NodeJS.Signals): ReturnType<StopServices['signal']> {
  if (!isSame(found, lookAt(found.pid))) return { type: 'process.gone' };
  try {
    process.kill(found.pid, signal);
    return { type: 'signal.sent' };
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ESRCH') return { type: 'process.gone' };
    return { type: 'signal.denied', message: `${signal} to process ${found.pid}: ${code ?? String(error)}` };
  }
}

/** Daemons and managers of any space of the root that run, or may be running. */
export function dependantsOf(root: string): string[] {
  return (['delivery', 'manager'] as const).flatMap((what) =>
    [...new Set(recordedSpaces(root, what))].flatMap((space) => {
      const { record, starting } = knownProcesses({ root, what, space });
      const all = [...(record.kind === 'running' ? [record] : []), ...starting];
      return [...new Set(all.map(({ pid }) => pid))].map((pid) => `${what} of space ${space} (process ${pid})`);
    }),
  );
}

/** One stop of one target, from here on. */
export function stopOf(options: StopperOptions, target: RecordedProcess): Promise<StopOutcome> {
  const actor: Actor<ReturnType<typeof bindStop>> = createActor(bindStop(stopper(options)), { input: { target } });
  return new Promise((resolve, reject) => {
    actor.subscribe({
      error: reject,
      complete: () => {
        const { output } = actor.getSnapshot();
        if (output === undefined) reject(new Error('the stop ended without a word'));
        else resolve(output);
      },
    });
    actor.start();
  });
}
