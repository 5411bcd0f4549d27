/**
 * Draws every machine of the catalogue, and the tree of actors.
 *
 *   npm run diagrams             writes diagrams/<machine>.mmd .svg .md, and the tree as diagrams/system.svg
 *   npm run diagrams -- --check  writes nothing; names every file that is out of date, and every text that lies on another,
 *                                and exits 1 when there is one
 *
 * The settings that made the best drawing are kept in the SVG itself, so that a check need not look for them again.
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { instance } from '@viz-js/viz';
import { catalogue, chartFile } from '../src/machines/catalogue.ts';
import { supervision } from '../src/machines/supervision.ts';
import { explore } from '../test/support/paths/explore.ts';
import { goldenTable } from '../test/support/paths/golden.ts';
import { camelOf, samplesFor } from '../test/support/paths/proved.ts';
import { type Chart, chartOf } from './diagrams/chart.ts';
import { dotOf } from './diagrams/dot.ts';
import { bestSettings, complaintsAbout, type Settings, usualSettings } from './diagrams/layout.ts';
import { mermaidOf } from './diagrams/mermaid.ts';
import { systemDot } from './diagrams/system.ts';

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

/** Graphviz's SVG with the fonts that browsers have, without its version, and with a first line of ours. */
function svgOf(dot: string, title: string, mark: string): string {
  const { output, errors } = viz.render(dot, { format: 'svg' });
  const errorsOnly = errors.filter(({ level }) => level === 'error');
  if (output === undefined || errorsOnly.length > 0)
    throw new Error(`${title}: ${errorsOnly.map(({ message }) => message).join('; ')}`);
  const drawing = output
    .slice(output.indexOf('<svg'))
    .replaceAll(/<!--[\s\S]*?-->\n/g, '')
    .replaceAll(/font-family="[^"]*"/g, 'font-family="Helvetica, Arial, \'Liberation Sans\', sans-serif"')
    .replace('<g id="graph0"', `<title>${title}</title>\n<g id="graph0"`);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<!-- ${mark} -->\n${wordsAbove(drawing)}`;
}

/** What a state with states inside says of itself goes above the arrows that lead through it, with a rim of its ground. */
function wordsAbove(drawing: string): string {
  const words: string[] = [];
  const without = drawing.replaceAll(/<g id="\w+" class="cluster">[\s\S]*?\n<\/g>/g, (cluster) =>
    cluster.replaceAll(/<text [^\n]*<\/text>\n/g, (text) => {
      words.push(text.replace('<text ', '<text paint-order="stroke" stroke="#f7f9fb" stroke-width="3" '));
      return '';
    }),
  );
  return without.replace(/<\/g>\s*<\/svg>\s*$/, `<g class="words">\n${words.join('')}</g>\n</g>\n</svg>\n`);
}

const fingerprint = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 16);

/** The settings of the drawing that is there, if it was made from this very chart; otherwise the best of all. */
function settingsFor(chart: Chart, print: string): Settings {
  const [, known, settings] = /<!-- chart (\w+) (\{.*\}) -->/.exec(onDisk(chartFile(chart.name)) ?? '') ?? [];
  if (known === print && settings !== undefined) return JSON.parse(settings) as Settings;
  const [first] = usualSettings;
  if (values.check && first !== undefined) return first;
  return bestSettings(viz, (each) => dotOf(chart, each));
}

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
  const chart = chartOf(entry.name, exploration);
  const print = fingerprint(dotOf(chart, { inner: 0, nodesep: 0, tail: 'last', sink: false }));
  const settings = settingsFor(chart, print);
  const dot = dotOf(chart, settings);
  files.set(chartFile(entry.name), svgOf(dot, entry.name, `chart ${print} ${JSON.stringify(settings)}`));
  files.set(`${entry.name}.mmd`, mermaidOf(chart));
  files.set(`${entry.name}.md`, goldenTable(entry.name, exploration));
  const { overlaps, crossings } = complaintsAbout(viz, dot);
  const figures = `${exploration.anatomy.states.length} states, ${chart.arrows.length} arrows, ${crossings} crossings`;
  if (!values.check) say(`${entry.name}: ${figures}`);
  for (const overlap of overlaps) say(`✗ diagrams/${chartFile(entry.name)}: ${overlap}`);
  if (overlaps.length > 0) process.exitCode = 1;
}
const machines = new Set(catalogue.map(({ name }) => name));
const tree = () => svgOf(systemDot(supervision, new Set([...machines].map(camelOf))), 'system', 'the tree of actors');
if (values.machine === undefined) files.set('system.svg', tree());

if (!values.check) mkdirSync(folder, { recursive: true });
const stale: string[] = [];
for (const [file, text] of files) {
  if (onDisk(file) === text) continue;
  stale.push(file);
  if (!values.check) writeFileSync(new URL(file, folder), text);
}
const known = new Set([...machines].flatMap((name) => [chartFile(name), `${name}.mmd`, `${name}.md`]));
const forgotten = existsSync(folder)
  ? readdirSync(folder).filter((file) => file !== 'system.svg' && !known.has(file))
  : [];
if (!values.check) for (const file of forgotten) rmSync(new URL(file, folder));

if (values.check) {
  for (const file of stale) say(`✗ diagrams/${file} is out of date: npm run diagrams`);
  for (const file of forgotten) say(`✗ diagrams/${file} belongs to no machine: npm run diagrams`);
  if (stale.length + forgotten.length > 0) process.exitCode = 1;
} else say(`diagrams: ${stale.length} written, ${files.size - stale.length} as they were, ${forgotten.length} removed`);
