/** The stage in-process: the server that `cotal hosted serve` runs, over a file, with real sockets. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseLimits } from '../../../src/domain/provider/limits.ts';
import { type Engine, randomId } from '../../../src/provider/engine/engine.ts';
import type { ObjectStore } from '../../../src/provider/registry/ports.ts';
import { sqliteObjectStore } from '../../../src/provider/server/object-store.ts';
import { Registries } from '../../../src/provider/server/registries.ts';
import { type Listening, listen } from '../../../src/provider/server/server.ts';
import { openSqlite, sqliteStorage } from '../../../src/provider/storage/sqlite.ts';
import type { Journal } from '../../../src/services/ports.ts';
import { divided } from './bounds.ts';
import { faulty, silent } from './faults.ts';
import { Parking } from './parking.ts';
import type { At, Stage, StageOptions } from './stage.ts';
import { TroubledStorage } from './troubled-storage.ts';

export const quiet: Journal = { tell: () => undefined };
/** The nodes' own tables, each limited to one workspace. */
const own = {
  bound: 'workspace = :workspace',
  owed: 'workspace = :workspace',
  ready: 'connection IN (SELECT connection FROM bound WHERE workspace = :workspace)',
  retried: 'workspace = :workspace',
};

/** One life of the server. A crash ends it: from then on nothing of it reaches the file any more. */
interface Life {
  readonly listening: Listening;
  readonly registries: Registries;
  readonly parking: Parking;
  readonly storage: TroubledStorage;
  crash(): Promise<void>;
  stop(): Promise<void>;
}

async function live(db: string, port: number, { fault, bounds = divided }: StageOptions): Promise<Life> {
  const database = openSqlite(db);
  const parking = new Parking();
  const storage = new TroubledStorage(sqliteStorage(database));
  const inner = sqliteObjectStore(database);
  let exec: ObjectStore['exec'] = inner.exec;
  const engine: Engine = { storage, limits: parseLimits(bounds), now: () => Date.now(), newId: randomId };
  const registries = new Registries({
    engine,
    store: { exec: (text, ...params) => exec(text, ...params) },
    journal: quiet,
    policy: faulty(fault),
    steps: parking,
  });
  const listening = await listen(engine, registries, { host: '127.0.0.1', port });
  return {
    listening,
    registries,
    parking,
    storage,
    async crash() {
      storage.plan({ match: '', kind: 'before', times: Number.POSITIVE_INFINITY });
      exec = () => [];
      await listening.cut();
      database.close();
    },
    async stop() {
      await listening.stop();
      database.close();
    },
  };
}

export async function openInProcess(options: StageOptions = {}): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'plane3-hosted-'));
  const db = join(folder, 'hosted.db');
  let life = await live(db, 0, options);
  const probe = new DatabaseSync(db, { timeout: 5_000 });
  const storage = sqliteStorage(probe);
  return {
    kind: 'in-process',
    get url() {
      return life.listening.url;
    },
    sql: (...statements) => storage.batch(statements),
    send: (request) => life.registries.send(request),
    async objectDump({ workspace, node }: At) {
      const tables = Object.entries(own).map(([name, where]) => [
        name,
        probe.prepare(`SELECT * FROM ${name} WHERE ${where} ORDER BY 1, 2, 3`).all({ workspace }),
      ]);
      return { alarm: life.registries.of(workspace, node).alarmAt(), tables: Object.fromEntries(tables) };
    },
    async hibernate() {},
    /** The process dies: every socket is cut, nothing is written down, and a new one starts on the same file. */
    async reset() {
      const { port } = new URL(life.listening.url);
      await life.crash();
      life = await live(db, Number(port), options);
    },
    async park(_, step) {
      life.parking.park(step);
    },
    parked: async () => life.parking.parked,
    async release() {
      life.parking.release();
    },
    async silence(_, connection) {
      silent.add(connection);
    },
    async trouble(_, planned) {
      life.storage.plan(planned ?? undefined);
    },
    async close() {
      await life.stop();
      probe.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
