/** Daemons that are wrong on purpose, in real runs: the checker convicts each of them, and finds nothing where none is planted. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Plant, plantFile } from '../../src/torture/plants.ts';
import { run } from '../../src/torture/run.ts';
import type { Script, Step } from '../../src/torture/schedule.ts';

const posts = (from: number, to: number, everyMs: number): Step[] =>
  Array.from({ length: Math.ceil((to - from) / everyMs) }, (_, n) => ({
    at: from + n * everyMs,
    do: 'post',
    agent: 'agent0',
    channel: 'ops',
    id: `p${from}.${n}`,
    mentions: [],
  }));

async function verdictOf(steps: Step[], plant?: Plant) {
  const folder = mkdtempSync(join(tmpdir(), 'plane3-torture-'));
  const joined: Step[] = ['agent0', 'agent1'].map((agent) => ({ at: 0, do: 'join', agent, channel: 'ops' }));
  const all = [...joined, ...steps].sort((a, b) => a.at - b.at);
  const script: Script = { version: 1, found: '', seed: 1, agents: 2, servers: 1, steps: all };
  const planted = plant === undefined ? [] : [plantFile(plant)];
  const { verdict } = await run({ script, folder, planted, drainMs: plant === undefined ? 120_000 : 4_000 });
  rmSync(folder, { recursive: true, force: true });
  return verdict;
}

/** Times of steps are milliseconds after the start; a lease lives six seconds. Who is killed has joined long before. */
const scenes = {
  'forgets-the-fence': [
    // Without ids nothing else would keep the copies of two daemons apart.
    ...posts(1_500, 14_500, 50).map((step) => ({ ...step, id: '' })),
    { at: 3_800, do: 'freeze', target: 'serving', forMs: 11_000 } as const,
  ],
  'acks-before-confirm': [
    ...posts(4_500, 8_000, 100),
    { at: 5_000, do: 'kill', target: 'agent1', forMs: 2_000 } as const,
  ],
  'acks-before-stored': [
    // Nobody sees them live.
    { at: 4_000, do: 'kill', target: 'agent1', forMs: 5_000 },
    ...posts(5_000, 6_500, 50),
    { at: 6_400, do: 'kill', target: 'serving', forMs: 200 },
  ],
  'ignores-the-leave': [
    ...posts(1_500, 5_000, 100),
    { at: 2_500, do: 'leave', agent: 'agent1', channel: 'ops' } as const,
  ],
} satisfies Record<Plant, Step[]>;

describe('the checker of a torture run', () => {
  it('convicts a daemon that forgets the fence: it has effects while another one serves', async () => {
    expect(
      (await verdictOf(scenes['forgets-the-fence'], 'forgets-the-fence')).charges['double-serving'],
    ).toBeGreaterThan(0);
  });

  it('convicts a daemon that takes copies for confirmed when they are handed off: posts are lost', async () => {
    expect((await verdictOf(scenes['acks-before-confirm'], 'acks-before-confirm')).charges.lost).toBeGreaterThan(0);
  });

  it('convicts a writer that acknowledges posts before their copies are stored: posts are lost', async () => {
    expect((await verdictOf(scenes['acks-before-stored'], 'acks-before-stored')).charges.lost).toBeGreaterThan(0);
  });

  it('convicts a daemon that answers a leave and does nothing of it: copies come after it', async () => {
    expect((await verdictOf(scenes['ignores-the-leave'], 'ignores-the-leave')).charges.unauthorized).toBeGreaterThan(0);
  });

  it('finds nothing where such things happen to daemons that are as they should be', async () => {
    const steps: Step[] = [
      ...posts(1_500, 5_000, 100),
      { at: 2_000, do: 'kill', target: 'agent1', forMs: 1_000 },
      { at: 3_000, do: 'cut', target: 'serving' },
      { at: 4_500, do: 'leave', agent: 'agent1', channel: 'ops' },
    ];
    expect((await verdictOf(steps)).findings).toEqual([]);
  });
});
