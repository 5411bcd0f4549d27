/** examples/manager.ts as a process of its own, against a real daemon. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { until } from '../../support/until.ts';

const example = fileURLToPath(new URL('../../../examples/manager.ts', import.meta.url));
const suite = deliverySuite();

function run(...args: string[]) {
  const child = spawn(process.execPath, ['--conditions=plane3-source', example, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  return { child, lines, ended: once(child, 'exit') };
}

it('it proves the store, finds no gate to repair, and registers', async () => {
  const { lines, ended } = run(suite.mesh.root, suite.mesh.space, suite.mesh.url);
  expect(await ended).toEqual([0, null]);
  expect(lines[0]).toContain('"end":"matched"');
  expect(lines.slice(1)).toEqual(['repair: {"end":"no-gate"}', 'registration: {"end":"registered","epoch":1}']);
});

it('it can be cancelled while it waits for a daemon', async () => {
  await suite.running.stop();
  const { child, lines, ended } = run(suite.mesh.root, suite.mesh.space, suite.mesh.url);
  // Connected: its signals are armed by then.
  const monitor = await suite.mesh.connect('observer');
  const subject = `$SYS.REQ.ACCOUNT.${suite.mesh.keys.account.publicKey}.CONNZ`;
  await until(
    async () => (await monitor.request(subject, '{"auth":true}', { timeout: 2_000 })).string().includes('manager-rail'),
    () => lines,
    60_000,
  );
  child.kill('SIGTERM');
  expect(await ended).toEqual([1, null]);
  expect(lines).toEqual(['stopped: {"why":"received SIGTERM"}']);
});
