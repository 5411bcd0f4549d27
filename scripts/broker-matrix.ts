/**
 * Runs the integration tests on every nats-server that plane3 must work with: the one that is bundled and a 2.15. Prints a
 * line for each; exits 1 when a test failed or when one of the servers could not be had. Arguments go to vitest.
 *
 *   npm run test:broker-matrix -- test/integration/provision.test.ts
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { findNatsServer, type NatsServer } from '../src/services/local/nats-binary.ts';

const reportSchema = z.object({ numPassedTests: z.number(), numFailedTests: z.number(), success: z.boolean() });
const say = (line: string) => process.stdout.write(`${line}\n`);
const progress = (line: string) => process.stderr.write(`• ${line}\n`);

const { COTAL_NATS_SERVER: _, ...env } = process.env;
const wanted: readonly [name: string, find: () => Promise<NatsServer>][] = [
  [
    'the bundled one',
    () => findNatsServer({ env, exactSource: 'package' }).catch(() => findNatsServer({ env, progress })),
  ],
  [
    '2.15',
    () =>
      findNatsServer({ env, atLeast: '2.15.0', exactSource: 'debian', progress }).catch(() =>
        findNatsServer({ env, atLeast: '2.15.0', progress }),
      ),
  ],
];

function run(server: NatsServer): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'plane3-matrix-'));
  const report = join(folder, 'report.json');
  const started = performance.now();
  try {
    spawnSync(
      'vitest',
      [
        ...['run', '--project', 'integration', '--reporter=default', '--reporter=json', `--outputFile.json=${report}`],
        ...process.argv.slice(2),
      ],
      { stdio: ['ignore', 2, 2], env: { ...env, COTAL_NATS_SERVER: server.path } },
    );
    const { numPassedTests, numFailedTests, success } = reportSchema.parse(JSON.parse(readFileSync(report, 'utf8')));
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    say(
      `${success ? '✓' : '✗'} nats-server ${server.version} (${server.source}): ${numPassedTests} passed, ${numFailedTests} failed (${seconds} s)`,
    );
    return success;
  } catch (error) {
    say(`✗ nats-server ${server.version} (${server.source}): no report (${String(error)})`);
    return false;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

let good = true;
for (const [name, find] of wanted) {
  try {
    good = run(await find()) && good;
  } catch (error) {
    say(`✗ ${name}: ${error instanceof Error ? error.message : String(error)}`);
    good = false;
  }
}
process.exitCode = good ? 0 : 1;
