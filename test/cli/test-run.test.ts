import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

/** `npm test` over small projects made for the purpose: what it counts, prints and exits with. */
describe('the test run', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'plane3-run-'));
    symlinkSync(resolve('node_modules'), join(root, 'node_modules'));
    file(
      'vitest.config.ts',
      `import { defineConfig } from 'vitest/config';
       const project = (name) => ({ test: { name, include: [\`test/\${name}/**/*.test.ts\`] } });
       export default defineConfig({ test: { projects: [project('one'), project('two')] } });`,
    );
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  function file(name: string, text: string): void {
    mkdirSync(dirname(join(root, name)), { recursive: true });
    writeFileSync(join(root, name), text);
  }
  const tests = (name: string, body: string) =>
    file(name, `import { beforeAll, describe, expect, it } from 'vitest';\n${body}\n`);

  function run(...args: string[]) {
    const outer = Object.entries(process.env).filter(([name]) => !/^(VITEST|NODE_OPTIONS|TEST$|DEV$|PROD$)/.test(name));
    const env = {
      ...Object.fromEntries(outer),
      PATH: [resolve('node_modules/.bin'), process.env.PATH].join(delimiter),
    };
    const { status, stdout } = spawnSync('node', [resolve('scripts/test.ts'), ...args], {
      cwd: root,
      env,
      encoding: 'utf8',
    });
    const lines = stdout.trimEnd().split('\n');
    const plain = lines.filter((line) => /^\d+ passed, \d+ failed$/.test(line));
    return { status, stdout, last: lines.at(-1), plain: plain.length };
  }

  it('adds up the projects that have files and the programs that exist, and passes', () => {
    tests('test/one/a.test.ts', "it('a', () => {}); it('b', () => {});");
    tests('test/two/c.test.ts', "it('c', () => {});");
    file('scripts/test-worker.ts', 'process.exitCode = 0;');
    expect(run()).toMatchObject({ status: 0, last: '4 passed, 0 failed', plain: 1 });
  });

  it('fails for a failed test, a load error, a file without tests, a skip, a broken hook, an `only`, a late rejection', () => {
    tests('test/one/a.test.ts', "it('a', () => { expect(1).toBe(2); }); it('b', () => {});");
    file('test/one/b.test.ts', "throw new Error('cannot be loaded');");
    file('test/one/c.test.ts', 'export {};');
    tests('test/one/d.test.ts', "it('d', () => {}); it.skip('skipped one', () => {});");
    tests(
      'test/one/e.test.ts',
      "describe('e', () => { beforeAll(() => { throw new Error('hook'); }); it('f', () => {}); });",
    );
    tests('test/one/o.test.ts', "it.only('hides the other', () => {}); it('is hidden', () => {});");
    tests('test/two/g.test.ts', "it('g', () => { void Promise.reject(new Error('late')); });");
    const { status, last, stdout } = run();
    expect({ status, last }).toEqual({ status: 1, last: '3 passed, 8 failed' });
    for (const why of [
      'cannot be loaded',
      'No test suite found',
      'skipped: skipped one',
      'the runner ended with exit 1',
    ]) {
      expect(stdout).toContain(why);
    }
  });

  it('counts a program by the report it wrote, and fails for one that was killed', () => {
    const of = (status: string) => ({ fullName: status, status });
    const assertionResults = [of('passed'), of('passed'), of('failed')];
    const report = JSON.stringify({ testResults: [{ name: 'w', status: 'failed', message: '', assertionResults }] });
    const write = `import { writeFileSync } from 'node:fs'; writeFileSync(process.env.PLANE3_TEST_REPORT ?? '', ${JSON.stringify(report)});`;
    file('scripts/test-worker.ts', write);
    file('scripts/mutants.ts', 'process.kill(process.pid, "SIGKILL");');
    expect(run()).toMatchObject({ status: 1, last: '2 passed, 2 failed' });
  });

  it('fails when there is nothing to run, and when there is no such group', () => {
    const { status, last, stdout } = run();
    expect({ status, last }).toEqual({ status: 1, last: '0 passed, 0 failed' });
    expect(stdout).toContain('no test was run');
    expect(run('--group', 'three')).toMatchObject({ status: 1, last: '0 passed, 1 failed' });
  });
});
