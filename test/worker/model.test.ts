/** 200 random lives on workerd, and 200 in-process. `MODEL_SEED=N` runs one seed, `MODEL_SEEDS=N` so many. */
import { describe, expect, it } from 'vitest';
import { liveAll, liveOnce } from './suite/model.ts';
import { divided } from './support/bounds.ts';
import { openInProcess } from './support/in-process-stage.ts';
import { openWorkerd } from './support/workerd-stage.ts';

/** Short ones: a peer that is reaped because the machine is busy is one more thing that may happen. */
const bounds = {
  ...divided,
  HOSTED_ATTACH_MS: '600',
  HOSTED_REAP_MS: '900',
  HOSTED_UNBOUND_MS: '900',
  HOSTED_RETRY_MS: '300',
};
const only = process.env.MODEL_SEED;
const first = Number(process.env.MODEL_FIRST ?? 1);
const count = Number(process.env.MODEL_SEEDS ?? 200);
const seeds = only === undefined ? Array.from({ length: count }, (_, index) => first + index) : [Number(only)];

describe('random lives of a node keep every promise', () => {
  it(`on workerd, seeds ${seeds[0]} to ${seeds.at(-1)}`, { timeout: 900_000 }, async () => {
    const stage = await openWorkerd({ bounds });
    const failures = await liveAll(stage, seeds, 8).finally(() => stage.close());
    expect(failures.join('\n\n')).toBe('');
  });

  // A crash of the in-process server takes all its nodes with it: one life at a time.
  it(`in-process, seeds ${seeds[0]} to ${seeds.at(-1)}`, { timeout: 900_000 }, async () => {
    const failures: string[] = [];
    const stage = await openInProcess({ bounds });
    for (const seed of seeds) await liveOnce(stage, seed).catch((error: unknown) => failures.push(String(error)));
    await stage.close();
    expect(failures.join('\n\n')).toBe('');
  });
});
