/**
 * `npm test`: every test of the project, one group after the other, each with its own runner.
 *
 *   npm test                    every group
 *   npm test -- --group unit    one group, by name; may be given several times
 *
 * The groups are the projects of vitest.config.ts that have files, and the programs below that exist. What they print is
 * passed on as it comes. The last line is `N passed, N failed`; the exit code is 1 when something failed or nothing ran.
 */
import { spawn } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { type Count, countProgram, countRun, sum } from './counting.ts';

interface Group {
  readonly name: string;
  readonly run: (report: string) => Promise<Count>;
}

/** Runs a command with our own output; undefined when it ended with exit 0, else how it ended. */
function ended(
  command: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string | undefined> {
  return new Promise((done) => {
    const child = spawn(command, args, { stdio: 'inherit', env: { ...process.env, ...env } });
    child.once('error', (error) => done(error.message));
    child.once('exit', (code, signal) => done(code === 0 ? undefined : signal === null ? `exit ${code}` : signal));
  });
}

async function vitestGroups(): Promise<Group[]> {
  const file = resolve('vitest.config.ts');
  const { default: config } = (await import(pathToFileURL(file).href)) as {
    default: { test?: { projects?: { test: { name: string; include: string[] } }[] } };
  };
  const projects = (config.test?.projects ?? []).map(({ test }) => test);
  return projects
    .filter(({ include }) => globSync(include).length > 0)
    .map(({ name }) => ({
      name,
      run: async (report) => {
        const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
        return countRun(
          name,
          report,
          await ended('vitest', ['run', '--project', name, '--allowOnly=false', ...reporters]),
        );
      },
    }));
}

/**
 * Tests that vitest does not run from here. One that runs tests of its own writes vitest's JSON report to the file that
 * PLANE3_TEST_REPORT names, and is counted by it; one that does not is a test as a whole.
 */
const programs: readonly (readonly [name: string, file: string, ...args: string[]])[] = [
  ['worker', 'scripts/test-worker.ts'],
  ['paths', 'scripts/paths.ts'],
  ['mutants', 'scripts/mutants.ts'],
];

const programGroups = (): Group[] =>
  programs
    .filter(([, file]) => existsSync(file))
    .map(([name, file, ...args]) => ({
      name: name === 'paths' ? 'path figures' : name,
      run: async (report) => {
        const end = await ended('node', ['--conditions=plane3-source', file, ...args], { PLANE3_TEST_REPORT: report });
        return existsSync(report) ? countRun(name, report, end) : countProgram(name, end);
      },
    }));

const { values } = parseArgs({ options: { group: { type: 'string', multiple: true } } });
const projects = await vitestGroups();
// A program of the same name as a project runs the same files.
const all = [...projects, ...programGroups().filter(({ name }) => !projects.some((project) => project.name === name))];
const unknown = (values.group ?? []).filter((name) => !all.some((group) => group.name === name));
const groups = all.filter(({ name }) => values.group === undefined || values.group.includes(name));
const folder = mkdtempSync(join(tmpdir(), 'plane3-test-'));
const counts: Count[] = unknown.map((name) => ({
  passed: 0,
  failed: 1,
  notes: [`there is no group "${name}": ${all.map((group) => group.name).join(', ')}`],
}));
try {
  for (const [n, { name, run }] of groups.entries()) {
    process.stdout.write(`\n── ${name} ──\n`);
    counts.push(await run(join(folder, `${n}.json`)));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const { passed, failed, notes } = sum(counts);
process.stdout.write('\n');
for (const note of notes) process.stdout.write(`✗ ${note}\n`);
if (passed + failed === 0) process.stdout.write('✗ no test was run\n');
process.exitCode = failed > 0 || passed === 0 ? 1 : 0;
process.stdout.write(`${passed} passed, ${failed} failed\n`);
