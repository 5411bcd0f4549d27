/**
 * `npm run audit`: asks the registry for known weaknesses of the locked dependencies. Exit 1 for one of level high or above; where
 * the registry does not answer, that is said and nothing is concluded (exit 0).
 */
import { spawnSync } from 'node:child_process';
import { z } from 'zod';

const report = z.looseObject({ metadata: z.object({ vulnerabilities: z.record(z.string(), z.number()) }) });
const words = ['audit', '--json', '--package-lock-only', '--omit=dev'];
const ran = spawnSync('npm', words, { encoding: 'utf8', timeout: 60_000 });
let json: unknown;
try {
  json = JSON.parse(ran.stdout);
} catch {
  json = undefined;
}
const read = report.safeParse(json);
if (read.success) {
  const { high = 0, critical = 0, ...others } = read.data.metadata.vulnerabilities;
  process.stdout.write(`${JSON.stringify({ audited: true, high, critical, ...others })}\n`);
  process.exitCode = high + critical > 0 ? 1 : 0;
} else {
  process.stdout.write('• audit: the registry did not answer; nothing is known of the locked dependencies\n');
}
