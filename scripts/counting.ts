import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

/** What a run of tests came to. */
export interface Count {
  readonly passed: number;
  readonly failed: number;
  /** What was counted as failed: its name and, of a test that failed, the beginning of what it said. */
  readonly notes: readonly string[];
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly status: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

/** So many lines of what a failed test said are enough to know the place and the difference. */
const linesOfAFailure = 20;

/** A test that failed, with what it said, indented: whoever has only the end of a long output reads what to mend. */
const failure = (file: string, test: string, messages: readonly string[] = []): string =>
  [`${file}: ${test}`, ...messages.join('\n').split('\n').slice(0, linesOfAFailure)].join('\n    ').trimEnd();

const isReport = (value: unknown): value is Report =>
  typeof value === 'object' && value !== null && Array.isArray((value as { testResults?: unknown }).testResults);

function readReport(file: string): Report | undefined {
  if (!existsSync(file)) return undefined;
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'));
    return isReport(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Counts a run by the JSON report that its runner wrote, and by how the runner ended. Counted as failed, beside failed
 * tests: a file that could not be loaded or has no tests, a test that was skipped (there are to be none), a runner that
 * ended badly over tests that all passed, and one that left no report.
 */
export function countRun(name: string, reportFile: string, ended: string | undefined): Count {
  const report = readReport(reportFile);
  if (report === undefined)
    return { passed: 0, failed: 1, notes: [`${name}: the runner left no report (${ended ?? 'exit 0'})`] };
  let passed = 0;
  let failed = 0;
  const notes: string[] = [];
  for (const { name: file, status, message, assertionResults } of report.testResults) {
    let failedHere = 0;
    for (const test of assertionResults) {
      if (test.status === 'passed') passed += 1;
      else failedHere += 1;
      if (test.status === 'failed')
        notes.push(`${name}: ${failure(relative('.', file), test.fullName, test.failureMessages)}`);
      else if (test.status !== 'passed') notes.push(`${name}: ${test.status}: ${test.fullName}`);
    }
    if (status !== 'passed' && failedHere === 0) {
      failedHere = 1;
      notes.push(`${name}: ${relative('.', file)}: ${message.split('\n')[0] || 'failed outside of its tests'}`);
    }
    failed += failedHere;
  }
  if (ended !== undefined && failed === 0)
    return { passed, failed: 1, notes: [...notes, `${name}: the runner ended with ${ended}`] };
  return { passed, failed, notes };
}

/** A program that is one test as a whole: it passes when it ends with exit 0. */
export const countProgram = (name: string, ended: string | undefined): Count =>
  ended === undefined
    ? { passed: 1, failed: 0, notes: [] }
    : { passed: 0, failed: 1, notes: [`${name}: ended with ${ended}`] };

export const sum = (counts: readonly Count[]): Count => ({
  passed: counts.reduce((all, { passed }) => all + passed, 0),
  failed: counts.reduce((all, { failed }) => all + failed, 0),
  notes: counts.flatMap(({ notes }) => notes),
});
