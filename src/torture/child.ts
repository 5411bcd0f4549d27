/** Processes of a run: each with its log in a file, killed with the run at the latest. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

const isSource = import.meta.url.endsWith('.ts');
/** A file of this build, as it lies on disk: `../cli/cotal` and the like, without its ending. */
export const ownFile = (path: string): string =>
  fileURLToPath(new URL(`${path}${isSource ? '.ts' : '.js'}`, import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export class Child {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
  hasEnded = false;

  constructor(of: {
    file: string;
    words: readonly string[];
    log: string;
    env?: Readonly<Record<string, string>>;
    /** Modules that are loaded first. */
    preload?: readonly string[];
  }) {
    const log = openSync(of.log, 'a', 0o600);
    const preload = (of.preload ?? []).flatMap((file) => ['--import', file]);
    this.process = spawn(
      process.execPath,
      [
        ...(isSource ? ['--conditions=plane3-source'] : []),
        '--disable-warning=ExperimentalWarning',
        ...preload,
        of.file,
        ...of.words,
      ],
      { stdio: ['pipe', log, log, 'pipe'], env: { ...process.env, ...of.env }, detached: true },
    );
    closeSync(log);
    running.add(this.process);
    this.process.stdin?.on('error', () => {});
    this.ended = new Promise((resolve) => {
      // A process that could not even be started has ended too.
      this.process.once('error', () => this.#end(resolve, { code: null, signal: null }));
      this.process.once('exit', (code, signal) => this.#end(resolve, { code, signal }));
    });
  }

  #end(resolve: (ended: Ended) => void, ended: Ended): void {
    running.delete(this.process);
    this.hasEnded = true;
    resolve(ended);
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.hasEnded) this.process.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }
}
