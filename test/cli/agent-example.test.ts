import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { credsText } from '../../src/services/credential.ts';
import { writeAtomic } from '../../src/services/local/files.ts';
import { groundOfEachTest, readAll, textOf } from '../support/agents.ts';
import { until } from '../support/until.ts';

const ground = groundOfEachTest();
const example = fileURLToPath(new URL('../../examples/agent.ts', import.meta.url));

it('examples/agent.ts joins, says that it is here, prints what is posted, and ends when it is stopped', async () => {
  await ground.serve();
  const [alice, bob] = [await ground.connect(await ground.add('alice')), await ground.add('bob')];
  await alice.join('team.general');
  const creds = join(ground.mesh.root, 'bob.creds');
  writeAtomic(creds, credsText(bob.credential), 0o600);
  const child = spawn(
    process.execPath,
    ['--conditions=plane3-source', example, ground.mesh.url, creds, 'team.general'],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const ended = once(child, 'exit');
  try {
    await until(
      () => lines.includes('team.general: durable'),
      () => lines,
      60_000,
    );
    expect((await readAll(alice, { limit: 1, idleMs: 30_000 })).map(textOf)).toEqual(['bob is here']);
    await alice.post({ channel: 'team.general', text: 'welcome' });
    await until(
      () => lines.includes('alice: welcome'),
      () => lines,
      30_000,
    );
  } finally {
    child.kill('SIGTERM');
  }
  expect(await ended).toEqual([0, null]);
});
