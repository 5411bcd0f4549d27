/**
 * Walks over every machine of the catalogue and prints how far the walk went.
 *
 *   npm run paths               a table
 *   npm run -s paths -- --json  a line a machine: machine, states, edges, paths, snapshots, promises, limitHit
 *
 * Exits 1 when a machine has no samples, when a walk hit its limit, or when a promise was not kept.
 */
import { parseArgs } from 'node:util';
import { catalogue } from '../src/machines/catalogue.ts';
import { faultsOf, misnamed, unsampled } from '../test/support/paths/checks.ts';
import { explore, isReal } from '../test/support/paths/explore.ts';
import { routesOver } from '../test/support/paths/live.ts';
import { samplesFor, unproved } from '../test/support/paths/proved.ts';

const { values } = parseArgs({ options: { json: { type: 'boolean', default: false }, machine: { type: 'string' } } });

interface Figures {
  readonly machine: string;
  /** Declared states, all of them reached. */
  readonly states: number;
  /** Edges on which something happens; `visited` counts every sample in every snapshot. */
  readonly edges: number;
  readonly visited: number;
  /** Routes that are replayed on a live actor. */
  readonly paths: number;
  readonly snapshots: number;
  readonly promises: number;
  readonly limitHit: boolean;
  readonly faults: number;
}

const figures: Figures[] = [];
const faults = unproved().map((fault) => `✗ ${fault}`);
for (const entry of catalogue) {
  const { name, machine } = entry;
  if (values.machine !== undefined && values.machine !== name) continue;
  const samples = await samplesFor(entry);
  if (samples === undefined) continue;
  const exploration = explore(machine, samples);
  const found = [...unsampled(exploration), ...misnamed(exploration), ...faultsOf(exploration)];
  const shown = found.slice(0, 10).map((fault) => `✗ ${name}: ${fault}`);
  faults.push(...shown, ...(found.length > 10 ? [`✗ ${name}: … and ${found.length - 10} more`] : []));
  figures.push({
    machine: name,
    states: exploration.anatomy.states.length,
    edges: exploration.edges.filter(isReal).length,
    visited: exploration.edges.length,
    paths: exploration.limitHit ? 0 : routesOver(exploration).length,
    snapshots: exploration.spots.length,
    promises: samples.promises.length,
    limitHit: exploration.limitHit,
    faults: found.length,
  });
}
if (values.machine !== undefined && !catalogue.some(({ name }) => name === values.machine)) {
  faults.push(`✗ there is no machine "${values.machine}": ${catalogue.map(({ name }) => name).join(', ')}`);
}

if (values.json) for (const line of figures) process.stdout.write(`${JSON.stringify(line)}\n`);
else {
  const columns = ['machine', 'states', 'edges', 'visited', 'paths', 'snapshots', 'promises', 'faults'] as const;
  const rows = [columns, ...figures.map((line) => columns.map((column) => String(line[column])))];
  const width = (n: number) => Math.max(...rows.map((row) => row[n]?.length ?? 0));
  const lineOf = (row: readonly string[]) =>
    row.map((cell, n) => (n === 0 ? cell.padEnd(width(n)) : cell.padStart(width(n)))).join('  ');
  for (const row of rows) process.stdout.write(`${lineOf(row)}\n`);
}
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
