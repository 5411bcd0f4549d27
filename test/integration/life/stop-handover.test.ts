/**
 * A stop that looks for its process just as a standby becomes the space's, or just as a daemon ceases to be: one of its two
 * files is there at every moment, and whoever looks at both in the right order finds it (S6).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { numbers } from '../../../src/domain/numbers.ts';
import { dependantsOf, stopOf } from '../../../src/launch/stopper.ts';
import type * as files from '../../../src/services/local/files.ts';
import { knownProcesses, recordOther, recordPath, recordStarting } from '../../../src/services/local/process-record.ts';
import { startOf } from '../../../src/services/local/processes.ts';
import { TestJournal } from '../../support/delivery/daemon.ts';

const meanwhile = vi.hoisted(() => ({ before: (_path: string) => {}, after: () => {} }));
vi.mock('../../../src/services/local/files.ts', async (original) => {
  const real = await original<typeof files>();
  const readIfThere: typeof files.readIfThere = (path) => {
    meanwhile.before(path);
    const text = real.readIfThere(path);
    meanwhile.after();
    return text;
  };
  return { ...real, readIfThere };
});

/** A process whose command line names a daemon, with what is recorded of it; whoever looks meets its move: after its first look, or at the record. */
async function recorded(how: 'takes over' | 'leaves') {
  const root = mkdtempSync(join(tmpdir(), 'plane3-handover-'));
  mkdirSync(join(root, '.cotal'));
  const name = { root, what: 'delivery', space: 'main' } as const;
  const words = ['cotal', 'deliver', '--space', 'main', '--root', root];
  const script = 'process.stdout.write("."); setTimeout(() => {}, 60_000)';
  const child = spawn(process.execPath, ['-e', script, ...words], { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => {
    child.kill('SIGKILL');
    rmSync(root, { recursive: true, force: true });
  });
  await once(child.stdout, 'data');
  const identity = { pid: child.pid ?? 0, start: startOf(child.pid ?? 0) };
  const starting = join(root, '.cotal', `delivery.6d61696e.starting.${identity.pid}`);
  const [before, moves] = {
    'takes over': [
      recordStarting,
      () => {
        recordOther(name, identity);
        rmSync(starting);
      },
    ] as const,
    leaves: [recordOther, () => renameSync(recordPath(name), starting)] as const,
  }[how];
  before(name, identity);
  const move = () => {
    meanwhile.before = () => {};
    meanwhile.after = () => {};
    moves();
  };
  if (how === 'leaves') meanwhile.before = (path) => path === recordPath(name) && move();
  else meanwhile.after = move;
  return { root, name, ...identity };
}

describe.each(['takes over', 'leaves'] as const)('a process that %s at that moment', (how) => {
  it('is found by a stop, and ended', async () => {
    const { root, name, pid } = await recorded(how);
    const journal = new TestJournal();
    const ended = await stopOf({ root, space: 'main', numbers, journal }, 'delivery');
    expect(ended).toMatchObject({ end: 'stopped', pid });
    expect(knownProcesses(name)).toEqual({ record: { kind: 'none' }, starting: [] });
  });

  it('keeps the broker that it needs', async () => {
    const { root, pid } = await recorded(how);
    expect(dependantsOf(root)).toEqual([`delivery of space main (process ${pid})`]);
  });
});
