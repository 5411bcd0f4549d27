/**
 * Random lives on workerd and in-process: a handful here, as many as one likes by `npm run test:worker:seeds`.
 * `MODEL_SEED=N` runs one seed; `MODEL_SEEDS=N` so many, from `MODEL_FROM` on, on the kinds that `MODEL_ON` names.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { liveAll } from './suite/model.ts';
import { divided } from './support/bounds.ts';
import { openInProcess } from './support/in-process-stage.ts';
import type { Stage } from './support/stage.ts';
import { openWorkerd } from './support/workerd-stage.ts';

/** Short ones: a peer that is reaped because the machine is busy is one more thing that may happen. */
const bounds = {
  ...divided,
  HOSTED_ATTACH_MS: '900',
  HOSTED_REAP_MS: '1300',
  HOSTED_UNBOUND_MS: '1300',
  HOSTED_RETRY_MS: '300',
};
const { MODEL_SEED: only, MODEL_SEEDS: count = '12', MODEL_FROM: from = '1', MODEL_ON: on = '' } = process.env;
const seeds =
  only === undefined ? Array.from({ length: Number(count) }, (_, index) => Number(from) + index) : [Number(only)];
const AT_ONCE = 20;
const parts = Array.from({ length: Math.ceil(seeds.length / AT_ONCE) }, (_, part) =>
  seeds.slice(part * AT_ONCE, (part + 1) * AT_ONCE),
);

// A crash of the in-process server takes all its nodes with it: one life at a time.
const stages = [
  ['workerd', openWorkerd, 6],
  ['the in-process server', openInProcess, 1],
] as const;

for (const [kind, open, together] of stages.filter(([name]) => name.includes(on)))
  describe(`random lives of a node on ${kind} keep every promise`, () => {
    let stage: Stage;
    beforeAll(async () => {
      stage = await open({ bounds });
    });
    afterAll(() => stage?.close());

    it.each(parts.map((part) => [part[0], part.at(-1), part] as const))(
      'seeds %i to %i',
      { timeout: 600_000 },
      async (_first, _last, part) => {
        expect((await liveAll(stage, part, together)).join('\n\n')).toBe('');
      },
    );
  });
