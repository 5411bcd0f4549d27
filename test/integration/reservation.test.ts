import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { lookAt, startOf } from '../../src/services/local/processes.ts';
import { holderNow, reserve } from '../../src/services/local/reservation.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plane3-reserve-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const MODULE = new URL('../../src/services/local/reservation.ts', import.meta.url).href;

describe('a reservation', () => {
  it('is held by one, refused with its pid, free after it was released, and leaves no other file', () => {
    const path = join(folder, 'lock');
    const first = reserve(path);
    expect(first.kind).toBe('taken');
    expect(reserve(path)).toMatchObject({ kind: 'held', pid: process.pid });
    expect(holderNow(path)?.pid).toBe(process.pid);
    if (first.kind === 'taken') first.release();
    expect(readdirSync(folder)).toEqual([]);
    expect(reserve(path).kind).toBe('taken');
  });

  it.each([
    ['a process that is gone', () => `${spawnSync('true').pid}\n-\n1\nx\n`],
    ['a pid that is another process by now', () => `${process.pid}\nffffffff-0000-0000-0000-000000000000 1\n1\nx\n`],
    ['nobody that can be read', () => 'rubbish'],
  ])('of %s is taken over', (_, text) => {
    const path = join(folder, 'lock');
    writeFileSync(path, text());
    expect(reserve(path).kind).toBe('taken');
    expect(readdirSync(folder)).toEqual(['lock']);
  });

  it('of a dead holder is inherited by exactly one of many, in every round', async () => {
    for (let round = 0; round < 3; round++) {
      const path = join(folder, `lock${round}`);
      writeFileSync(path, `${spawnSync('true').pid}\n-\n1\nx\n`);
      const script = `const { reserve } = await import(${JSON.stringify(MODULE)});
        process.stdout.write(reserve(${JSON.stringify(path)}).kind + "\\n");
        process.stdin.resume().on("end", () => process.exit(0));`;
      const rivals = Array.from({ length: 4 }, () =>
        spawn(process.execPath, ['--conditions=plane3-source', '--input-type=module', '-e', script]),
      );
      const said = await Promise.all(
        rivals.map(
          (rival) => new Promise<string>((resolve) => rival.stdout.once('data', (bytes) => resolve(String(bytes)))),
        ),
      );
      for (const rival of rivals) rival.stdin.end();
      await Promise.all(rivals.map((rival) => new Promise((resolve) => rival.once('exit', resolve))));
      expect(said.filter((word) => word.trim() === 'taken')).toHaveLength(1);
    }
  });
});

describe('a look at a process', () => {
  it('tells its start and command line, and that a zombie is gone', async () => {
    const seen = lookAt(process.pid);
    expect(seen).toMatchObject({ kind: 'alive', start: startOf(process.pid) });
    // A shell that never waits for its child leaves a zombie.
    const shell = spawn('sh', ['-c', 'true & echo $!; exec sleep 30'], { stdio: ['ignore', 'pipe', 'ignore'] });
    const pid = Number(await new Promise((resolve) => shell.stdout.once('data', (bytes) => resolve(String(bytes)))));
    try {
      while (lookAt(pid).kind !== 'gone') await new Promise((resolve) => setImmediate(resolve));
      expect(lookAt(shell.pid ?? 0).kind).toBe('alive');
    } finally {
      shell.kill('SIGKILL');
    }
  });

  it('tells only that it is there where the system shows nothing of it', () => {
    expect(lookAt(process.pid, join(folder, 'no-proc'))).toEqual({ kind: 'alive' });
    expect(lookAt(spawnSync('true').pid, join(folder, 'no-proc'))).toEqual({ kind: 'gone' });
  });
});
