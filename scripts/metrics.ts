/**
 * Writes what is made from the catalogue of metrics: docs/metrics.md and the Grafana dashboard.
 *
 *   npm run metrics             writes both
 *   npm run metrics -- --check  writes nothing; names each that is out of date, and exits 1 when there is one
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type MetricEntry, metrics } from '../src/domain/metrics.ts';

const entries = Object.entries<MetricEntry>(metrics);
const labelsOf = ({ labels = [] }: MetricEntry) => labels.map((label) => `\`${label}\``).join(', ');

export function metricsTable(): string {
  const table = [
    ['metric', 'kind', 'labels', 'what it is'],
    ...entries.map(([name, entry]) => [`\`${name}\``, entry.kind, labelsOf(entry), entry.help]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, n) => cell.padEnd(widths[n] ?? 0)).join(' | ')} |`;
  const [head = [], ...rows] = table.map(line);
  return `# Metrics

Made by \`npm run metrics\` from \`src/domain/metrics.ts\`. \`cotal deliver --http PORT\` and \`cotal up --http PORT\` serve them on
\`http://127.0.0.1:PORT/metrics\`, beside \`/healthz\` (200 while the root of the process runs) and \`/readyz\` (200 while the daemon
serves and its lease is certain). \`cotal manager --http PORT\` serves those that a manager has. Node's own metrics (\`process_*\`,
\`nodejs_*\`) come with them. \`deploy/grafana.json\` is a dashboard of all of it. No label has values that grow with use: members,
channels and posts are never labels.

${head}
| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |
${rows.join('\n')}
`;
}

const queryOf = ([name, { kind, labels = [] }]: [string, MetricEntry]) => {
  const by = labels.length === 0 ? '' : ` by (${labels.join(', ')})`;
  return {
    expr: kind === 'counter' ? `sum${by} (rate(${name}[$__rate_interval]))` : `sum${by} (${name})`,
    legendFormat: labels.length === 0 ? name : `${name} ${labels.map((label) => `{{${label}}}`).join(' ')}`,
  };
};

const WIDE = 12;
const HIGH = 8;

export function dashboard(): string {
  const titles = [...new Set(entries.map(([, { panel }]) => panel))];
  const panels = titles.map((title, n) => {
    const shown = entries.filter(([, { panel }]) => panel === title);
    return {
      id: n + 1,
      title,
      type: 'timeseries',
      datasource: { type: 'prometheus', uid: `$${'{datasource}'}` },
      gridPos: { x: (n % 2) * WIDE, y: Math.floor(n / 2) * HIGH, w: WIDE, h: HIGH },
      fieldConfig: { defaults: { unit: shown[0]?.[1].unit ?? 'short', min: 0 }, overrides: [] },
      targets: shown.map((entry, at) => ({ refId: String.fromCharCode(65 + at), ...queryOf(entry) })),
    };
  });
  const board = {
    title: 'plane3 delivery',
    uid: 'plane3-delivery',
    schemaVersion: 39,
    refresh: '10s',
    time: { from: 'now-1h', to: 'now' },
    templating: { list: [{ name: 'datasource', type: 'datasource', query: 'prometheus' }] },
    panels,
  };
  return `${JSON.stringify(board, undefined, 2)}\n`;
}

export const madeOfMetrics: readonly (readonly [file: string, make: () => string])[] = [
  ['docs/metrics.md', metricsTable],
  ['deploy/grafana.json', dashboard],
];

if (import.meta.main) {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
  for (const [file, make] of madeOfMetrics) {
    const url = new URL(`../${file}`, import.meta.url);
    const text = make();
    if (existsSync(url) && readFileSync(url, 'utf8') === text) continue;
    if (values.check) {
      process.stdout.write(`✗ ${file} is out of date: npm run metrics\n`);
      process.exitCode = 1;
    } else {
      writeFileSync(url, text);
      process.stdout.write(`${file} written\n`);
    }
  }
}
