/**
 * The journal of a process: pino for the structured log (JSON on stderr, pretty on a terminal), and the operator's lines
 * on stderr and, for a daemon, in its own log file. Lines are written synchronously: they must be there also when the
 * process exits at once. A file that cannot be written never stops the work; that is said once on stderr.
 */
import { appendFileSync, fstatSync, statSync, writeSync } from 'node:fs';
import pino from 'pino';
import pretty from 'pino-pretty';
import { type LogName, logCatalogue, operatorLine } from '../domain/log-events/catalogue.ts';
import type { LogEntry } from '../domain/log-events/define.ts';
import type { Journal } from './ports.ts';

export interface JournalOptions {
  /** Name of the process in every record: delivery, manager, up … */
  readonly process: string;
  /** Least level of the structured log; operator lines are always written. */
  readonly level: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  /** File that gets every operator line. */
  readonly file?: string;
}

export function openJournal({ process: name, level, file }: JournalOptions): Journal {
  const tty = process.stderr.isTTY === true;
  const destination = tty ? pretty({ destination: 2, sync: true }) : pino.destination({ dest: 2, sync: true });
  const records = pino(
    { level, base: { process: name, pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    destination,
  );
  const write = file === undefined ? undefined : lineFile(file);
  return {
    tell(event: LogName, facts: object = {}) {
      const entry: LogEntry = logCatalogue[event];
      records[entry.level]({ event, ...facts });
      const line = operatorLine(event, facts as never);
      if (line === undefined) return;
      writeSync(2, `${line}\n`);
      write?.(line);
    },
  };
}

/** Appends lines to a file, unless stdout or stderr already is that file. */
function lineFile(path: string): (line: string) => void {
  let complained: string | undefined;
  return (line) => {
    try {
      if (!isOpenOn(path, 1) && !isOpenOn(path, 2)) appendFileSync(path, `${line}\n`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (complained !== reason) writeSync(2, `! plane3: cannot write ${path}: ${reason}\n`);
      complained = reason;
    }
  };
}

function isOpenOn(path: string, descriptor: number): boolean {
  try {
    const open = fstatSync(descriptor);
    const named = statSync(path);
    return open.dev === named.dev && open.ino === named.ino;
  } catch {
    return false;
  }
}
