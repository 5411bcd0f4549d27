/** Starts the daemon of `daemon-child.ts` and asks it things. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Mesh } from '../test/support/mesh.ts';

export interface ChildDaemon {
  readonly process: ChildProcess;
  /** Milliseconds from the spawn until the lease row said ready. */
  readonly readyMs: number;
  ask(): Promise<{ rss: number; tally: Record<string, number> }>;
  stop(): Promise<void>;
}

export async function startDaemon(mesh: Mesh): Promise<ChildDaemon> {
  const started = performance.now();
  const child = fork(fileURLToPath(new URL('daemon-child.ts', import.meta.url)), [mesh.space, mesh.root, mesh.url], {
    execArgv: ['--conditions=plane3-source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: { ...process.env, COTAL_HOME: mesh.root },
  });
  const [said] = (await Promise.race([once(child, 'message'), once(child, 'exit')])) as [unknown];
  if (typeof said !== 'object') throw new Error(`the daemon of the bench ended with ${String(said)}`);
  return {
    process: child,
    readyMs: performance.now() - started,
    ask: async () => {
      const answer = once(child, 'message');
      child.send('rss');
      const [figures] = (await answer) as [{ rss: number; tally: Record<string, number> }];
      return figures;
    },
    stop: async () => {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
