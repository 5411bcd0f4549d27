/**
 * Random worlds (R1–R8, F1–F5, M1–M7, L3): whatever happens in whatever order, nothing is lost for a current member,
 * nothing surfaces outside of interval and ACL, and in the end everything is removed. A seed that fails is printed with its
 * story. The suite lives through the same ones every time; `npm run check` draws new ones, `WORLD_SEEDS=n` as many as told, and
 * `WORLD_SEED=n` lives through one again.
 */
import { describe, expect, it } from 'vitest';
import { live } from '../support/world/schedule.ts';

/**
 * Seeds that are lived through at every run, whatever else is drawn: with earlier schedules they found an entry that came
 * while a retired lifecycle was removed (16), a reauthorization that was answered without a row to judge by (223), and a
 * member whom no survey named again (95). 970223 deletes the writer's durable: a mention is owed to somebody who never joined. In 844652 a copy is handed off right before the
 * row is closed, and taken right after it.
 */
const kept = [16, 95, 223, 970223, 844652].map((seed) => ({ seed, schedule: 'first' }) as const);

async function faultsOf(seed: number, of: Parameters<typeof live>[1] = {}): Promise<string> {
  const world = await live(seed, of);
  return world.wrong.length === 0 ? '' : [`seed ${seed}:`, ...world.wrong, '', ...world.story].join('\n');
}

describe('a world', () => {
  const only = process.env.WORLD_SEED;
  it.each(kept)('of the kept seed $seed loses nothing, leaks nothing and leaves nothing', async ({ seed, ...of }) => {
    expect(await faultsOf(seed, of)).toBe('');
  });

  const drawn = process.env.WORLD_SEEDS;
  const first = Number(only ?? (drawn === undefined ? 1 : 1 + Math.floor(Math.random() * 1_000_000)));
  const last = only === undefined ? first + Number(drawn ?? 60) - 1 : first;
  it(`of each seed from ${first} to ${last} loses nothing, leaks nothing and leaves nothing`, {
    timeout: 600_000,
  }, async () => {
    for (let seed = first; seed <= last; seed++) expect(await faultsOf(seed)).toBe('');
  });
});
