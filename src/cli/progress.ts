/** What takes its time, on a terminal's stderr: a spinner with the latest line. Elsewhere nothing is written. */
import { writeSync } from 'node:fs';

const FRAMES = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';
const FRAME_MS = 80;
const CLEAR = '\r\x1b[2K';

export class Progress {
  #text = '';
  #frame = 0;
  #timer: NodeJS.Timeout | undefined;

  readonly say = (text: string): void => {
    if (process.stderr.isTTY !== true) return;
    this.#text = text;
    this.#timer ??= setInterval(() => this.#draw(), FRAME_MS).unref();
    this.#draw();
  };

  #draw(): void {
    const frame = FRAMES[this.#frame++ % FRAMES.length] ?? '';
    this.#write(`${CLEAR}${frame} ${this.#text} …`);
  }

  /** Makes room for a line; the spinner comes back by itself. */
  clear(): void {
    if (this.#timer !== undefined) this.#write(CLEAR);
  }

  stop(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#write(CLEAR);
  }

  /** A terminal that is gone ends nothing. */
  #write(text: string): void {
    try {
      writeSync(2, text);
    } catch {
      this.#text = '';
    }
  }
}
