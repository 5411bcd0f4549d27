/**
 * Checks the arrows of the tree: which part may import which. Prints every arrow that points the wrong way, every
 * cycle and every barrel, and exits 1 when there is one.
 */
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, relative, resolve } from 'node:path';

interface Rule {
  /** Files it speaks of: the longest prefix that fits decides. */
  readonly from: string;
  /** Folders or files of ours that it may import, beside its own folder. */
  readonly to: readonly string[];
  /** Packages it may import; `node:` stands for all of Node's own. */
  readonly packages: readonly string[] | 'any';
}

export const RULES: readonly Rule[] = [
  { from: 'src/domain/', to: [], packages: ['zod'] },
  { from: 'src/machines/', to: ['src/domain/'], packages: ['xstate'] },
  { from: 'src/services/ports.ts', to: ['src/domain/'], packages: [] },
  {
    from: 'src/services/log.ts',
    to: ['src/domain/', 'src/services/ports.ts'],
    packages: ['pino', 'pino-pretty', 'node:'],
  },
  {
    from: 'src/services/bind',
    to: [
      'src/domain/',
      'src/machines/',
      'src/services/bind',
      'src/services/ports.ts',
      'src/services/delivery/',
      'src/services/fence.ts',
      'src/services/tally.ts',
    ],
    packages: ['xstate'],
  },
  { from: 'src/services/tally.ts', to: [], packages: [] },
  { from: 'src/services/fence.ts', to: ['src/domain/', 'src/services/ports.ts'], packages: [] },
  {
    from: 'src/services/delivery/',
    to: ['src/domain/', 'src/services/ports.ts', 'src/services/tally.ts'],
    packages: ['node:crypto'],
  },
  {
    from: 'src/services/credential.ts',
    to: ['src/domain/'],
    packages: ['node:', '@nats-io/'],
  },
  {
    from: 'src/services/credential-keeper.ts',
    to: ['src/domain/', 'src/services/ports.ts', 'src/services/credential.ts'],
    packages: [],
  },
  {
    from: 'src/services/nats/',
    to: [
      'src/domain/',
      'src/services/ports.ts',
      'src/services/credential.ts',
      'src/services/fence.ts',
      'src/services/tally.ts',
    ],
    packages: 'any',
  },
  {
    from: 'src/services/local/',
    to: ['src/domain/', 'src/services/ports.ts', 'src/services/credential.ts'],
    packages: 'any',
  },
  {
    from: 'src/services/memory/',
    to: ['src/domain/', 'src/services/ports.ts', 'src/services/fence.ts', 'src/services/tally.ts'],
    packages: [],
  },
  { from: 'src/client/', to: ['src/domain/', 'src/machines/', 'src/services/'], packages: 'any' },
  { from: 'src/manager/', to: ['src/domain/', 'src/machines/', 'src/services/'], packages: 'any' },
  {
    from: 'src/provider/',
    to: [
      'src/domain/',
      'src/machines/',
      'src/services/ports.ts',
      'src/services/log.ts',
      'src/services/tally.ts',
      'src/services/bind-effects.ts',
    ],
    packages: 'any',
  },
  {
    from: 'src/worker/',
    to: ['src/domain/', 'src/machines/', 'src/provider/', 'src/services/ports.ts'],
    packages: ['xstate', 'zod', 'cloudflare:'],
  },
  { from: 'src/inspector/', to: ['src/domain/', 'src/machines/', 'src/services/'], packages: 'any' },
  { from: 'src/launch/', to: ['src/domain/', 'src/machines/', 'src/services/'], packages: 'any' },
  { from: 'src/torture/', to: ['src/domain/', 'src/services/', 'src/client/', 'src/manager/'], packages: 'any' },
  { from: 'src/cli/', to: ['src/'], packages: 'any' },
  { from: 'src/admin-ops.ts', to: ['src/domain/', 'src/services/'], packages: [] },
  { from: 'src/renewal.ts', to: ['src/'], packages: 'any' },
  { from: 'src/start.ts', to: ['src/'], packages: 'any' },
  { from: 'src/system-input.ts', to: ['src/domain/', 'src/machines/'], packages: ['xstate'] },
  { from: 'src/main.ts', to: ['src/'], packages: 'any' },
];

const importPattern =
  /(?:^|\n)\s*(?:import|export)\s[^;'"]*?from\s*['"]([^'"]+)['"]|import\(\s*['"]([^'"]+)['"]\s*\)|(?:^|\n)\s*import\s*['"]([^'"]+)['"]/g;

export function importsOf(source: string): string[] {
  return [...source.matchAll(importPattern)].map((match) => match[1] ?? match[2] ?? match[3] ?? '');
}

/** What the package exports to others: these may hand on what other files export. */
const entryPoints = ['src/main.ts', 'src/client/client.ts', 'src/manager/embed.ts'];

/** A file that only hands on what others export, under whatever name. */
function isBarrel(file: string, source: string): boolean {
  if (/(^|\/)(index|utils?|helpers?)\.ts$/.test(file)) return true;
  const code = source.replaceAll(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g, '');
  const rest = code.replaceAll(/export\s[^;'"]*?from\s*['"][^'"]+['"];?/g, '').trim();
  return code.trim() !== '' && rest === '' && !entryPoints.includes(file);
}

const allowsPackage = (packages: Rule['packages'], name: string) =>
  packages === 'any' ||
  packages.some((allowed) =>
    allowed.endsWith(':') || allowed.endsWith('/')
      ? name.startsWith(allowed)
      : name === allowed || name.startsWith(`${allowed}/`),
  );

/** Every fault of the tree below `root`, one line each. */
export function faults(root: string): string[] {
  const found: string[] = [];
  const graph = new Map<string, string[]>();
  for (const file of globSync('src/**/*.ts', { cwd: root }).sort()) {
    const rule = RULES.filter((each) => file.startsWith(each.from)).sort((a, b) => b.from.length - a.from.length)[0];
    if (rule === undefined) {
      found.push(`${file}: lies in no known part of the tree`);
      continue;
    }
    const source = readFileSync(resolve(root, file), 'utf8');
    if (isBarrel(file, source)) found.push(`${file}: barrels and catch-all files are not wanted`);
    const arrows: string[] = [];
    for (const target of importsOf(source)) {
      if (!target.startsWith('.')) {
        if (!allowsPackage(rule.packages, target)) found.push(`${file}: must not import package ${target}`);
        continue;
      }
      const path = relative(root, resolve(root, dirname(file), target));
      if (!existsSync(resolve(root, path))) found.push(`${file}: imports ${target}, which is not there`);
      arrows.push(path);
      const own = rule.from.endsWith('/') && path.startsWith(rule.from);
      if (!own && !rule.to.some((prefix) => path.startsWith(prefix))) found.push(`${file}: must not import ${path}`);
    }
    graph.set(file, arrows);
  }
  return [...found.sort(), ...cycles(graph)];
}

function cycles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]): void => {
    if (trail.includes(file)) {
      found.push(`cycle: ${[...trail.slice(trail.indexOf(file)), file].join(' → ')}`);
      return;
    }
    if (done.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  return found;
}

if (import.meta.main) {
  const all = faults(process.cwd());
  for (const fault of all) process.stdout.write(`${fault}\n`);
  process.stdout.write(all.length === 0 ? 'arrows: all point the right way\n' : `arrows: ${all.length} faults\n`);
  process.exitCode = all.length === 0 ? 0 : 1;
}
