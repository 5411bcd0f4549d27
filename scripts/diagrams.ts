/**
 * Draws every machine of the catalogue, and the tree of actors.
 *
 *   npm run diagrams             writes diagrams/<machine>.mmd .svg .md, and the tree as diagrams/system.svg
 *   npm run diagrams -- --check  writes nothing; names every file that is out of date, and every text that lies on another,
 *                                and exits 1 when there is one
 *
 * The settings that made the best drawing are kept in the SVG itself, so that a check need not look for them again.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { instance } from '@viz-js/viz';
import { catalogue, chartFile } from '../src/machines/catalogue.ts';
import { explore } from '../test/support/paths/explore.ts';
import { goldenTable } from '../test/support/paths/golden.ts';
import { samplesFor } from '../test/support/paths/proved.ts';
import { drawingOf, treeOf } from './diagrams/drawing.ts';

const { values } = parseArgs({
  options: {
    check: { type: 'boolean', default: false },
    machine: { type: 'string' },
    folder: { type: 'string', default: fileURLToPath(new URL('../diagrams', import.meta.url)) },
  },
});
const folder = pathToFileURL(`${values.folder}/`);
const viz = await instance();
const say = (line: string) => process.stdout.write(`${line}\n`);

const onDisk = (file: string): string | undefined => {
  const url = new URL(file, folder);
  return existsSync(url) ? readFileSync(url, 'utf8') : undefined;
};

const files = new Map<string, string>();
for (const entry of catalogue) {
  if (values.machine !== undefined && values.machine !== entry.name) continue;
  const samples = await samplesFor(entry);
  if (samples === undefined) {
    say(`✗ ${entry.name} has no samples: it cannot be drawn`);
    process.exitCode = 1;
    continue;
  }
  const exploration = explore(entry.machine, samples);
  const svg = chartFile(entry.name);
  const drawing = drawingOf(viz, entry.name, exploration, { drawn: onDisk(svg), search: !values.check });
  files.set(svg, drawing.svg);
  files.set(`${entry.name}.mmd`, drawing.mmd);
  files.set(`${entry.name}.md`, goldenTable(entry.name, exploration));
  if (!values.check) say(`${entry.name}: ${drawing.figures}`);
  for (const overlap of drawing.overlaps) say(`✗ diagrams/${svg}: ${overlap}`);
  if (drawing.overlaps.length > 0) process.exitCode = 1;
}
const machines = catalogue.map(({ name }) => name);
if (values.machine === undefined) files.set('system.svg', treeOf(viz, machines));

if (!values.check) mkdirSync(folder, { recursive: true });
const stale: string[] = [];
for (const [file, text] of files) {
  if (onDisk(file) === text) continue;
  stale.push(file);
  if (!values.check) writeFileSync(new URL(file, folder), text);
}
const known = new Set(machines.flatMap((name) => [chartFile(name), `${name}.mmd`, `${name}.md`]));
const forgotten = existsSync(folder)
  ? readdirSync(folder).filter((file) => file !== 'system.svg' && !known.has(file))
  : [];
if (!values.check) for (const file of forgotten) rmSync(new URL(file, folder));

if (values.check) {
  for (const file of stale) say(`✗ diagrams/${file} is out of date: npm run diagrams`);
  for (const file of forgotten) say(`✗ diagrams/${file} belongs to no machine: npm run diagrams`);
  if (stale.length + forgotten.length > 0) process.exitCode = 1;
} else say(`diagrams: ${stale.length} written, ${files.size - stale.length} as they were, ${forgotten.length} removed`);
