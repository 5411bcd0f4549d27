/** Starts the daemon of `daemon-child.ts` and asks it things. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { MeshSpace } from '../test/support/mesh-space.ts';

/** Where `bin/cotal` keeps it. */
const COMPILED = new URL('../node_modules/.cache/plane3', import.meta.url);

export interface ChildDaemon {
  readonly process: ChildProcess;
  /** Milliseconds from the spawn until the lease row said ready. */
  readonly readyMs: number;
  /** `cpuMs`: what it has had of the processors. */
  ask(): Promise<{ rss: number; cpuMs: number; tally: Record<string, number> }>;
  stop(): Promise<void>;
}

/** `inspect`: with the inspector open on a free port. */
export async function startDaemon(mesh: MeshSpace, { inspect = false } = {}): Promise<ChildDaemon> {
  const started = performance.now();
  const words = [mesh.space, mesh.root, mesh.url, ...(inspect ? ['inspect'] : [])];
  const child = fork(fileURLToPath(new URL('daemon-child.ts', import.meta.url)), words, {
    // As the launcher starts it: what was compiled once is found again.
    execArgv: ['--conditions=plane3-source', '--max-semi-space-size=4'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { NODE_COMPILE_CACHE: fileURLToPath(COMPILED), ...process.env, COTAL_HOME: mesh.root },
  });
  const [said] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown];
  if (typeof said !== 'object') throw new Error(`the daemon of the bench ended with ${String(said)}`);
  return {
    process: child,
    readyMs: performance.now() - started,
    ask: async () => {
      child.send('rss');
      // It says by itself too that it serves.
      for (;;) {
        const [said] = (await once(child, 'message')) as [
          { rss: number; cpuMs: number; tally?: Record<string, number> },
        ];
        const { rss, cpuMs, tally } = said;
        if (tally !== undefined) return { rss, cpuMs, tally };
      }
    },
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
