/** The daily check, under a minute: format, lint, arrows, types, unit and path tests, diagrams. Stops at nothing, reports all. */
import { spawnSync } from 'node:child_process';

const steps: readonly [name: string, command: string, ...args: string[]][] = [
  ['format and lint', 'biome', 'check', '--error-on-warnings', '.'],
  ['arrows', 'node', 'scripts/arrows.ts'],
  ['types', 'tsc', '-p', '.'],
  ['types of the worker', 'tsc', '-p', 'src/worker'],
  ['types of its tests', 'tsc', '-p', 'test/worker'],
  ['types of the worker under test', 'tsc', '-p', 'test/worker/subject'],
  ['types of the inspector page', 'tsc', '-p', 'src/inspector/page'],
  ['unit and path tests', 'vitest', 'run', '--project', 'unit', '--project', 'paths', '--reporter=dot'],
  ['diagrams', 'node', '--conditions=plane3-source', 'scripts/diagrams.ts', '--check'],
  ['metrics', 'node', '--conditions=plane3-source', 'scripts/metrics.ts', '--check'],
  ['plots', 'node', '--conditions=plane3-source', 'scripts/plots.ts', '--check'],
];

/** The random worlds of the daily check are fewer than those of `npm test`. */
const env = { ...process.env, WORLD_SEEDS: process.env.WORLD_SEEDS ?? '20' };

const failed: string[] = [];
for (const [name, command, ...args] of steps) {
  const started = performance.now();
  const run = spawnSync(command, args, { encoding: 'utf8', env });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  const ok = run.status === 0;
  process.stdout.write(`${ok ? '✓' : '✗'} ${name} (${seconds} s)\n`);
  if (ok) continue;
  failed.push(name);
  process.stdout.write(`${run.stdout}${run.stderr}${run.error?.message ?? ''}\n`);
}
process.stdout.write(failed.length === 0 ? 'check: all good\n' : `check: failed: ${failed.join(', ')}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
