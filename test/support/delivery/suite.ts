/** What most delivery tests start from: one mesh and one serving daemon in this process, gone afterwards. */
import { afterEach, beforeEach } from 'vitest';
import { type Mesh, type MeshOptions, startMesh } from '../mesh.ts';
import { Agent } from './agent.ts';
import { type InProcess, startInProcess } from './daemon.ts';

export interface Suite {
  mesh: Mesh;
  running: InProcess;
  agent(name: string, grants?: { read?: readonly string[]; post?: readonly string[] }): Promise<Agent>;
  /** Stops the daemon and starts another one over the same store. */
  restart(env?: Record<string, string>): Promise<void>;
}

export function deliverySuite(
  options: MeshOptions & { env?: Record<string, string>; daemonQuota?: number } = {},
): Suite {
  const { env = {}, daemonQuota, ...mesh } = options;
  const more = daemonQuota === undefined ? {} : { quota: daemonQuota };
  const suite = {
    agent: (name: string, grants?: { read?: readonly string[]; post?: readonly string[] }) =>
      Agent.add(suite.mesh, name, grants),
    restart: async (other: Record<string, string> = env) => {
      await suite.running.stop();
      suite.running = await startInProcess(suite.mesh, other, more);
    },
  } as Suite;
  beforeEach(async () => {
    suite.mesh = await startMesh(mesh);
    process.env.COTAL_HOME = suite.mesh.root;
    suite.running = await startInProcess(suite.mesh, env, more);
  });
  afterEach(async () => {
    await suite.running.stop();
    await suite.mesh.dispose();
  });
  return suite;
}
