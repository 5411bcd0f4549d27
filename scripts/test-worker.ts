/**
 * `npm run -s test:worker`: the provider plane's acceptance on real workerd and on the in-process server. Arguments are
 * passed on to vitest (a file, `-t NAME`). The last line is `N passed, N failed`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const folder = mkdtempSync(join(tmpdir(), 'plane3-worker-'));
const report = join(folder, 'report.json');
const run = spawnSync(
  'vitest',
  [
    'run',
    '--project',
    'worker',
    '--reporter=default',
    '--reporter=json',
    `--outputFile=${report}`,
    ...process.argv.slice(2),
  ],
  {
    stdio: 'inherit',
    env: { ...process.env, CLOUDFLARE_CF_FETCH_ENABLED: 'false', WRANGLER_SEND_METRICS: 'false' },
  },
);
const counts = read(report);
rmSync(folder, { recursive: true, force: true });
process.stdout.write(`${counts.passed} passed, ${counts.failed} failed\n`);
process.exitCode = run.status === 0 && counts.passed > 0 && counts.failed === 0 ? 0 : 1;

/** A report that is not there, or a file that did not load, is a failure too. */
function read(path: string): { passed: number; failed: number } {
  try {
    const { numPassedTests, numFailedTests, numFailedTestSuites } = JSON.parse(readFileSync(path, 'utf8')) as {
      numPassedTests: number;
      numFailedTests: number;
      numFailedTestSuites: number;
    };
    return { passed: numPassedTests, failed: numFailedTests > 0 ? numFailedTests : numFailedTestSuites };
  } catch {
    return { passed: 0, failed: 1 };
  }
}
