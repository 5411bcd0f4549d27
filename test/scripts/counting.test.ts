import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { countProgram, countRun, sum } from '../../scripts/counting.ts';

describe('the count of a run', () => {
  let file: string;
  beforeEach(() => {
    file = join(mkdtempSync(join(tmpdir(), 'plane3-count-')), 'report.json');
  });
  afterEach(() => rmSync(join(file, '..'), { recursive: true, force: true }));

  const report = (status: string, tests: readonly string[], message = '') => {
    const assertionResults = tests.map((each, n) => ({ fullName: `test ${n}`, status: each }));
    writeFileSync(file, JSON.stringify({ testResults: [{ name: 'a.test.ts', status, message, assertionResults }] }));
  };

  it('is what the report says, with the name of each test that failed', () => {
    report('failed', ['passed', 'failed', 'passed']);
    expect(countRun('unit', file, 'exit 1')).toEqual({ passed: 2, failed: 1, notes: ['unit: a.test.ts: test 1'] });
  });

  it('says of a failed test how it failed, by no more lines than a reader of the end needs', () => {
    const said = Array.from({ length: 50 }, (_, n) => `line ${n}`).join('\n');
    const failed = { fullName: 'keeps a post', status: 'failed', failureMessages: [said] };
    const file0 = {
      name: join(process.cwd(), 'test/a.test.ts'),
      status: 'failed',
      message: '',
      assertionResults: [failed],
    };
    writeFileSync(file, JSON.stringify({ testResults: [file0] }));
    const [note = ''] = countRun('unit', file, 'exit 1').notes;
    expect(note.split('\n').slice(0, 2)).toEqual(['unit: test/a.test.ts: keeps a post', '    line 0']);
    expect(note.split('\n')).toHaveLength(21);
  });

  it('has one failure for a file that could not be loaded', () => {
    report('failed', [], 'cannot be loaded\nat line 1');
    expect(countRun('unit', file, 'exit 1')).toEqual({
      passed: 0,
      failed: 1,
      notes: ['unit: a.test.ts: cannot be loaded'],
    });
  });

  it('has one failure for a file that broke outside of tests that passed', () => {
    report('failed', ['passed']);
    expect(countRun('unit', file, 'exit 1')).toMatchObject({ passed: 1, failed: 1 });
  });

  it.each(['skipped', 'pending', 'todo'])('takes a test that is %s for failed', (status) => {
    report('passed', ['passed', status]);
    expect(countRun('unit', file, undefined)).toEqual({ passed: 1, failed: 1, notes: [`unit: ${status}: test 1`] });
  });

  it('has one failure for a runner that ended badly over tests that all passed', () => {
    report('passed', ['passed']);
    expect(countRun('unit', file, 'SIGKILL')).toEqual({
      passed: 1,
      failed: 1,
      notes: ['unit: the runner ended with SIGKILL'],
    });
  });

  it.each([
    ['no report', undefined],
    ['half a report', '{"testResults": ['],
    ['something else', '[]'],
  ])('has one failure for a runner that left %s, also when it ended well', (_, text) => {
    if (text !== undefined) writeFileSync(file, text);
    expect(countRun('unit', file, undefined)).toEqual({
      passed: 0,
      failed: 1,
      notes: ['unit: the runner left no report (exit 0)'],
    });
  });

  it('takes a program for one test, and adds everything up', () => {
    const counts = [countProgram('worker', undefined), countProgram('mutants', 'exit 1')];
    expect(sum(counts)).toEqual({ passed: 1, failed: 1, notes: ['mutants: ended with exit 1'] });
    expect(sum([])).toEqual({ passed: 0, failed: 0, notes: [] });
  });
});
