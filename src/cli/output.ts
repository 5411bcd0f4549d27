/**
 * What a command says. With `--json` stdout has one JSON object a line and nothing else; without it a short text, coloured
 * where stdout is a terminal. Remarks, warnings and waiting go to stderr in both cases.
 */
import { writeSync } from 'node:fs';
import { styleText } from 'node:util';

export type Paint = 'green' | 'yellow' | 'red' | 'cyan' | 'dim' | 'bold';

const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const FRAME_MS = 80;

export class Output {
  readonly json: boolean;
  #closed: (() => void)[] = [];

  constructor({ json }: { json: boolean }) {
    this.json = json;
    process.stdout.on('error', (error: NodeJS.ErrnoException) => {
      // EIO: the terminal was closed.
      if (error.code !== 'EPIPE' && error.code !== 'EIO') throw error;
      for (const tell of this.#closed.splice(0)) tell();
    });
  }

  /** One answer: the object as a JSON line, or the text for a person. */
  answer(record: object, text: string): void {
    process.stdout.write(`${this.json ? JSON.stringify(record) : text}\n`);
  }

  /** The same; resolves when the system has it: false where nobody reads stdout any more. */
  delivered(record: object, text: string): Promise<boolean> {
    return new Promise((resolve) => {
      process.stdout.write(`${this.json ? JSON.stringify(record) : text}\n`, (error) => resolve(error == null));
    });
  }

  /** For a person only: a heading, an empty line. Nothing with `--json`. */
  text(line: string): void {
    if (!this.json) process.stdout.write(`${line}\n`);
  }

  /** Begins a new picture: a terminal is cleared, elsewhere what was said stays. */
  clear(): void {
    if (!this.json && process.stdout.isTTY === true) process.stdout.write('\x1b[H\x1b[2J');
  }

  /** A remark beside the answer, on stderr. Prefixes: ! warning, • note, ✓ good news, ✗ failure. */
  remark(line: string): void {
    const colour: Paint | undefined = line.startsWith('✗') ? 'red' : line.startsWith('!') ? 'yellow' : undefined;
    process.stderr.write(`${colour === undefined ? line : styleText(colour, line, { stream: process.stderr })}\n`);
  }

  /** Colours a text for stdout, where that is a terminal. */
  paint(colour: Paint, text: string): string {
    return styleText(colour, text, { stream: process.stdout });
  }

  /** Calls back when the reader of stdout has gone (`cotal inbox --follow | head -1`). */
  whenClosed(tell: () => void): void {
    this.#closed.push(tell);
  }

  /** Shows that the command is waiting, on a terminal's stderr, while the work is under way. */
  async waiting<T>(text: string, work: Promise<T>): Promise<T> {
    if (!process.stderr.isTTY) return work;
    let frame = 0;
    const draw = () => process.stderr.write(`\r\x1b[2K${FRAMES[frame++ % FRAMES.length]} ${text}`);
    const timer = setInterval(draw, FRAME_MS);
    try {
      return await work;
    } finally {
      clearInterval(timer);
      writeSync(2, '\r\x1b[2K');
    }
  }

  /** Resolves when everything that was said has been handed to the system. */
  flushed(): Promise<void> {
    return new Promise((resolve) => {
      if (process.stdout.destroyed || process.stdout.errored !== null) return resolve();
      process.stdout.write('', () => resolve());
    });
  }
}
