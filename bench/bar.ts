/** How far a measurement is: a bar on a terminal's stderr, with its latest line; elsewhere each line as it comes. */
const WIDTH = 24;
const CLEAR = '\r\x1b[2K';

export class Bar {
  #part = 0;
  #line = '';

  /** Something to read: it stays on a log, and stands beside the bar on a terminal. */
  readonly say = (line: string): void => {
    this.#line = line;
    if (process.stderr.isTTY === true) this.#draw();
    else process.stderr.write(`${line}\n`);
  };

  /** `part`: of the whole, 0 to 1. */
  readonly at = (part: number): void => {
    this.#part = Math.min(1, Math.max(0, part));
    if (process.stderr.isTTY === true) this.#draw();
  };

  #draw(): void {
    const full = Math.round(this.#part * WIDTH);
    const bar = `${'█'.repeat(full)}${'░'.repeat(WIDTH - full)}`;
    const room = Math.max(10, (process.stderr.columns ?? 100) - WIDTH - 8);
    process.stderr.write(`${CLEAR}${bar} ${Math.round(this.#part * 100)} % ${this.#line.slice(0, room)}`);
  }

  end(): void {
    if (process.stderr.isTTY === true) process.stderr.write(CLEAR);
  }
}
