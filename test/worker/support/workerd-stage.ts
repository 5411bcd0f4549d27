/** The stage on real workerd: wrangler's harness with the worker under test, D1, and objects with their own SQLite. */
import { createTestHarness } from 'wrangler';
import type { Row, Storage } from '../../../src/provider/storage/port.ts';
import { divided } from './bounds.ts';
import type { At, Stage, StageOptions } from './stage.ts';

process.env.CLOUDFLARE_CF_FETCH_ENABLED = 'false';
process.env.WRANGLER_SEND_METRICS = 'false';

/** The worker's configuration as wrangler takes it; the paths are relative to the root of the repository. */
export const workerConfig = (vars: Readonly<Record<string, string>>) => ({
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
  d1_databases: [
    { binding: 'DB', database_name: 'test', database_id: 'test', migrations_dir: 'src/provider/migrations' },
  ],
  vars: { ...vars },
});

export interface WorkerdStage extends Stage {
  /** The raw `/send` of an object, with whatever body. */
  rawSend(at: At, body: unknown): Promise<Response>;
  /** D1 as the worker reaches it. */
  readonly storage: Storage;
  logs(): string;
}

export async function openWorkerd({ fault, bounds = divided }: StageOptions = {}): Promise<WorkerdStage> {
  const server = createTestHarness({
    root: process.cwd(),
    workers: [{ config: workerConfig({ ...bounds, ...(fault === undefined ? {} : { FAULT: fault }) }) }],
  });
  const { url } = await server.listen();
  const worker = server.getWorker();
  await worker.applyD1Migrations('DB');
  const door = async (at: At, verb: string, value = '', init: RequestInit = {}): Promise<Response> =>
    fetch(
      new URL(
        `/test/${encodeURIComponent(at.workspace)}/${encodeURIComponent(at.node)}/${verb}?value=${encodeURIComponent(value)}`,
        url,
      ),
      init,
    );
  const rawSend = (at: At, body: unknown) => door(at, 'send', '', { method: 'POST', body: JSON.stringify(body) });
  /** Through the worker's own D1 storage, with its errors. */
  const ask = async <T>(body: object): Promise<T> => {
    const response = await fetch(new URL('/test/sql', url), { method: 'POST', body: JSON.stringify(body) });
    const { rows, error } = (await response.json()) as { rows: T; error?: { code: string; message: string } };
    if (error !== undefined) throw Object.assign(new Error(error.message), { code: error.code });
    return rows;
  };
  return {
    kind: 'workerd',
    url: url.origin,
    sql: (...statements) => ask<readonly (readonly Row[])[]>({ statements }),
    storage: {
      batch: (statements) => ask({ statements }),
      query: (statement) => ask({ statements: [statement], alone: true }),
    },
    rawSend,
    async send(request) {
      const response = await rawSend(request, request);
      return ((await response.json()) as { results: [] }).results;
    },
    objectDump: async (at) => (await (await door(at, 'dump')).json()) as Awaited<ReturnType<Stage['objectDump']>>,
    hibernate: ({ workspace, node }) =>
      worker
        .evictDurableObject('NodeDO', { name: `${workspace}:${node}`, webSockets: 'hibernate' })
        .catch((error: unknown) => {
          if (!String(error).includes('not currently running')) throw error;
        }),
    async reset(at) {
      await door(at, 'abort').catch(() => undefined);
    },
    async park(at, step) {
      await door(at, 'park', step);
    },
    parked: async (at) => (await (await door(at, 'parked')).json()) as undefined,
    async release(at) {
      await door(at, 'release');
    },
    async trouble(at, trouble) {
      await door(at, 'trouble', JSON.stringify(trouble));
    },
    logs: () =>
      server
        .getLogs()
        .map((log) => JSON.stringify(log))
        .join('\n'),
    close: () => server.close(),
  };
}
