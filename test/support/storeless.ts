/** A nats-server with the accounts of a mesh and without a store: what a broker is while its JetStream is not up yet. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { portsOf } from '../../src/services/local/broker.ts';
import { brokerFolder, configPath } from '../../src/services/local/broker-config.ts';
import type { Mesh } from './mesh.ts';
import { until } from './until.ts';

export async function storeless(mesh: Mesh): Promise<{ url: string; stop(): Promise<void> }> {
  const root = join(mesh.root, 'storeless');
  const folder = brokerFolder(root);
  mkdirSync(folder, { recursive: true });
  const { jetstream: _, resolver, ...config } = JSON.parse(readFileSync(configPath(mesh.root), 'utf8'));
  const accounts = { ...resolver, dir: join(folder, 'accounts') };
  writeFileSync(configPath(root), JSON.stringify({ ...config, port: -1, ports_file_dir: folder, resolver: accounts }));
  const child = spawn(mesh.binary.path, ['-c', configPath(root)], { stdio: 'ignore' });
  const exit = once(child, 'exit');
  const url = await until(() => portsOf(root, child.pid ?? 0), 'the broker without a store has no port');
  return {
    url,
    stop: async () => {
      child.kill('SIGKILL');
      await exit;
    },
  };
}
