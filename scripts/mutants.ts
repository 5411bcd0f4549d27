/**
 * Mutants of every machine: one thing wrong in the chart at a time, and the path tests must notice.
 *
 *   npm run test:mutants [-- --machine NAME] [--json] [--list]
 *
 * `killed` were noticed by a promise, or by the checks of reach, dead ends and deaths; `killedByGoldenOnly` only by the
 * golden table, which knows that something changed and not whether it is wrong; `survivors` by nothing. A survivor with a
 * reason written in the samples (`equivalent`) is explained. The last line of `--json` sums up. Exits 1 when a survivor is
 * unexplained, or a reason explains a mutant that does not survive.
 */
import { parseArgs } from 'node:util';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { catalogue } from '../src/machines/catalogue.ts';
import { faultsOf } from '../test/support/paths/checks.ts';
import { explore } from '../test/support/paths/explore.ts';
import { goldenTable } from '../test/support/paths/golden.ts';
import { judge, type Verdict } from '../test/support/paths/judge.ts';
import { mutantsOf } from '../test/support/paths/mutants.ts';
import { samplesFor } from '../test/support/paths/proved.ts';

/** A share of the work: some of the mutants of one machine, by their places. */
interface Share {
  readonly machine: string;
  readonly places: readonly number[];
}

async function benchFor(name: string) {
  const entry = catalogue.find((each) => each.name === name);
  const samples = entry === undefined ? undefined : await samplesFor(entry);
  if (entry === undefined || samples === undefined) throw new Error(`${name} has no samples`);
  return { entry, samples, mutants: mutantsOf(entry.machine, samples.untaken ?? {}) };
}

async function judgeShare({ machine, places }: Share): Promise<Verdict[]> {
  const { entry, samples, mutants } = await benchFor(machine);
  const golden = goldenTable(machine, explore(entry.machine, samples));
  return places.flatMap((place) => {
    const mutant = mutants[place];
    return mutant === undefined ? [] : [judge(mutant, samples, golden)];
  });
}

/** Two workers take shares as they become free. */
async function judgeAll(shares: readonly Share[], done: (share: Share, verdicts: readonly Verdict[]) => void) {
  const waiting = [...shares];
  const work = (worker: Worker) =>
    new Promise<void>((resolve, reject) => {
      let current: Share | undefined;
      const next = () => {
        current = waiting.shift();
        if (current === undefined) void worker.terminate().then(() => resolve());
        else worker.postMessage(current);
      };
      worker.on('message', (verdicts: readonly Verdict[]) => {
        if (current !== undefined) done(current, verdicts);
        next();
      });
      worker.once('error', reject);
      next();
    });
  await Promise.all([0, 1].map(() => work(new Worker(new URL(import.meta.url)))));
}

async function main(): Promise<void> {
  const options = { json: { type: 'boolean' }, list: { type: 'boolean' }, machine: { type: 'string' } } as const;
  const { values } = parseArgs({ options });
  const names = catalogue
    .map(({ name }) => name)
    .filter((name) => values.machine === undefined || name === values.machine);
  if (names.length === 0) {
    process.stderr.write(
      `✗ there is no machine "${values.machine}": ${catalogue.map(({ name }) => name).join(', ')}\n`,
    );
    process.exitCode = 64;
    return;
  }
  const shares: Share[] = [];
  const reasons = new Map<string, Readonly<Record<string, string>>>();
  for (const machine of names) {
    const { entry, samples, mutants } = await benchFor(machine);
    const [fault] = faultsOf(explore(entry.machine, samples));
    if (fault !== undefined) {
      // Every mutant of a machine that is red itself would count as killed.
      process.stderr.write(`✗ ${machine} is red as it is: ${fault}\n`);
      process.exitCode = 1;
      return;
    }
    reasons.set(machine, samples.equivalent ?? {});
    for (let from = 0; from < mutants.length; from += 40) {
      shares.push({ machine, places: mutants.slice(from, from + 40).map((_, n) => from + n) });
    }
  }
  const verdicts = new Map<string, Verdict[]>(names.map((name) => [name, []]));
  await judgeAll(shares, ({ machine }, some) => verdicts.get(machine)?.push(...some));

  const total = { mutants: 0, killed: 0, killedByGoldenOnly: 0, survivors: 0, unexplained: 0 };
  const say = (line: string) => process.stdout.write(`${line}\n`);
  for (const [machine, all] of verdicts) {
    const fated = (fate: Verdict['fate']) => all.filter((verdict) => verdict.fate === fate).map(({ mutant }) => mutant);
    const [killed, golden, survivors] = [fated('killed'), fated('golden'), fated('survived')];
    const explained = reasons.get(machine) ?? {};
    const unexplained = survivors.filter((mutant) => !(mutant in explained));
    const pointless = Object.keys(explained).filter((mutant) => !survivors.includes(mutant));
    total.mutants += all.length;
    total.killed += killed.length + golden.length;
    total.killedByGoldenOnly += golden.length;
    total.survivors += survivors.length;
    total.unexplained += unexplained.length + pointless.length;
    if (values.json) {
      const figures = {
        mutants: all.length,
        killed: killed.length + golden.length,
        killedByGoldenOnly: golden.length,
        survivors: survivors.length,
        unexplained: unexplained.length,
      };
      say(JSON.stringify({ machine, ...figures, names: { golden, survivors, unexplained } }));
    } else {
      say(
        `${machine}: ${all.length} mutants, ${killed.length} killed, ${golden.length} by the golden table only, ${survivors.length} survive`,
      );
      if (values.list)
        for (const { mutant, fault } of all)
          if (fault !== undefined) say(`  ✓ ${mutant}\n      ${fault.split('\n')[0]}`);
      for (const mutant of golden) say(`  ~ ${mutant}`);
      for (const mutant of survivors) say(`  ✗ ${mutant}${mutant in explained ? ` (${explained[mutant]})` : ''}`);
    }
    for (const mutant of pointless)
      process.stderr.write(`✗ ${machine}: a reason is written for what does not survive: ${mutant}\n`);
  }
  say(
    values.json
      ? JSON.stringify(total)
      : `in all: ${Object.entries(total)
          .map(([key, n]) => `${n} ${key}`)
          .join(', ')}`,
  );
  process.exitCode = total.unexplained === 0 ? 0 : 1;
}

if (isMainThread) await main();
else parentPort?.on('message', async (share: Share) => parentPort?.postMessage(await judgeShare(share)));
