/**
 * The stage under `wrangler dev --persist-to`, as a child that can be killed with SIGKILL: all of workerd gone at once,
 * and started again on the same files. Its `reset` is that.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { until } from '../../support/until.ts';
import { parkable } from './bounds.ts';
import { doorsOf } from './doors.ts';
import type { Stage } from './stage.ts';
import { workerConfig } from './workerd-stage.ts';

const wrangler = resolve('node_modules/.bin/wrangler');
const env = { ...process.env, CLOUDFLARE_CF_FETCH_ENABLED: 'false', WRANGLER_SEND_METRICS: 'false', CI: 'true' };

export async function openKillable(): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'plane3-killable-'));
  const config = join(folder, 'wrangler.json');
  const made = workerConfig({ ...parkable });
  const d1 = made.d1_databases.map((each) => ({ ...each, migrations_dir: resolve(each.migrations_dir) }));
  writeFileSync(config, JSON.stringify({ ...made, main: resolve(made.main), d1_databases: d1 }));
  const persisted = ['--persist-to', join(folder, 'state'), '-c', config];
  const applied = spawnSync(wrangler, ['d1', 'migrations', 'apply', 'DB', '--local', ...persisted], {
    env,
    encoding: 'utf8',
  });
  if (applied.status !== 0) throw new Error(`migrations: ${applied.stdout}${applied.stderr}`);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let said = '';
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(
      wrangler,
      [
        'dev',
        ...persisted,
        '--ip',
        '127.0.0.1',
        '--port',
        String(port),
        '--inspector-port',
        '0',
        '--show-interactive-dev-session=false',
      ],
      { env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] },
    );
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (data) => (said = `${said}${data}`.slice(-4_000)));
    await until(
      async () => (await fetch(`${url}/health`)).ok,
      () => said,
      60_000,
    );
    return child;
  };
  const kill = async (child: ChildProcess): Promise<void> => {
    const gone = new Promise((done) => child.once('exit', done));
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    await gone;
    await until(
      () =>
        fetch(`${url}/health`).then(
          () => false,
          () => true,
        ),
      'the port is closed',
    );
  };
  let child = await start();
  return {
    ...doorsOf(new URL(url)),
    kind: 'workerd',
    url,
    async hibernate() {},
    async reset() {
      await kill(child);
      child = await start();
    },
    async close() {
      await kill(child);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const probe = createServer();
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address() as AddressInfo;
      probe.close(() => done(port));
    });
  });
}
