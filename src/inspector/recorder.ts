/**
 * `--record FILE`: every step of every machine as a line of a new file. It never holds the process up: what the disk does not
 * take in time ends the recording, and the process goes on without it.
 */
import { createWriteStream, openSync } from 'node:fs';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import type { RecordedStep, RecordingHead } from '../domain/recording.ts';
import { shownEvent, shownName, whole } from '../domain/shown/show.ts';
import { SECRET_FILE } from '../services/local/files.ts';
import type { Journal, Stoppable } from '../services/ports.ts';
import { leavesOf } from './ring.ts';
import type { Step, Tap } from './tap.ts';

export interface RecorderOptions {
  readonly file: string;
  readonly process: string;
  readonly space: string;
  readonly journal: Journal;
  readonly tap: Tap;
  /** Bytes after which it ends; half a gigabyte unless told. */
  readonly most?: number;
  /** Bytes that may wait for the disk. */
  readonly waiting?: number;
}

const MOST = 512 * 1024 * 1024;
const WAITING = 32 * 1024 * 1024;

/** @throws Plane3Error `record.file` where the file is there already or cannot be made; nothing is recorded. */
export function record(options: RecorderOptions): Stoppable {
  const { file, process: name, space, journal, tap, most = MOST, waiting = WAITING } = options;
  const stream = createWriteStream('', { fd: create(file) });
  let written = 0;
  let ended: Promise<void> | undefined;

  const end = (why?: string): Promise<void> => {
    ended ??= new Promise((resolve) => {
      stopHearing();
      if (why !== undefined) journal.tell('recording.ended', { process: name, file, why });
      stream.end(() => resolve());
      stream.once('error', () => resolve());
    });
    return ended;
  };
  const write = (line: RecordingHead | RecordedStep): void => {
    const text = `${JSON.stringify(line)}\n`;
    written += text.length;
    if (written > most) void end(`it has ${Math.floor(most / 1024 / 1024)} MiB`);
    else if (stream.writableLength > waiting) void end('the disk is too slow');
    else stream.write(text);
  };
  const stopHearing = tap.listen({ stepped: (step) => write(lineOf(step)) });
  stream.on('error', (error: NodeJS.ErrnoException) => void end(error.code ?? error.message));
  journal.tell('recording.began', { file });
  write({ v: 1, process: name, space, at: Date.now() });
  return { stop: () => end() };
}

function create(file: string): number {
  try {
    return openSync(file, 'wx', SECRET_FILE);
  } catch (error) {
    const { code = String(error) } = error as NodeJS.ErrnoException;
    const reason = code === 'EEXIST' ? 'it is there already, and a recording replaces nothing' : code;
    throw new Plane3Error('record.file', { path: file, reason }, { cause: error });
  }
}

const lineOf = ({ actor, at, event, before, after, asked, said }: Step): RecordedStep => ({
  actor: actor.session,
  ...(before === undefined ? { machine: shownName(actor.machine ?? ''), id: shownName(actor.id) } : {}),
  at,
  on: shownEvent(event, whole),
  to: leavesOf(after.value),
  ...(asked.length === 0 ? {} : { asked: asked.map(shownName) }),
  ...(said.length === 0 ? {} : { said: said.map(({ event: { type } }) => shownName(type)) }),
});
