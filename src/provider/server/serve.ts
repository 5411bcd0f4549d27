/**
 * `cotal hosted serve` and `cotal hosted workspace add` as plain functions: the provider plane for those without
 * Cloudflare, over one SQLite file.
 */
import { parseLimits } from '../../domain/provider/limits.ts';
import type { Journal } from '../../services/ports.ts';
import { type Engine, randomId } from '../engine/engine.ts';
import { addWorkspace } from '../engine/keys.ts';
import type { Policy } from '../registry/policy.ts';
import type { Look, Steps } from '../registry/ports.ts';
import type { Storage } from '../storage/port.ts';
import { openSqlite, sqliteStorage } from '../storage/sqlite.ts';
import { sqliteObjectStore } from './object-store.ts';
import { Registries } from './registries.ts';
import { listen } from './server.ts';

export interface ServeOptions {
  /** 0 takes a free one. */
  readonly port: number;
  /** Address to listen on; loopback unless told. */
  readonly host?: string;
  /** Database file, or `:memory:`. */
  readonly db: string;
  /** Bounds, as `HOSTED_…` variables. */
  readonly env: Readonly<Record<string, unknown>>;
  readonly journal: Journal;
  /** Whoever looks on while the machines of nodes and sockets are stepped. */
  readonly look?: Look | undefined;
  /** For tests: what stands between the engine and its database, the named points, the decisions. */
  readonly storage?: (storage: Storage) => Storage;
  readonly steps?: Steps;
  readonly policy?: Policy;
}

export interface HostedServer {
  /** `http://host:port`; the nodes' sockets are at `/v1/node/ws`. */
  readonly url: string;
  readonly engine: Engine;
  readonly registries: Registries;
  /** Closes every socket with 1012, writes their departures down, and ends. */
  stop(): Promise<void>;
}

/** @throws Plane3Error `hosted.limit`, `hosted.limits-crossed`, `storage.open`, `storage.migration`, `hosted.listen`. */
export async function serveHosted(options: ServeOptions): Promise<HostedServer> {
  const limits = parseLimits(options.env);
  const database = openSqlite(options.db);
  const storage = sqliteStorage(database);
  const engine: Engine = {
    storage: options.storage?.(storage) ?? storage,
    limits,
    now: () => Date.now(),
    newId: randomId,
  };
  const registries = new Registries({
    engine,
    store: sqliteObjectStore(database),
    journal: options.journal,
    policy: options.policy,
    steps: options.steps,
    look: options.look,
  });
  const listening = await listen(engine, registries, { host: options.host ?? '127.0.0.1', port: options.port });
  options.journal.tell('hosted.listening', { url: listening.url });
  return {
    url: listening.url,
    engine,
    registries,
    async stop() {
      await listening.stop();
      database.close();
    },
  };
}

/** Makes a workspace in a database file; the key is shown only here. */
export async function addHostedWorkspace(options: {
  readonly db: string;
  readonly name: string;
}): Promise<{ readonly id: string; readonly key: string }> {
  const database = openSqlite(options.db);
  try {
    const storage = sqliteStorage(database);
    return await addWorkspace(
      { storage, limits: parseLimits({}), now: () => Date.now(), newId: randomId },
      { name: options.name },
    );
  } finally {
    database.close();
  }
}
