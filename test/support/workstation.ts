/**
 * A workstation for a test: a root and a COTAL_HOME of its own, `cotal` as a person runs it, with every bound of the daemon
 * scaled down by the environment. After the test nothing may be left running: `dispose` ends what is and fails over it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { spaceKey } from '../../src/domain/names.ts';
import { until } from './until.ts';

const COTAL = fileURLToPath(new URL('../../bin/cotal', import.meta.url));

/** Scaled-down bounds: the lease lives 4 s, a stop has 3 s, an outage of the broker 3 s. */
export const SCALED = {
  COTAL_DELIVERY_LEASE_TTL_MS: '4000',
  COTAL_DELIVERY_LEASE_RENEW_MS: '800',
  COTAL_DELIVERY_LEASE_FENCE_MS: '3200',
  COTAL_DELIVERY_STANDBY_PROBE_MS: '200',
  COTAL_DELIVERY_RESTART_WAIT_MS: '4000',
  COTAL_DELIVERY_STOP_GRACE_MS: '3000',
  COTAL_DELIVERY_STOP_CONFIRM_MS: '2000',
  COTAL_DELIVERY_BROKER_GONE_MS: '3000',
  COTAL_DELIVERY_PING_INTERVAL_MS: '500',
} as const;

export interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  /** The last line of stdout as JSON. */
  json<T = Record<string, unknown>>(): T;
}

/** A `cotal` that goes on: `up` in the foreground, `deliver`. It leads a session of its own, as in a terminal of its own. */
export interface Running {
  readonly pid: number;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  kill(signal: NodeJS.Signals): void;
  /** Closes what it writes to, as a terminal that is gone. */
  hangUp(): void;
}

type Word = string | number;

export class Workstation {
  readonly folder = mkdtempSync(join(tmpdir(), 'plane3-ws-'));
  readonly root = join(this.folder, 'root');
  readonly home = join(this.folder, 'home');
  readonly #env: Record<string, string>;
  readonly #running = new Set<ChildProcess>();

  readonly #manager: boolean;

  /**
   * `manager`: `up` starts one too; most tests are about the delivery daemon and go without. `scaled`: false leaves every
   * bound as it is by default.
   */
  constructor(
    env: Record<string, string> = {},
    { manager = false, scaled = true }: { manager?: boolean; scaled?: boolean } = {},
  ) {
    this.#manager = manager;
    mkdirSync(this.root);
    const own = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('COTAL_')));
    this.#env = { ...(own as Record<string, string>), ...(scaled ? SCALED : {}), COTAL_HOME: this.home, ...env };
  }

  /** Runs `cotal` to its end. `--root` is this workstation's unless the words name one. */
  async run(words: readonly Word[], more: { env?: Record<string, string>; cwd?: string } = {}): Promise<Ran> {
    const running = this.start(words, more);
    const { code } = await running.ended;
    const stdout = running.stdout();
    return {
      code,
      stdout,
      stderr: running.stderr(),
      json: () => JSON.parse(stdout.trim().split('\n').at(-1) ?? ''),
    };
  }

  start(words: readonly Word[], more: { env?: Record<string, string>; cwd?: string } = {}): Running {
    const rooted = words.includes('--root') || more.cwd !== undefined ? [] : ['--root', this.root];
    const without = words[0] === 'up' && !this.#manager && !words.includes('--open') ? ['--no-manager'] : [];
    const child = spawn(COTAL, [...words.map(String), ...without, ...rooted], {
      cwd: more.cwd ?? this.folder,
      env: { ...this.#env, ...more.env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#running.add(child);
    const text = { stdout: '', stderr: '' };
    child.stdout.on('data', (bytes: Buffer) => {
      text.stdout += bytes.toString();
    });
    child.stderr.on('data', (bytes: Buffer) => {
      text.stderr += bytes.toString();
    });
    return {
      pid: child.pid ?? 0,
      stdout: () => text.stdout,
      stderr: () => text.stderr,
      // `close` would wait for children of it that have its stderr.
      ended: new Promise((resolve) => {
        child.once('exit', (code, signal) => setImmediate(() => resolve({ code, signal })));
      }),
      kill: (signal) => void child.kill(signal),
      hangUp: () => {
        child.stdout.destroy();
        child.stderr.destroy();
      },
    };
  }

  file(name: string, space = 'main'): string {
    return join(this.root, '.cotal', name.replace('KEY', spaceKey(space)));
  }

  read(name: string, space = 'main'): string | undefined {
    try {
      return readFileSync(this.file(name, space), 'utf8');
    } catch {
      return undefined;
    }
  }

  log(space = 'main'): string {
    return this.read('delivery.KEY.log', space) ?? '';
  }

  /** The pid in a record; undefined while there is none. */
  recorded(what: 'delivery' | 'manager' | 'broker', space = 'main'): number | undefined {
    const text = this.read(`${what}.KEY.pid`, space);
    return text === undefined ? undefined : Number(text.split('\n')[0]);
  }

  hasCredential(space = 'main'): boolean {
    return this.read('space.KEY/delivery.creds', space) !== undefined;
  }

  /** Command lines of every process that has this workstation's folder in it. */
  processes(): { pid: number; line: string }[] {
    return readdirSync('/proc').flatMap((name) => {
      const pid = Number(name);
      if (!Number.isInteger(pid) || pid === process.pid) return [];
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
        return line.includes(this.folder) ? [{ pid, line }] : [];
      } catch {
        return [];
      }
    });
  }

  /** Waits until a text is said. */
  async said(running: Running, text: string, timeoutMs = 60_000): Promise<void> {
    await until(
      () => running.stderr().includes(text) || running.stdout().includes(text),
      () => `not said: ${text}\n${running.stdout()}\n${running.stderr()}\nlog:\n${this.log()}`,
      timeoutMs,
    );
  }

  /** Nothing of ours runs any more. */
  async quiet(): Promise<void> {
    await until(
      () => this.processes().length === 0,
      () => ({ left: this.processes(), log: this.log() }),
    );
  }

  /** Ends everything, and answers with what was still running. */
  async dispose(): Promise<string[]> {
    for (const child of this.#running) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    const left = this.processes();
    for (const { pid } of left) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // It ended by itself meanwhile.
      }
    }
    await this.quiet();
    rmSync(this.folder, { recursive: true, force: true });
    return left.map(({ line }) => line);
  }
}

/** Whether a process is there, and no zombie. */
export function runs(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return !['Z', 'X'].includes(stat.slice(stat.lastIndexOf(')') + 2)[0] ?? '');
  } catch {
    return false;
  }
}
