/**
 * A stop that looks for its process just as a standby becomes the space's: its record is there before its mark of a start is
 * gone, so that whoever looks at both in the right order finds it (S6).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { numbers } from '../../../src/domain/numbers.ts';
import { dependantsOf, stopOf } from '../../../src/launch/stopper.ts';
import type * as files from '../../../src/services/local/files.ts';
import { knownProcesses, recordOther, recordStarting } from '../../../src/services/local/process-record.ts';
import { startOf } from '../../../src/services/local/processes.ts';
import { TestJournal } from '../../support/delivery/daemon.ts';

const meanwhile = vi.hoisted(() => ({ happens: () => {} }));
vi.mock('../../../src/services/local/files.ts', async (original) => {
  const real = await original<typeof files>();
  const readIfThere: typeof files.readIfThere = (path) => {
    const text = real.readIfThere(path);
    meanwhile.happens();
    return text;
  };
  return { ...real, readIfThere };
});

/** A process whose command line names a daemon, and which has begun to start; the next look at a file lets it take over. */
async function standby() {
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
  recordStarting(name, identity);
  meanwhile.happens = () => {
    meanwhile.happens = () => {};
    recordOther(name, identity);
    rmSync(join(root, '.cotal', `delivery.6d61696e.starting.${identity.pid}`));
  };
  return { root, name, ...identity };
}

it('finds it, and ends it', async () => {
  const { root, name, pid } = await standby();
  const journal = new TestJournal();
  const ended = await stopOf({ root, space: 'main', numbers, journal }, 'delivery');
  expect(ended).toMatchObject({ end: 'stopped', pid });
  expect(knownProcesses(name)).toEqual({ record: { kind: 'none' }, starting: [] });
});

it('and a broker that it needs is not stopped under it', async () => {
  const { root, pid } = await standby();
  expect(dependantsOf(root)).toEqual([`delivery of space main (process ${pid})`]);
});
