/** Starts the members of `readers-child.ts` and asks how they are. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { ReadersTask, ReadersWord } from './readers-child.ts';

export interface Readers {
  readonly pid: number;
  ask(): Promise<ReadersWord>;
  stop(): Promise<void>;
}

export async function startReaders(task: ReadersTask): Promise<Readers> {
  const child = fork(fileURLToPath(new URL('readers-child.ts', import.meta.url)), [], {
    execArgv: ['--conditions=plane3-source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const ended = once(child, 'exit');
  child.send(task);
  const [joined] = (await Promise.race([once(child, 'message'), ended])) as [unknown];
  if (joined !== 'joined') throw new Error(`members of the bench ended with ${String(joined)}`);
  return {
    pid: child.pid ?? 0,
    ask: async () => {
      const word = once(child, 'message') as Promise<[ReadersWord]>;
      child.send('how');
      const [said] = await Promise.race([
        word,
        ended.then(() => Promise.reject(new Error('members of the bench are gone'))),
      ]);
      return said;
    },
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
