/**
 * npm run -s bench -- <what> [--json] [options]: measures on this machine, in one run, against a baseline of the same run.
 * Figures are ratios first: seconds differ from machine to machine. The last line of `--json` holds all of them.
 *
 * `--quick` tries the bench itself. `--minutes N` is for what runs for a time, `--part NAME` (again and again) for what has
 * parts. What was measured whole is kept in `bench/results/<what>.json`; a try is not, unless `--keep` says so.
 */
import { existsSync, readdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Bar } from './bar.ts';
import { machine, record } from './record.ts';

const here = new URL('.', import.meta.url);
const known = readdirSync(here)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.slice(0, -'.bench.ts'.length));

export interface Asked {
  /** For trying the bench itself, not for figures. */
  readonly quick: boolean;
  /** How long it shall run, where it has a length. */
  readonly minutes: number | undefined;
  /** Which parts of it; empty: all. */
  readonly parts: readonly string[];
  /** Tells progress. */
  say(line: string): void;
  /** How far it is, 0 to 1. */
  at(part: number): void;
}

export interface Bench {
  /** Names of parts that can be asked for. */
  readonly parts?: readonly string[];
  /** Minutes that count as a measurement; a shorter run is a try. Absent: it has no length. */
  readonly minutes?: number;
  run(asked: Asked): Promise<Record<string, unknown>>;
}

const refuse = (why: string): never => {
  process.stderr.write(`bench: ${why}\n`);
  process.exit(64);
};
const asked = () => {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        minutes: { type: 'string' },
        part: { type: 'string', multiple: true, default: [] },
      },
    });
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error));
  }
};

const { values, positionals } = asked();
const [what = ''] = positionals;
const file = new URL(`${what}.bench.ts`, here);
if (!known.includes(what) || !existsSync(file)) {
  refuse(`"${what}" is not one of ${known.join(', ')}\n  npm run -s bench -- fanout --json`);
}
const { bench } = (await import(file.href)) as { bench: Bench };
const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
if (minutes !== undefined) {
  if (bench.minutes === undefined) refuse(`${what} has no length: --minutes is not for it`);
  if (!(minutes >= 0.5 && minutes <= 1_440)) refuse(`--minutes is "${values.minutes}", not 0.5 to 1440`);
}
for (const part of values.part) {
  if (bench.parts?.includes(part) === true) continue;
  refuse(
    `--part "${part}": ${bench.parts === undefined ? `${what} has no parts` : `not one of ${bench.parts.join(', ')}`}`,
  );
}

const on = await machine();
const bar = new Bar();
const figures = await bench.run({ quick: values.quick, minutes, parts: values.part, say: bar.say, at: bar.at });
bar.end();
const isTry = values.quick || (minutes !== undefined && minutes < (bench.minutes ?? 0));
if (!isTry || values.keep) {
  const words = ['npm run -s bench --', what, '--json'];
  if (minutes !== undefined) words.push('--minutes', String(minutes));
  const kept = record(what, { command: words.join(' '), on, figures, kept: values.part.length > 0 });
  process.stderr.write(`kept: ${kept}\n`);
}
if (values.json) process.stdout.write(`${JSON.stringify(figures)}\n`);
else for (const [name, value] of Object.entries(figures)) process.stdout.write(`${name}: ${JSON.stringify(value)}\n`);
process.exit(0);
