/** `cotal torture`: a fault run on a throw-away mesh of its own, and the verdict over it. Touches nothing else of the machine. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { firstIssue } from '../domain/rail.ts';
import type { Charge } from '../torture/checker/finding.ts';
import type { Verdict } from '../torture/checker/verdict.ts';
import { isPlant, plantFile, plants } from '../torture/plants.ts';
import { LEASE_TTL_MS, run } from '../torture/run.ts';
import { type Script, scriptOf, scriptSchema } from '../torture/schedule.ts';
import { shrink } from '../torture/shrink.ts';
import { whole } from './flags.ts';
import { type Call, type Define, examples } from './frame.ts';
import { Progress } from './progress.ts';

interface Options {
  readonly seed?: number;
  readonly minutes: number;
  readonly servers: number;
  readonly script?: string;
  readonly keep?: string;
  readonly shrink?: number;
  readonly plant?: string;
  readonly drain: number;
}

const MINUTE_MS = 60_000;

export const define: Define = (command, frame) => {
  command
    .option('--seed <n>', 'seed of the run (default: a random one, which is printed)', whole('--seed', 0))
    .option('--minutes <n>', 'how long things happen, before the calm at the end', minutes, 1)
    .option('--servers <n>', 'nats-servers: 1, or a cluster of 3 with three replicas', servers, 1)
    .option('--script <file>', 'live through a script instead of a seed')
    .option('--keep <dir>', 'keep logs and histories there (default: only after a failure, in a temporary folder)')
    .option('--shrink <minutes>', 'after a failure, look for a shorter script for so long', whole('--shrink', 1))
    .option('--drain <seconds>', 'longest that the calm at the end may take', whole('--drain', 1), 120)
    .option('--plant <fault>', `a daemon that is wrong on purpose, to try the checker: ${plants.join(', ')}`)
    .action(frame.action(torture));
  examples(
    command,
    'cotal torture --seed 7 --minutes 10 --json',
    'cotal torture --seed 7 --servers 3',
    'cotal torture --script found.json',
  );
};

const minutes = (text: string): number => {
  const value = Number(text);
  if (/^\d{1,4}(\.\d{1,3})?$/.test(text) && value > 0) return value;
  throw new Plane3Error('number.positive', { name: '--minutes', input: text, least: '0.001', most: 9999 });
};
const servers = (text: string): number => {
  if (text === '1' || text === '3') return Number(text);
  throw new Plane3Error('flag.word', { name: '--servers', input: text, words: '1, 3' });
};

async function torture(call: Call, options: Options): Promise<0 | 1> {
  const { out } = call;
  if (options.plant !== undefined && !isPlant(options.plant)) {
    throw new Plane3Error('flag.word', { name: '--plant', input: options.plant, words: plants.join(', ') });
  }
  const script = options.script === undefined ? seeded(options) : readScript(options.script);
  const folder = options.keep === undefined ? mkdtempSync(join(tmpdir(), 'cotal-torture-')) : resolve(options.keep);
  const progress = new Progress();
  const say = (line: string) => (process.stderr.isTTY === true ? progress.say(line) : undefined);
  const play = (next: Script, name: string) => {
    const place = join(folder, name);
    mkdirSync(place, { recursive: true, mode: 0o700 });
    const planted = options.plant === undefined || !isPlant(options.plant) ? [] : [plantFile(options.plant)];
    return run({ script: next, folder: place, planted, drainMs: options.drain * 1_000, say, signal: call.stopped() });
  };
  const began = Date.now();
  let told: { verdict: Verdict; server: string };
  try {
    told = await play(script, 'run');
  } finally {
    progress.stop();
  }
  const { verdict, server } = told;
  const seconds = Math.round((Date.now() - began) / 1_000);
  for (const { charge, what } of verdict.findings) out.remark(`✗ ${charge}: ${what}`);
  let kept = options.keep === undefined ? undefined : folder;
  if (!verdict.clean) {
    kept = folder;
    let shortest: Script = { ...script, found: verdict.findings[0]?.what ?? '' };
    if (options.shrink !== undefined) {
      const end = Date.now() + options.shrink * MINUTE_MS;
      let tries = 0;
      shortest = await shrink({
        script: shortest,
        charges: charged(verdict),
        play: async (next) => (await play(next, `shrink.${++tries}`)).verdict,
        deadline: () => Date.now() > end,
        say: (line) => out.remark(`• ${line}`),
      });
    }
    const path = join(folder, 'script.json');
    writeFileSync(path, `${JSON.stringify(shortest, undefined, 1)}\n`);
    out.remark(`• script: ${path} (${shortest.steps.length} steps)`);
  } else if (kept === undefined) rmSync(folder, { recursive: true, force: true });
  const { findings: _findings, charges, clean, ...counts } = verdict;
  out.answer(
    {
      seed: script.seed,
      verdict: clean ? 'clean' : 'failed',
      lost: charges.lost,
      unauthorized: charges.unauthorized,
      doubleServing: charges['double-serving'],
      unexplained: charges.unexplained + charges.duplicate,
      unsettled: charges.unsettled,
      ...counts,
      seconds,
      server,
      servers: script.servers,
      ...(kept === undefined ? {} : { kept }),
    },
    textOf(script, verdict, seconds, out.paint(clean ? 'green' : 'red', clean ? '✓ clean' : '✗ failed')),
  );
  return clean ? 0 : 1;
}

const charged = ({ findings }: Verdict): Charge[] => [...new Set(findings.map(({ charge }) => charge))];

function textOf({ seed }: Script, verdict: Verdict, seconds: number, word: string): string {
  const { posts, surfaced, faults, duplicates, reasons, refusals } = verdict;
  const why = Object.entries(reasons)
    .map(([reason, count]) => `${count} ${reason}`)
    .join(', ');
  return [
    `${word}: seed ${seed}, ${seconds} s`,
    `${posts} posts, ${surfaced} surfaced, ${faults} faults, ${refusals} refusals, ${duplicates} repeats${why === '' ? '' : ` (${why})`}`,
  ].join('\n');
}

function seeded({ seed = Math.floor(Math.random() * 2 ** 31), minutes, servers }: Options): Script {
  return scriptOf({ seed, minutes, servers, leaseTtlMs: LEASE_TTL_MS });
}

function readScript(path: string): Script {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new Plane3Error('torture.script', { path, reason: error instanceof Error ? error.message : String(error) });
  }
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Plane3Error('torture.script', { path, reason: 'it is not JSON' });
  }
  const read = scriptSchema.safeParse(json);
  if (!read.success) throw new Plane3Error('torture.script', { path, reason: firstIssue(read.error) });
  return read.data;
}
