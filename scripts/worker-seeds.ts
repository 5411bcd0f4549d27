/**
 * `npm run test:worker:seeds -- [--seeds 200] [--from 1] [--on workerd|in-process]`: random lives of a node against the
 * model, without the rest of the suite. A failed one is repeated by `--seed N`. The last line is `N passed, N failed`, in
 * parts of twenty lives.
 */
import { spawnSync } from 'node:child_process';
import { parseArgs } from 'node:util';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '200' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    on: { type: 'string', default: '' },
  },
});
for (const [name, text] of Object.entries(values)) {
  if (name === 'on' || /^\d{1,9}$/.test(text ?? '')) continue;
  process.stderr.write(`--${name} "${text}" is not a whole number\n`);
  process.exit(64);
}
const { status } = spawnSync(
  'node',
  ['--conditions=plane3-source', 'scripts/test-worker.ts', 'test/worker/model.test.ts'],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      MODEL_SEEDS: values.seeds,
      MODEL_FROM: values.from,
      MODEL_ON: values.on,
      ...(values.seed === undefined ? {} : { MODEL_SEED: values.seed }),
    },
  },
);
process.exitCode = status ?? 1;
