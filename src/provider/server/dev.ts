/**
 * `cotal hosted dev` as a plain function: the real worker on local workerd, with D1 and the objects' SQLite in a folder.
 * It needs a checkout: wrangler and the worker's sources are no part of the published package.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import { limitVariables, parseLimits } from '../../domain/provider/limits.ts';
import { randomId } from '../engine/engine.ts';
import { hashToken, newToken } from '../engine/keys.ts';

const CONFIG = join(import.meta.dirname, '..', '..', 'worker', 'wrangler.jsonc');

export interface DevOptions {
  /** 0 takes a free one, which wrangler prints. */
  readonly port: number;
  /** Folder of the database and of the objects. */
  readonly persistTo: string;
  /** Bounds, as `HOSTED_…` variables. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Gets what wrangler prints, line by line; its own colours and prompts are off. */
  readonly say: (line: string) => void;
}

export interface DevServer {
  /** Ends when wrangler does. */
  readonly ended: Promise<number>;
  stop(): void;
}

/**
 * Applies the migrations, then runs the worker.
 * @throws Plane3Error `hosted.no-wrangler` outside of a checkout, `hosted.wrangler-failed`, `hosted.limit`.
 */
export async function devHosted({ port, persistTo, env, say }: DevOptions): Promise<DevServer> {
  parseLimits(env);
  await applyMigrations({ persistTo, say });
  const bounds = limitVariables.flatMap((name) => (env[name] === undefined ? [] : ['--var', `${name}:${env[name]}`]));
  const child = run(
    [
      'dev',
      ...common(persistTo),
      '--ip',
      '127.0.0.1',
      '--port',
      String(port),
      '--show-interactive-dev-session=false',
      ...bounds,
    ],
    say,
  );
  return {
    ended: exitOf(child),
    stop() {
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
    },
  };
}

/** Makes a workspace in the local database of `hosted dev`; the key is shown only here. */
export async function addDevWorkspace(options: {
  readonly persistTo: string;
  readonly name: string;
  readonly say: (line: string) => void;
}): Promise<{ readonly id: string; readonly key: string }> {
  const id = randomId('ws');
  const key = newToken('rk_live');
  await applyMigrations(options);
  const text = options.name.replaceAll("'", "''");
  const now = Math.floor(Date.now() / 1_000);
  const statement =
    'INSERT INTO workspaces (id, name, key_hash, created_at) ' +
    `VALUES ('${id}', '${text}', '${await hashToken(key)}', ${now})`;
  await succeeds(['d1', 'execute', 'DB', '--local', ...common(options.persistTo), '--command', statement], options.say);
  return { id, key };
}

/** Runs SQL on the local D1 of `hosted dev`, all of it or none, and answers with what wrangler prints as JSON. */
export async function executeLocal(options: {
  readonly persistTo: string;
  readonly sql: string;
  readonly say: (line: string) => void;
}): Promise<string> {
  const child = run(
    ['d1', 'execute', 'DB', '--local', '--json', ...common(options.persistTo), '--command', options.sql],
    options.say,
    'stderr',
  );
  let text = '';
  child.stdout?.setEncoding('utf8');
  child.stdout?.on('data', (part: string) => {
    text += part;
  });
  const code = await exitOf(child);
  if (code !== 0) throw new Plane3Error('hosted.wrangler-failed', { command: 'd1 execute', code });
  return text;
}

const applyMigrations = ({ persistTo, say }: Pick<DevOptions, 'persistTo' | 'say'>) =>
  succeeds(['d1', 'migrations', 'apply', 'DB', '--local', ...common(persistTo)], say);

const common = (persistTo: string) => ['--persist-to', persistTo, '-c', CONFIG];

async function succeeds(args: readonly string[], say: (line: string) => void): Promise<void> {
  const code = await exitOf(run(args, say));
  if (code !== 0) throw new Plane3Error('hosted.wrangler-failed', { command: args.slice(0, 3).join(' '), code });
}

function run(args: readonly string[], say: (line: string) => void, only?: 'stderr'): ChildProcess {
  const child = spawn(process.execPath, [wrangler(), ...args], {
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      CI: 'true',
      NO_COLOR: '1',
      CLOUDFLARE_CF_FETCH_ENABLED: 'false',
      WRANGLER_SEND_METRICS: 'false',
    },
  });
  for (const stream of only === undefined ? [child.stdout, child.stderr] : [child.stderr]) {
    stream?.setEncoding('utf8');
    stream?.on('data', (text: string) => {
      for (const line of text.split('\n')) if (line.trim() !== '') say(line);
    });
  }
  return child;
}

const exitOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve(code ?? 1));
  });

function wrangler(): string {
  try {
    const folder = dirname(createRequire(import.meta.url).resolve('wrangler/package.json'));
    if (existsSync(CONFIG)) return join(folder, 'bin', 'wrangler.js');
  } catch {
    // Told below.
  }
  throw new Plane3Error('hosted.no-wrangler', {});
}
