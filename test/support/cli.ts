/** Runs `bin/cotal` as a process, against a mesh of the test, with a machine registry of the test's own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { recordMesh } from '../../src/services/local/mesh-registry.ts';
import type { Mesh } from './mesh.ts';

const COTAL = fileURLToPath(new URL('../../bin/cotal', import.meta.url));

export interface Ran {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** Every line of stdout as JSON. */
  json<T = Record<string, unknown>>(): T[];
  /** The last line of stdout as JSON. */
  last<T = Record<string, unknown>>(): T;
}

export interface Running {
  readonly child: ChildProcess;
  /** Lines of stdout so far. */
  readonly lines: string[];
  readonly ended: Promise<Ran>;
}

export interface Cotal {
  /** Runs a command to its end, in the root of the mesh, and answers with what it said. */
  run(...args: string[]): Promise<Ran>;
  /** Starts a command and leaves it running. */
  start(...args: string[]): Running;
  readonly env: Readonly<Record<string, string>>;
  /** Ends what is still running. */
  dispose(): Promise<void>;
}

/** Registers the mesh as `cotal up` does. */
export function registerMesh(mesh: Mesh, home: string): void {
  recordMesh({
    home,
    record: {
      space: mesh.space,
      root: mesh.root,
      url: mesh.url,
      durability: 'relaxed',
      accountKey: mesh.keys.account.publicKey,
      updatedAt: Date.now(),
    },
  });
}

/** `cwd` unless told is the root of the mesh, so that no command needs `--root`. */
export function cotalOf(mesh: Mesh, more: { cwd?: string; env?: Readonly<Record<string, string>> } = {}): Cotal {
  const home = join(mesh.root, 'home');
  registerMesh(mesh, home);
  const env = { ...more.env, COTAL_HOME: home };
  const running = new Set<Running>();
  const start = (...args: string[]): Running => {
    const { COTAL_HOME: _home, ...inherited } = process.env;
    const child = spawn(COTAL, args, {
      cwd: more.cwd ?? mesh.root,
      env: { ...inherited, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const lines: string[] = [];
    let stderr = '';
    createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
    child.stderr.on('data', (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    const ended = once(child, 'close').then(([code, signal]): Ran => {
      running.delete(one);
      const json = <T>() => lines.map((line) => JSON.parse(line) as T);
      return {
        code: code as number | null,
        signal: signal as NodeJS.Signals | null,
        stdout: lines.join('\n'),
        stderr,
        json,
        last: <T>() => {
          const last = json<T>().at(-1);
          if (last === undefined) throw new Error(`"cotal ${args.join(' ')}" said nothing; stderr: ${stderr}`);
          return last;
        },
      };
    });
    const one: Running = { child, lines, ended };
    running.add(one);
    return one;
  };
  return {
    run: (...args) => start(...args).ended,
    start,
    env,
    dispose: async () => {
      await Promise.all(
        [...running].map(({ child, ended }) => {
          child.kill('SIGKILL');
          return ended;
        }),
      );
    },
  };
}
