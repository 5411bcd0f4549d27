/**
 * The broker process: a nats-server of our own, in a session of its own, so that a terminal's Ctrl-C does not reach it. It
 * counts as started when it has answered a real connection with a real credential; that its port is open proves nothing.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, globSync, mkdirSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { spaceKey } from '../../domain/names.ts';
import { isAtLeast, NATS_SERVER_NEED } from '../../domain/versions.ts';
import { cotalFolder } from './auth-store.ts';
import { type BrokerSettings, brokerFolder, configPath, renderConfig } from './broker-config.ts';
import { isAlive, readIfThere, SECRET_FILE, SECRET_FOLDER, writeAtomic } from './files.ts';
import type { NatsServer } from './nats-binary.ts';

export interface BrokerStart extends BrokerSettings {
  readonly binary: NatsServer;
  /** File that gets what the server prints. */
  readonly log: string;
  /** Connects with a real credential, so that an answer proves the whole way in; rejects while there is none. */
  readonly dial: (url: string) => Promise<{ close(): Promise<void> }>;
  /** How long it may take to answer; 10 s unless told. */
  readonly timeoutMs?: number;
  /** Told the pid at once, so that it can be recorded before anything else happens. */
  readonly onSpawn?: (pid: number) => void;
  /** Ends the wait for its answer; the process stays, for whoever stops it. */
  readonly signal?: AbortSignal;
}

export type BrokerOutcome =
  | { kind: 'started'; pid: number; url: string; child: ChildProcess }
  | { kind: 'port-in-use'; port: number }
  | { kind: 'too-old'; version: string; need: string }
  | { kind: 'exited'; code: number | null; signal: NodeJS.Signals | null; lastLines: string[] }
  /** It runs but does not answer; it was killed. `why`: what the last connection said. */
  | { kind: 'silent'; why: string; lastLines: string[] };

const ASK_AGAIN_MS = 10;
const LAST_LINES = 8;

export const brokerLog = (root: string, space: string): string =>
  join(cotalFolder(root), `broker.${spaceKey(space)}.log`);

/** Starts a nats-server and waits until it answers. Nothing is left running when the outcome is not `started`. */
export async function startBroker(start: BrokerStart): Promise<BrokerOutcome> {
  const { binary, root, log } = start;
  if (!isAtLeast(binary.version, NATS_SERVER_NEED)) {
    return { kind: 'too-old', version: binary.version, need: NATS_SERVER_NEED };
  }
  writeAtomic(configPath(root), renderConfig(start), SECRET_FILE, SECRET_FOLDER);
  mkdirSync(brokerFolder(root), { recursive: true, mode: SECRET_FOLDER });
  clearPorts(root);
  const from = sizeOf(log);
  const output = openSync(log, 'a', SECRET_FILE);
  const child = spawn(binary.path, ['-c', configPath(root)], { detached: true, stdio: ['ignore', output, output] });
  closeSync(output);
  if (child.pid !== undefined) start.onSpawn?.(child.pid);
  const ended = endOf(child);
  const tail = () => lastLines(log, from);
  try {
    const answer = await untilAnswered(child, start);
    if (answer.kind === 'answered') {
      child.unref();
      return { kind: 'started', pid: child.pid ?? 0, url: answer.url, child };
    }
    if (answer.kind === 'silent') {
      child.kill('SIGKILL');
      await ended;
      return { kind: 'silent', why: answer.why, lastLines: tail() };
    }
  } catch (error) {
    if (start.signal?.aborted !== true) child.kill('SIGKILL');
    throw error;
  }
  const { code, signal } = await ended;
  const lines = tail();
  return lines.some((line) => line.includes('address already in use'))
    ? { kind: 'port-in-use', port: start.port }
    : { kind: 'exited', code, signal, lastLines: lines };
}

type Answer = { kind: 'answered'; url: string } | { kind: 'silent'; why: string } | { kind: 'exited' };

async function untilAnswered(
  child: ChildProcess,
  { root, dial, signal, timeoutMs = 10_000 }: BrokerStart,
): Promise<Answer> {
  const deadline = performance.now() + timeoutMs;
  let why = 'it has not said which port it has';
  while (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
    signal?.throwIfAborted();
    const url = portsOf(root, child.pid);
    if (url !== undefined) {
      try {
        const connection = await dial(url);
        await connection.close();
        return { kind: 'answered', url };
      } catch (error) {
        why = error instanceof Error ? error.message : String(error);
      }
    }
    if (performance.now() > deadline) return { kind: 'silent', why };
    await pause(ASK_AGAIN_MS);
  }
  return { kind: 'exited' };
}

const portsSchema = z.object({ nats: z.array(z.string()).min(1) });

/** The URL in the ports file that this very process wrote, or undefined while there is none. */
export function portsOf(root: string, pid: number): string | undefined {
  for (const path of globSync(join(brokerFolder(root), `*_${pid}.ports`))) {
    const text = readIfThere(path);
    if (text === undefined || text === '') continue;
    try {
      const url = portsSchema.parse(JSON.parse(text)).nats[0];
      if (url !== undefined) return url;
    } catch {
      // Half written: it is asked for again.
    }
  }
  return undefined;
}

/** How a child ended, also when it could not be started at all. */
function endOf(child: ChildProcess): Promise<{ code: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });
}

/** Ends a broker that this process started: SIGTERM, then SIGKILL after the grace. */
export async function stopBroker(child: ChildProcess, graceMs = 15_000): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  const kill = setTimeout(() => child.kill('SIGKILL'), graceMs);
  child.kill('SIGTERM');
  await gone;
  clearTimeout(kill);
}

/** Removes the ports files of brokers that are gone, so that a reused pid finds no old port. */
function clearPorts(root: string): void {
  for (const path of globSync(join(brokerFolder(root), '*.ports'))) {
    const pid = Number(/_(\d+)\.ports$/.exec(path)?.[1] ?? 0);
    if (pid > 0 && !isAlive(pid)) rmSync(path, { force: true });
  }
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** The last lines that a file got since it had `from` bytes. */
function lastLines(path: string, from: number): string[] {
  const size = sizeOf(path);
  const length = Math.min(size - from, 64 * 1024);
  if (length <= 0) return [];
  const bytes = Buffer.alloc(length);
  const file = openSync(path, 'r');
  try {
    readSync(file, bytes, 0, length, size - length);
  } finally {
    closeSync(file);
  }
  return bytes
    .toString('utf8')
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-LAST_LINES);
}
