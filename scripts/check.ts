/**
 * The daily check, under a minute: format, lint, arrows, types, unit and path tests, diagrams. Stops at nothing, reports all.
 *
 * The tests and all the rest run side by side, for two cores. What lies in diagrams/ is held to the machines by the tests.
 */
import { spawn } from 'node:child_process';

type Step = readonly [name: string, command: string, ...args: string[]];

const tests: readonly Step[] = [
  ['unit and path tests, diagrams', 'vitest', 'run', '--project', 'unit', '--project', 'paths', '--reporter=dot'],
];
const rest: readonly Step[] = [
  ['format and lint', 'biome', 'check', '--error-on-warnings', '.'],
  ['arrows', 'node', 'scripts/arrows.ts'],
  ['types', 'tsc', '-p', '.'],
  ['types of the worker', 'tsc', '-p', 'src/worker'],
  ['types of its tests', 'tsc', '-p', 'test/worker'],
  ['types of the worker under test', 'tsc', '-p', 'test/worker/subject'],
  ['types of the inspector page', 'tsc', '-p', 'src/inspector/page'],
  ['metrics', 'node', '--conditions=plane3-source', 'scripts/metrics.ts', '--check'],
  ['plots', 'node', '--conditions=plane3-source', 'scripts/plots.ts', '--check'],
];

/** The random worlds of the daily check are fewer than those of `npm test`. */
const env = { ...process.env, WORLD_SEEDS: process.env.WORLD_SEEDS ?? '20' };

/** Runs a command to its end: whether it ended with exit 0, and what it said. */
function ended(command: string, args: readonly string[]): Promise<{ ok: boolean; said: string }> {
  return new Promise((done) => {
    const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text: string) => {
        said += text;
      });
    }
    child.once('error', (error) => done({ ok: false, said: error.message }));
    child.once('close', (code) => done({ ok: code === 0, said }));
  });
}

const failed: string[] = [];
async function inTurn(steps: readonly Step[]): Promise<void> {
  for (const [name, command, ...args] of steps) {
    const started = performance.now();
    const { ok, said } = await ended(command, args);
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    process.stdout.write(`${ok ? '✓' : '✗'} ${name} (${seconds} s)\n`);
    if (ok) continue;
    failed.push(name);
    process.stdout.write(`${said}\n`);
  }
}

await Promise.all([inTurn(tests), inTurn(rest)]);
process.stdout.write(failed.length === 0 ? 'check: all good\n' : `check: failed: ${failed.join(', ')}\n`);
process.exitCode = failed.length === 0 ? 0 : 1;
