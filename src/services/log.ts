/**
 * The journal of a process: pino for the structured log (JSON on stderr, pretty on a terminal), and the operator's lines
 * on stderr and, for a daemon, in its own log file. Lines are written synchronously: they must be there also when the
 * process exits at once. A file that cannot be written never stops the work; that is said once on stderr.
 */
import { appendFileSync, fstatSync, statSync, writeSync } from 'node:fs';
import { Writable } from 'node:stream';
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
  const stderr = { write: (text: string) => void writeWhole(2, text) };
  const destination = process.stderr.isTTY === true ? pretty({ destination: stderrStream(), sync: true }) : stderr;
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
      writeWhole(2, `${line}\n`);
      write?.(line);
    },
  };
}

const stderrStream = () =>
  new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      writeWhole(2, chunk.toString('utf8'));
      done();
    },
  });

/** Longest that a full pipe is waited for, in pauses of a millisecond. */
const PATIENCE = 200;

/**
 * Writes all of it before it returns. A terminal that was closed, a reader that is gone and a pipe that stays full end
 * nothing: the text is lost there, and is still in the file.
 */
function writeWhole(descriptor: number, text: string): void {
  const bytes = Buffer.from(text);
  let written = 0;
  for (let pauses = 0; written < bytes.length && pauses < PATIENCE; ) {
    try {
      written += writeSync(descriptor, bytes, written);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return;
      pauses += 1;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  }
}

/** Appends lines to a file, unless stdout or stderr already is that file. */
function lineFile(path: string): (line: string) => void {
  let complained: string | undefined;
  return (line) => {
    try {
      if (!isOpenOn(path, 1) && !isOpenOn(path, 2)) appendFileSync(path, `${line}\n`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      if (complained !== reason) writeWhole(2, `! plane3: cannot write ${path}: ${reason}\n`);
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
