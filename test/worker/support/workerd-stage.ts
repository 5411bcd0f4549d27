/** The stage on real workerd: wrangler's harness with the worker under test, D1, and objects with their own SQLite. */
import { createTestHarness } from 'wrangler';
import type { Storage } from '../../../src/provider/storage/port.ts';
import { divided } from './bounds.ts';
import { doorsOf } from './doors.ts';
import type { At, Stage, StageOptions } from './stage.ts';

process.env.CLOUDFLARE_CF_FETCH_ENABLED = 'false';
process.env.WRANGLER_SEND_METRICS = 'false';

/** The worker's configuration as wrangler takes it; the paths are relative to the root of the repository. */
export const workerConfig = (vars: Readonly<Record<string, string>>, migrations = 'src/provider/migrations') => ({
  name: 'plane3-provider-test',
  main: 'test/worker/subject/worker.ts',
  compatibility_date: '2026-10-01',
  durable_objects: {
    bindings: [
      { name: 'NODES', class_name: 'NodeDO' },
      { name: 'ECHO', class_name: 'EchoDO' },
    ],
  },
  migrations: [{ tag: 'v1', new_sqlite_classes: ['NodeDO', 'EchoDO'] }],
  d1_databases: [{ binding: 'DB', database_name: 'test', database_id: 'test', migrations_dir: migrations }],
  vars: { ...vars },
});

export interface WorkerdStage extends Stage {
  /** The raw `/send` of an object, with whatever body. */
  rawSend(at: At, body: unknown): Promise<Response>;
  /** Applies what lies in the folder of the migrations now and is not applied yet. */
  migrate(): Promise<void>;
  /** D1 as the worker reaches it. */
  readonly storage: Storage;
  logs(): string;
}

/** @param migrations Another folder of migrations, absolute: for a database of before. */
export async function openWorkerd(
  { fault, bounds = divided }: StageOptions = {},
  migrations?: string,
): Promise<WorkerdStage> {
  const server = createTestHarness({
    root: process.cwd(),
    workers: [{ config: workerConfig({ ...bounds, ...(fault === undefined ? {} : { FAULT: fault }) }, migrations) }],
  });
  const { url } = await server.listen();
  const worker = server.getWorker();
  const migrate = () => worker.applyD1Migrations('DB');
  await migrate();
  const { door, ...doors } = doorsOf(url);
  return {
    ...doors,
    kind: 'workerd',
    url: url.origin,
    migrate,
    hibernate: ({ workspace, node }) =>
      worker
        .evictDurableObject('NodeDO', { name: `${workspace}:${node}`, webSockets: 'hibernate' })
        .catch((error: unknown) => {
          if (!String(error).includes('not currently running')) throw error;
        }),
    async reset(at) {
      await door(at, 'abort').catch(() => undefined);
    },
    logs: () =>
      server
        .getLogs()
        .map((log) => JSON.stringify(log))
        .join('\n'),
    close: () => server.close(),
  };
}
