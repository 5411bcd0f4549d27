import { defineConfig } from 'vitest/config';

/** A group of tests by what it needs: nothing, a real nats-server, real processes, a real browser. */
const project = (
  name: string,
  folders: string[],
  limits: { testTimeout: number; serial?: boolean; shared?: boolean },
) => ({
  resolve: { conditions: ['plane3-source', 'node', 'import', 'module', 'default'] },
  test: {
    name,
    include: folders.map((folder) => `test/${folder}/**/*.test.ts`),
    testTimeout: limits.testTimeout,
    hookTimeout: limits.testTimeout,
    fileParallelism: limits.serial !== true,
    pool: 'forks' as const,
    // Pure tests share a process: to load the same modules for each file anew costs more than most of them. Their garbage
    // is many small objects of a short life, for which the usual young generation is too small.
    ...(limits.shared === true ? { isolate: false, execArgv: ['--max-semi-space-size=64'] } : {}),
  },
});

export default defineConfig({
  test: {
    retry: 0,
    globalSetup: ['test/support/home.ts'],
    // Two files at a time also on two cores: most of a test's time is waiting for a process or for the disk.
    maxWorkers: 2,
    projects: [
      project('unit', ['domain', 'contract', 'scripts'], { testTimeout: 240_000, shared: true }),
      project('paths', ['paths'], { testTimeout: 240_000, shared: true }),
      project('integration', ['integration'], { testTimeout: 120_000 }),
      project('cli', ['cli'], { testTimeout: 240_000 }),
      project('torture', ['torture'], { testTimeout: 240_000, serial: true }),
      project('worker', ['worker'], { testTimeout: 120_000, serial: true }),
      project('browser', ['browser'], { testTimeout: 120_000, serial: true }),
    ],
  },
});
