import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { JoinedChannels } from '../../src/cli/as-agent.ts';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'plane3-joined-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const HEADS = ['a', 'b', 'c', 'd'];
const EACH = 10;

it('commands that join side by side as one agent drop nothing of each other', async () => {
  const children = HEADS.map((head) =>
    fork(
      fileURLToPath(new URL('../support/join-child.ts', import.meta.url)),
      [root, 'main', 'bob', head, String(EACH)],
      { execArgv: ['--conditions=plane3-source'] },
    ),
  );
  await Promise.all(children.map((child) => once(child, 'message')));
  const ended = children.map((child) => once(child, 'exit'));
  for (const child of children) child.send('begin');
  expect(await Promise.all(ended)).toEqual(HEADS.map(() => [0, null]));
  const wanted = HEADS.flatMap((head) => Array.from({ length: EACH }, (_, n) => `${head}.${n}`));
  expect([...new JoinedChannels({ root, space: 'main' }, 'bob').read().keys()].sort()).toEqual(wanted.sort());
});

it('what was joined again meanwhile is not taken out by who goes by an older reading', async () => {
  const joined = new JoinedChannels({ root, space: 'main' }, 'bob');
  await joined.add('team.a', 1);
  await joined.add('team.a', 2);
  await joined.remove('team.a', 1);
  expect([...joined.read()]).toEqual([['team.a', 2]]);
  await joined.remove('team.a', 2);
  expect([...joined.read()]).toEqual([]);
});
