/**
 * The processes that `up` keeps: `cotal deliver` and `cotal manager`, each in a session of its own (U5). The mark of a stop is
 * looked at before a spawn and right after it, with nothing in between: a stop marks first and looks afterwards, so that one
 * of the two always sees the other (U3).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readJson, shaped } from '../domain/message.ts';
import type { Numbers } from '../domain/numbers.ts';
import { isSame } from '../domain/process-record.ts';
import { causeOf, restartWait } from '../domain/restart.ts';
import type { ChildName, ExitFact } from '../machines/child.facts.ts';
import type { ChildServices } from '../services/bind-launcher.ts';
import { isStopped, logPath, type ProcessName, readProcess, recordStarting } from '../services/local/process-record.ts';
import { lookAt, startOf } from '../services/local/processes.ts';
import { type Plane, servesAs } from '../services/nats/serving-probe.ts';
import type { Journal, Stoppable } from '../services/ports.ts';
import { endSchema } from './end-report.ts';

const LOOK_AGAIN_MS = 100;
/** A row that is just about to end is waited for a little longer. */
const EXPIRY_MARGIN_MS = 250;
const COMMAND: Readonly<Record<ChildName, string>> = { delivery: 'deliver', manager: 'manager' };

export interface ChildrenOptions {
  readonly root: string;
  readonly space: string;
  readonly numbers: Numbers;
  readonly journal: Journal;
  /** Where its stderr goes: ours, or its log. */
  readonly output: 'inherit' | 'log';
  /** What the mesh was recorded as: known from the time it runs. */
  broker(): { url: string; tls: boolean };
  /** Makes what credentials are missing or past their use, before each spawn. */
  prepareCredentials(): Promise<unknown>;
  /** A look at the plane over a connection of its own; undefined when the broker cannot be reached. */
  readonly plane: PlaneProbe;
  readonly env?: NodeJS.ProcessEnv;
  /** Further words on the command line of a child. */
  wordsFor?(what: ChildName): readonly string[];
}

export interface PlaneProbe {
  look(): Promise<Plane | undefined>;
  /** The manager whose lease row says ready. */
  manager(): Promise<{ incarnation: string } | undefined>;
  close(): Promise<void>;
}

interface Kept {
  readonly child: ChildProcess;
  readonly incarnation: string;
  /** What it said of its own end. */
  said: string;
  readonly exit: Promise<ExitFact>;
}

export function childServices(options: ChildrenOptions): ChildServices {
  const { root, space, numbers, journal, plane } = options;
  const kept = new Map<number, Kept>();
  const adoptedAt = new Map<number, number>();
  const nameOf = (what: ChildName): ProcessName => ({ root, what, space });

  const serves = async (what: ChildName, incarnation: string | undefined): Promise<boolean> => {
    if (what === 'manager') {
      const seen = await plane.manager();
      return seen !== undefined && (incarnation === undefined || seen.incarnation === incarnation);
    }
    const seen = await plane.look();
    return seen !== undefined && servesAs(seen, incarnation);
  };

  return {
    journal,
    numbers,

    running: (name) => {
      const record = readProcess(nameOf(name));
      if (record.kind !== 'running') return undefined;
      adoptedAt.set(record.pid, sizeOf(logPath(nameOf(name))));
      journal.tell('up.adopted', { what: name, pid: record.pid });
      return record.pid;
    },

    spawn: async (what, signal) => {
      const name = nameOf(what);
      await options.prepareCredentials();
      if (signal.aborted || isStopped(name)) return { type: 'process.marked' };
      const child = start(options, what);
      recordStarting(name, { pid: child.pid, start: startOf(child.pid) });
      kept.set(child.pid, child.kept);
      if (!isStopped(name)) return { type: 'process.spawned', pid: child.pid };
      child.kept.child.kill('SIGKILL');
      await child.kept.exit;
      return { type: 'process.marked' };
    },

    watch: ({ pid }, tell) => {
      const own = kept.get(pid);
      let stopped = false;
      if (own !== undefined) {
        void own.exit.then((exit) => {
          if (!stopped) tell(exit);
        });
        return {
          stop: async () => {
            stopped = true;
          },
        };
      }
      return every(LOOK_AGAIN_MS, () => {
        if (isSame({ pid, start: '-' }, lookAt(pid)) && isRecorded(nameOf, pid)) return 'again';
        tell({ type: 'process.exited', code: null, signal: null });
        return 'enough';
      });
    },

    prove: ({ name, pid }, tell) =>
      every(LOOK_AGAIN_MS, async () => {
        if (isStopped(nameOf(name))) {
          tell({ type: 'process.marked' });
          return 'enough';
        }
        if (!(await serves(name, kept.get(pid)?.incarnation))) return 'again';
        await plane.close();
        // A mark that was made while the broker was asked counts.
        tell({ type: isStopped(nameOf(name)) ? 'process.marked' : 'serving.proved' });
        return 'enough';
      }),

    explain: async ({ name, pid, code, signal }) => {
      const record = nameOf(name);
      const own = kept.get(pid);
      kept.delete(pid);
      const words = readSince(logPath(record), adoptedAt.get(pid) ?? sizeOf(logPath(record)));
      const seen = await plane.look();
      await plane.close();
      const age = seen?.lease.kind === 'held' || seen?.lease.kind === 'unreadable' ? seen.lease.ageMs : undefined;
      const expiresInMs = age === undefined ? undefined : Math.max(0, numbers.leaseTtlMs - age) + EXPIRY_MARGIN_MS;
      const cause = causeOf({ code, signal });
      const said = own === undefined ? undefined : shaped(endSchema, readJson(new TextEncoder().encode(own.said)));
      return {
        asked: isStopped(record) || words.some((line) => /^• (delivery|manager): received \S+, exiting/.test(line)),
        cause,
        reason:
          said?.end === 'lease-refused' && name === 'delivery'
            ? heldReason(readProcess(record).kind === 'running' || isAnswered(seen), expiresInMs)
            : (said?.message ?? `it ended (${cause}) without a word; see ${logPath(record)}`),
        waitMs: restartWait({ expiresInMs, most: numbers.restartWaitMs }),
      };
    },
  };
}

/** Another daemon serves, or one crashed and left its row behind. */
function heldReason(isServed: boolean, expiresInMs: number | undefined): string {
  if (isServed) return 'another delivery daemon holds the lease of this space';
  const rest = expiresInMs === undefined ? '' : `; it ends in ${Math.ceil(expiresInMs / 1000)} s at the latest`;
  return `the lease of a crashed holder has not expired yet${rest}`;
}

const isAnswered = (seen: Plane | undefined): boolean => seen?.responder !== undefined;

/** Whether a pid is still that of the record by which it was adopted. */
const isRecorded = (nameOf: (what: ChildName) => ProcessName, pid: number): boolean =>
  (['delivery', 'manager'] as const).some((what) => {
    const record = readProcess(nameOf(what));
    return record.kind === 'running' && record.pid === pid;
  });

function start(options: ChildrenOptions, what: ChildName): { pid: number; kept: Kept } {
  const { root, space, output } = options;
  const { url, tls } = options.broker();
  const incarnation = randomBytes(12).toString('hex');
  const words = [
    COMMAND[what],
    '--space',
    space,
    '--root',
    root,
    '--server',
    url,
    ...(tls ? ['--tls'] : []),
    ...(options.wordsFor?.(what) ?? []),
  ];
  const log = output === 'log' ? openSync(logPath({ root, what, space }), 'a', 0o600) : undefined;
  try {
    const child = spawn(process.execPath, [...programOf(), ...words, '--launched', incarnation], {
      cwd: root,
      detached: true,
      env: options.env ?? process.env,
      stdio: ['ignore', log ?? 'ignore', log ?? 'inherit', 'pipe'],
    });
    if (child.pid === undefined) throw new Error(`${process.execPath} could not be started`);
    const exit = new Promise<ExitFact>((resolve) => {
      child.once('exit', (code, signal) => resolve({ type: 'process.exited', code, signal }));
    });
    const kept: Kept = { child, incarnation, said: '', exit };
    const said = child.stdio[3];
    said?.on('data', (bytes: Buffer) => {
      kept.said += bytes.toString('utf8');
    });
    said?.on('error', () => {});
    child.on('error', () => {});
    return { pid: child.pid, kept };
  } finally {
    if (log !== undefined) closeSync(log);
  }
}

/** What every child of ours runs with; a small young generation keeps a start over a large backlog small. */
const NODE_WORDS = ['--disable-warning=ExperimentalWarning', '--max-semi-space-size=4'];

/** Node's options and the command line's own file, as this build has them. */
function programOf(): string[] {
  const source = import.meta.url.endsWith('.ts');
  const file = fileURLToPath(new URL(source ? '../cli/cotal.ts' : '../cli/cotal.js', import.meta.url));
  return [...(source ? ['--conditions=plane3-source'] : []), ...NODE_WORDS, file];
}

/** Asks again and again until it is enough; the next time only after the last one has ended. */
function every(ms: number, ask: () => 'again' | 'enough' | Promise<'again' | 'enough'>): Stoppable {
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  const turn = async (): Promise<void> => {
    if (stopped || (await ask()) === 'enough' || stopped) return;
    timer = setTimeout(() => void turn(), ms);
  };
  timer = setTimeout(() => void turn(), 0);
  return {
    stop: async () => {
      stopped = true;
      clearTimeout(timer);
    },
  };
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

function readSince(path: string, from: number): string[] {
  try {
    return readFileSync(path).subarray(from).toString('utf8').split('\n');
  } catch {
    return [];
  }
}
