/** `cotal up`, put together: the launcher's machine over this workstation, its signals, its exit code. */
import { createActor, type InspectionEvent } from 'xstate';
import { readNumbers } from '../domain/config.ts';
import type { AskedSettings } from '../domain/mesh-settings.ts';
import type { ChildName } from '../machines/child.facts.ts';
import type { LauncherEnd, Standing } from '../machines/launcher.facts.ts';
import { bindLauncher } from '../services/bind-launcher.ts';
import { cotalFolder } from '../services/local/auth-store.ts';
import { isStopped, logPath, readProcess } from '../services/local/process-record.ts';
import { type Reservation, reserve } from '../services/local/reservation.ts';
import type { Journal } from '../services/ports.ts';
import { watchBroker } from './broker-of-root.ts';
import { childServices } from './children.ts';
import { Mesh } from './mesh.ts';
import { planeProbe } from './plane-probe.ts';
import { stopper } from './stopper.ts';

export interface UpOptions {
  readonly root: string;
  readonly asked: AskedSettings;
  /** False: without the manager. */
  readonly manager?: boolean;
  readonly isForeground: boolean;
  readonly journal: Journal;
  readonly progress: (line: string) => void;
  /** Told once, when every child has said how it is. */
  readonly onUp: (up: UpReport) => void;
  readonly env?: NodeJS.ProcessEnv;
  /** Is told of everything that happens to an actor of the launcher. */
  readonly inspect?: (event: InspectionEvent) => void;
  /** Further words on the command line of a child. */
  readonly wordsFor?: (what: ChildName) => readonly string[];
}

export interface UpReport {
  readonly healthy: boolean;
  readonly mode: 'auth' | 'open';
  readonly broker: { readonly pid: number; readonly url: string; readonly durability: 'strict' | 'relaxed' };
  /** Null where there is none. */
  readonly delivery: { readonly pid: number | null; readonly responder: 'bound' | 'unbound' } | null;
  readonly manager: { readonly pid: number | null } | null;
  readonly log: string;
}

export interface UpEnded {
  readonly end: LauncherEnd;
  readonly message: string;
  /** What was left as it was and what to do next; may be empty. */
  readonly help: string;
  readonly code: 0 | 1;
}

/** What `up` keeps beside the broker, in the order of its start. */
const CHILDREN: readonly ChildName[] = ['delivery', 'manager'];
const GOOD: ReadonlySet<LauncherEnd> = new Set(['launched', 'stopped']);

/** @throws Plane3Error for a setting of the environment outside its grammar; nothing is started. */
export function createUp(options: UpOptions) {
  const { root, asked, isForeground, journal, progress, env = process.env } = options;
  const { space } = asked;
  const numbers = readNumbers(env);
  const mesh = new Mesh({ root, asked, numbers, journal, progress });
  const plane = planeProbe({ mesh, space, timeoutMs: numbers.effectTimeoutMs });
  const lockFile = `${cotalFolder(root)}/up.lock`;
  let lock: Reservation | undefined;
  let brokerPid = 0;

  const reportUp = (standing: Readonly<Partial<Record<ChildName, Standing>>>): void => {
    const { mode, durability } = mesh.settings;
    if (mode === 'open') journal.tell('up.live-only');
    const record = readProcess({ root, what: 'delivery', space });
    const manager = readProcess({ root, what: 'manager', space });
    options.onUp({
      healthy: Object.values(standing).every((each) => each === 'serving'),
      mode,
      broker: { pid: brokerPid, url: mesh.url, durability },
      delivery:
        standing.delivery === undefined
          ? null
          : {
              pid: record.kind === 'running' ? record.pid : null,
              responder: standing.delivery === 'serving' ? 'bound' : 'unbound',
            },
      manager: standing.manager === undefined ? null : { pid: manager.kind === 'running' ? manager.pid : null },
      log: logPath({ root, what: 'delivery', space }),
    });
  };

  const actor = createActor(
    bindLauncher({
      journal,
      children: childServices({
        root,
        space,
        numbers,
        journal,
        plane,
        output: isForeground ? 'inherit' : 'log',
        broker: () => ({ url: mesh.url, tls: mesh.settings.tls }),
        prepareCredentials: () => mesh.prepareCredentials(),
        env,
        ...(options.wordsFor === undefined ? {} : { wordsFor: options.wordsFor }),
      }),
      stop: stopper({ root, space, numbers, journal }),
      numbers,
      lock: () => {
        lock = reserve(lockFile);
        return lock.kind === 'held' ? { type: 'lock.held', pid: lock.pid } : { type: 'lock.taken' };
      },
      unlock: () => {
        if (lock?.kind === 'taken') lock.release();
      },
      plan: () => mesh.plan(),
      findBroker: async () => {
        const found = await mesh.findBroker();
        brokerPid = found?.pid ?? 0;
        return found;
      },
      startBroker: async (signal) => {
        const started = await mesh.startBroker(signal);
        if (started.type !== 'up.refused') brokerPid = started.pid;
        return started;
      },
      watchBroker: ({ pid }, tell) =>
        watchBroker(
          { pid, child: mesh.brokerProcess, isAsked: () => isStopped({ root, what: 'broker', space }) },
          tell,
        ),
      provision: () => mesh.provision(),
      prepareCredentials: () => mesh.prepareCredentials(),
      recordMesh: () => mesh.record(),
      tellUp: reportUp,
      logOf: (what) => logPath({ root, what, space }),
    }),
    {
      input: {
        isForeground,
        isOpen: asked.open,
        children: asked.open ? [] : CHILDREN.filter((each) => each !== 'manager' || options.manager !== false),
        retryMs: numbers.restartWaitMs,
      },
      ...(options.inspect === undefined ? {} : { inspect: options.inspect }),
    },
  );

  return {
    actor,
    stop: (signal: string) => actor.send({ type: 'stop.requested', signal }),
    run: (): Promise<UpEnded> =>
      new Promise((resolve, reject) => {
        actor.subscribe({
          error: reject,
          complete: () => {
            const output = actor.getSnapshot().output ?? { end: 'failed' as const, message: 'no output', help: '' };
            const code = GOOD.has(output.end) ? 0 : 1;
            if (code !== 0 && output.end !== 'unbound') journal.tell('up.failed', { reason: output.message });
            void plane.close().then(() => resolve({ ...output, code }));
          },
        });
        actor.start();
      }),
  };
}
