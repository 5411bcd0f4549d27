/**
 * `npm run -s plots -- [--check]`: draws the kept results of `bench/results/` as SVG in `docs/plots/` and embeds them in
 * `docs/performance.md`. With `--check` nothing is written: exit 1 when something there is not what the results give.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { svgOf } from './plots/chart.ts';
import { chartsOf, plotted } from './plots/charts.ts';

const [BEGIN, END] = ['<!-- plots: made by npm run plots -->', '<!-- plots end -->'];
const at = (path: string): URL => new URL(`../${path}`, import.meta.url);
const isCheck = process.argv.includes('--check');

const wanted = new Map<string, string>();
const shown: string[] = [];
for (const name of plotted) {
  const file = at(`bench/results/${name}.json`);
  if (!existsSync(file)) continue;
  const result = JSON.parse(readFileSync(file, 'utf8')) as { command: string; at?: string; figures: unknown };
  shown.push('', `\`${result.command}\`${result.at === undefined ? '' : `, ${result.at}`}:`);
  for (const [chart, drawn] of Object.entries(chartsOf(name, result.figures))) {
    wanted.set(`docs/plots/${chart}.svg`, svgOf(drawn));
    shown.push('', `![${drawn.title}](plots/${chart}.svg)`);
  }
}
const page = readFileSync(at('docs/performance.md'), 'utf8');
const [before, after] = [page.indexOf(BEGIN), page.indexOf(END)];
if (before < 0 || after < before) throw new Error(`docs/performance.md has no "${BEGIN}" and "${END}"`);
wanted.set(
  'docs/performance.md',
  `${page.slice(0, before + BEGIN.length)}\n${shown.join('\n')}\n\n${page.slice(after)}`,
);

mkdirSync(at('docs/plots/'), { recursive: true });
const stale = readdirSync(at('docs/plots/'))
  .map((file) => `docs/plots/${file}`)
  .filter((file) => !wanted.has(file));
const differing = [...wanted].filter(
  ([file, text]) => !existsSync(at(file)) || readFileSync(at(file), 'utf8') !== text,
);
if (isCheck) {
  for (const file of [...stale, ...differing.map(([file]) => file)]) {
    process.stderr.write(`plots: ${file} is not what bench/results gives: npm run -s plots\n`);
    process.exitCode = 1;
  }
} else {
  for (const file of stale) rmSync(at(file));
  for (const [file, text] of differing) {
    writeFileSync(at(file), text);
    process.stdout.write(`${file} written\n`);
  }
}
