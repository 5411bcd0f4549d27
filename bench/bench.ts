/**
 * npm run -s bench -- <what> [--json] [options]: measures on this machine, in one run, against a baseline of the same run.
 * Figures are ratios first: seconds differ from machine to machine. The last line of `--json` holds all of them.
 */
import { existsSync, readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';

const here = new URL('.', import.meta.url);
const known = readdirSync(here)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.slice(0, -'.bench.ts'.length));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'boolean', default: false }, quick: { type: 'boolean', default: false } },
});
const [what = ''] = positionals;
const file = new URL(`${what}.bench.ts`, here);
if (!known.includes(what) || !existsSync(file)) {
  process.stderr.write(`bench: "${what}" is not one of ${known.join(', ')}\n  npm run -s bench -- fanout --json\n`);
  process.exit(64);
}

export interface Bench {
  /** Measures; `say` tells progress, `quick` is for trying the bench itself, not for figures. */
  run(asked: { quick: boolean; say: (line: string) => void }): Promise<Record<string, unknown>>;
}

const { bench } = (await import(file.href)) as { bench: Bench };
const figures = await bench.run({
  quick: values.quick,
  say: (line) => process.stderr.write(`${line}\n`),
});
if (values.json) process.stdout.write(`${JSON.stringify(figures)}\n`);
else for (const [name, value] of Object.entries(figures)) process.stdout.write(`${name}: ${JSON.stringify(value)}\n`);
process.exit(0);
