/**
 * The one stop of a daemon that dies by itself just as the kill timer fires (UPD-14). The daemons are stand-ins: processes
 * whose command line names one, with a parent that takes them away as the system does, so that fifty are cheap.
 * `STOP_SEED` repeats a run.
 */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { numbers } from '../../../src/domain/numbers.ts';
import { stopOf } from '../../../src/launch/stopper.ts';
import { credsPath } from '../../../src/services/local/mint.ts';
import { recordOther, recordPath, stoppingPath } from '../../../src/services/local/process-record.ts';
import { lookAt, startOf } from '../../../src/services/local/processes.ts';
import { Random } from '../../../src/torture/random.ts';
import { TestJournal } from '../../support/delivery/daemon.ts';

const RUNS = 50;
const AT_A_TIME = 10;
const GRACE_MS = 300;
/** Deaths lie this far on both sides of the end of the grace. */
const AROUND_MS = 60;
const ENDS = ['leaves', 'crashes', 'is killed by somebody'] as const;

const seed = Number(process.env.STOP_SEED ?? Date.now() % 1_000_000);
process.stdout.write(`STOP_SEED=${seed}\n`);

/** Lives on after SIGTERM for as long as it is told, and goes by itself in one of three ways. No test outlives it. */
const STAND_IN = `
  const [end, afterMs, record] = process.argv.slice(-3);
  const { rmSync } = require('node:fs');
  const go = {
    leaves: () => { rmSync(record, { force: true }); process.exit(0); },
    crashes: () => process.abort(),
    'is killed by somebody': () => process.kill(process.pid, 'SIGKILL'),
  };
  process.on('SIGTERM', () => setTimeout(go[end], Number(afterMs)));
  setTimeout(() => process.exit(1), 60_000);
  process.stdout.write('ready\\n');`;

interface Run {
  readonly space: string;
  readonly end: (typeof ENDS)[number];
  readonly afterMs: number;
}

function openRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'plane3-stop-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  return root;
}

/** A stand-in that runs, with its record and its credential. */
async function startStandIn(root: string, { space, end, afterMs }: Run) {
  const name = { root, what: 'delivery', space } as const;
  const creds = credsPath(root, space, 'delivery');
  mkdirSync(dirname(creds), { recursive: true });
  writeFileSync(creds, 'a credential');
  const words = ['cotal', 'deliver', '--space', space, '--root', root, end, String(afterMs), recordPath(name)];
  // Whoever reaps it is somebody else: its number may be nobody's at any moment.
  const parent = spawn(
    'sh',
    ['-c', 'ulimit -c 0; "$@" & echo $!; wait', 'sh', process.execPath, '-e', STAND_IN, ...words],
    {
      stdio: ['ignore', 'pipe', 'ignore'],
    },
  );
  const ended = new Promise((resolve) => parent.once('exit', resolve));
  const said: string[] = [];
  for await (const line of createInterface({ input: parent.stdout })) if (said.push(line) === 2) break;
  const pid = Number(said.find((line) => line !== 'ready'));
  onTestFinished(async () => {
    if (lookAt(pid).kind === 'alive') process.kill(pid, 'SIGKILL');
    await ended;
  });
  recordOther(name, { pid, start: startOf(pid) });
  return { name, pid, creds };
}

async function stop(root: string, space: string) {
  const journal = new TestJournal();
  const outcome = await stopOf({ root, space, journal, numbers: { ...numbers, stopGraceMs: GRACE_MS } }, 'delivery');
  return { ...outcome, wasKilled: journal.count('stop.killing') > 0 };
}

describe('the stop of a daemon that dies by itself', () => {
  it('just as the kill timer fires is a success, fifty times around that moment: no record, no credential (UPD-14)', async () => {
    const root = openRoot();
    const random = new Random(seed);
    const runs = Array.from({ length: RUNS }, (_, n): Run => {
      const aroundMs = AROUND_MS * (2 * ((n + random.next()) / RUNS) - 1);
      return { space: `s${n}`, end: random.pick(ENDS), afterMs: GRACE_MS + aroundMs };
    });
    let killed = 0;
    for (let from = 0; from < RUNS; from += AT_A_TIME) {
      await Promise.all(
        runs.slice(from, from + AT_A_TIME).map(async (run) => {
          const { name, pid, creds } = await startStandIn(root, run);
          const { wasKilled, ...outcome } = await stop(root, run.space);
          expect(outcome, JSON.stringify(run)).toMatchObject({ end: 'stopped', pid });
          expect(lookAt(pid)).toEqual({ kind: 'gone' });
          expect([recordPath(name), creds, stoppingPath(name)].filter(existsSync)).toEqual([]);
          killed += Number(wasKilled);
        }),
      );
    }
    process.stdout.write(`${RUNS} stops: ${killed} came to SIGKILL, ${RUNS - killed} had died before it\n`);
  });

  it.each(['SIGTERM', 'SIGKILL'])(
    'between the look at it and its %s, when its number is nobody’s: a success (UPD-14)',
    async (last) => {
      const root = openRoot();
      const { name, pid, creds } = await startStandIn(root, { space: 'main', end: 'crashes', afterMs: 30_000 });
      const send = process.kill.bind(process);
      const refused: unknown[] = [];
      const planted = vi.spyOn(process, 'kill').mockImplementation((to, signal) => {
        if (to !== pid || signal !== last) return send(to, signal);
        send(pid, 'SIGKILL');
        try {
          for (;;) if (send(pid, 0)) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
        } catch {
          // Nobody has this number any more.
        }
        try {
          return send(pid, signal);
        } catch (error) {
          refused.push((error as NodeJS.ErrnoException).code);
          throw error;
        }
      });
      onTestFinished(() => planted.mockRestore());
      expect(await stop(root, 'main')).toMatchObject({ end: 'stopped', pid });
      expect(refused).toEqual(['ESRCH']);
      expect([recordPath(name), creds, stoppingPath(name)].filter(existsSync)).toEqual([]);
    },
  );
});
