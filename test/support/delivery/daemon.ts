/** Delivery daemons for tests: in this process, or as a process of their own that can be killed, stopped and parked. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { type LogName, operatorLine } from '../../../src/domain/log-events/catalogue.ts';
import { createDaemon, type DaemonOptions, type DeliveryDaemon, type Ended } from '../../../src/main.ts';
import type { Journal } from '../../../src/services/ports.ts';
import type { Mesh } from '../mesh.ts';
import type { MeshSpace } from '../mesh-space.ts';
import { until } from '../until.ts';

/** Keeps what is told. */
export class TestJournal implements Journal {
  readonly told: { name: LogName; facts: Record<string, unknown> }[] = [];
  tell(name: LogName, facts: object = {}): void {
    this.told.push({ name, facts: facts as Record<string, unknown> });
  }
  names(): string[] {
    return this.told.map(({ name }) => name);
  }
  count(name: LogName): number {
    return this.told.filter((each) => each.name === name).length;
  }
  lines(): string[] {
    return this.told.flatMap(({ name, facts }) => operatorLine(name, facts as never) ?? []);
  }
}

export interface InProcess {
  readonly daemon: DeliveryDaemon;
  readonly journal: TestJournal;
  readonly ended: Promise<Ended>;
  /** What the machines say, for a failure. */
  state(): string;
  stop(): Promise<Ended>;
}

/** Starts a daemon in this process and waits until it serves. */
export async function startInProcess(
  mesh: MeshSpace,
  env: Record<string, string> = {},
  more: Pick<DaemonOptions, 'quota' | 'store' | 'creds' | 'standby'> = {},
): Promise<InProcess> {
  const journal = new TestJournal();
  const daemon = createDaemon({
    ...more,
    space: mesh.space,
    root: mesh.root,
    server: mesh.url,
    journal,
    env,
    signals: false,
  });
  const ended = daemon.run();
  const state = () =>
    JSON.stringify([
      daemon.actor.getSnapshot().value,
      daemon.actor.system.get('daemon')?.getSnapshot().value,
      daemon.tally.all(),
      journal.told.slice(-5),
    ]);
  // A standby waits for the whole life of a row.
  await until(() => daemon.actor.getSnapshot().hasTag('serving'), state, 60_000);
  return {
    daemon,
    journal,
    ended,
    state,
    stop: () => {
      if (daemon.exhibit.alive()) daemon.stop('SIGTERM');
      return ended;
    },
  };
}

export interface DaemonProcess {
  readonly process: ChildProcess;
  /** What it wrote on stderr so far. */
  stderr(): string;
  serving(): Promise<void>;
  tally(): Promise<Record<string, number>>;
  /** Resolves with the exit code or the signal. */
  readonly exit: Promise<number | NodeJS.Signals>;
  /** SIGKILL, and its end. */
  kill(): Promise<void>;
  stop(): Promise<number | NodeJS.Signals>;
}

/** Starts a daemon as a process. `killAt`: where it kills itself, see `kill-at.ts`. */
export function startProcess(
  mesh: Mesh,
  of: { env?: Record<string, string>; killAt?: string; standby?: boolean } = {},
): DaemonProcess {
  const child = fork(
    fileURLToPath(new URL('daemon-child.ts', import.meta.url)),
    [mesh.space, mesh.root, mesh.url, ...(of.standby === true ? ['standby'] : [])],
    {
      execArgv: [
        '--conditions=plane3-source',
        ...(of.killAt === undefined ? [] : ['--import', fileURLToPath(new URL('kill-at.ts', import.meta.url))]),
      ],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: { ...process.env, ...of.env, ...(of.killAt === undefined ? {} : { KILL_AT: of.killAt }) },
    },
  );
  children.add(child);
  let said = '';
  child.stderr?.on('data', (data: Buffer) => {
    said += data.toString();
  });
  let serving = false;
  child.on('message', (message: { serving?: boolean }) => {
    serving ||= message.serving === true;
  });
  const exit = once(child, 'exit').then(([code, signal]: (number | NodeJS.Signals)[]) => {
    children.delete(child);
    return (code ?? signal) as number | NodeJS.Signals;
  });
  return {
    process: child,
    stderr: () => said,
    exit,
    serving: async () =>
      void (await until(
        () => serving,
        () => said,
        60_000,
      )),
    tally: async () => {
      const answer = once(child, 'message');
      child.send('tally');
      const [{ tally }] = (await answer) as [{ tally: Record<string, number> }];
      return tally;
    },
    kill: async () => {
      child.kill('SIGKILL');
      await exit;
    },
    stop: () => {
      child.kill('SIGTERM');
      return exit;
    },
  };
}

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});
