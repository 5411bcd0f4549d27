/** `npm run -s fuzz -- [--inputs 1000000]`: so many random inputs for all decoders together; the seed is printed by a failure. */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { inputs: { type: 'string', default: '1000000' } } });
const inputs = Number(values.inputs);
if (!/^\d{1,9}$/.test(values.inputs) || inputs < 1) {
  process.stderr.write(`fuzz: --inputs is "${values.inputs}", not a whole number from 1\n`);
  process.exit(64);
}
const files = globSync('test/domain/**/fuzz.test.ts');
const decoders = files.flatMap((file) => readFileSync(file, 'utf8').match(/^ *it\(/gm) ?? []).length;
const each = Math.ceil(inputs / decoders);
process.stderr.write(`fuzz: ${each} inputs for each of ${decoders} decoders\n`);
const began = performance.now();
const words = ['run', '--project', 'unit', '--testTimeout', '7200000', ...files];
const { status } = spawnSync('vitest', words, { stdio: 'inherit', env: { ...process.env, FUZZ_RUNS: String(each) } });
process.stderr.write(`fuzz: ${each * decoders} inputs in ${Math.round((performance.now() - began) / 1_000)} s\n`);
process.exit(status ?? 1);
