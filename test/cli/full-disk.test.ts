/** `cotal` over a broker that met a full disk: a store of its own, on a disk that the test fills. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { Workstation } from '../support/workstation.ts';

interface Fact {
  readonly name: string;
  readonly ok: boolean | null;
  readonly value: unknown;
}

let ws: Workstation;
let store: string;
beforeEach(() => {
  ws = new Workstation();
  store = join(ws.root, '.cotal', 'broker', 'store');
  mkdirSync(store, { recursive: true });
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', store]);
});
afterEach(async () => {
  // Lazily: what still runs has files of it open.
  execFileSync('umount', ['-l', store]);
  await ws.dispose();
});

const filler = () => join(store, 'filler');
function fill(): void {
  const block = Buffer.alloc(4096);
  try {
    for (;;) writeFileSync(filler(), block, { flag: 'a' });
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
  }
}
const post = (text: string) => ws.run(['post', 'team', text, '--as', 'alice']);
async function facts(
  command: 'doctor' | 'status',
): Promise<{ code: number | null; stderr: string; fact(name: string): Fact | undefined }> {
  const ran = await ws.run([command, '--json']);
  const { facts: all } = ran.json<{ facts: Fact[] }>();
  return { code: ran.code, stderr: ran.stderr, fact: (name) => all.find((each) => each.name === name) };
}

describe('a store on a full disk', () => {
  it('is told by status, doctor and up, also when there is room again, until the broker is started anew; then posts are stored', async () => {
    expect((await ws.run(['up', '--port', 0, '--detach'])).code).toBe(0);
    expect((await ws.run(['agent', 'add', 'alice', '--post', 'team'])).code).toBe(0);
    await until(
      async () => (await facts('doctor')).code === 0,
      () => ws.log(),
      60_000,
    );

    fill();
    const full = await facts('doctor');
    expect([full.code, full.fact('store.space')?.ok]).toEqual([1, false]);
    expect(full.stderr).toContain(`free space on the disk of .cotal/broker/store`);
    // Longer than what is left of the last page of a file.
    expect((await post('x'.repeat(9_000))).code).toBe(1);

    rmSync(filler());
    const stopped = await facts('doctor');
    expect([stopped.code, stopped.fact('store.space')?.ok, stopped.fact('store.writes')]).toMatchObject([
      1,
      true,
      { ok: false, value: { chat: false } },
    ]);
    expect(stopped.stderr).toContain('"cotal down" and "cotal up --detach"');
    expect((await facts('status')).fact('store.writes')?.ok).toBe(false);
    const up = await ws.run(['up', '--detach']);
    expect([up.code, up.stdout]).toEqual([1, '']);
    expect(up.stderr).toMatch(
      /takes no write any more to CHAT_main \(no space left on device\)[\s\S]*"cotal down" and "cotal up"/,
    );

    expect((await ws.run(['down'])).code).toBe(0);
    // A lease whose row could not be removed lasts to its end.
    await until(
      async () => (await ws.run(['up', '--detach'])).code === 0,
      () => ws.log(),
      60_000,
    );
    expect((await post('after')).code).toBe(0);
    const healed = await facts('status');
    expect([healed.fact('store.writes'), healed.fact('store.space')?.ok]).toMatchObject([
      { ok: true, value: { chat: true, inbox: true, dlv: true, stopped: [] } },
      true,
    ]);
  });
});
