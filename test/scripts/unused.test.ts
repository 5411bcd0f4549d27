/** What the catalogues list and the source never uses is a promise of something that does not happen. */
import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { errorCatalogue } from '../../src/domain/errors/catalogue.ts';
import { logCatalogue } from '../../src/domain/log-events/catalogue.ts';
import { managerNumbers } from '../../src/domain/manager-numbers.ts';
import { numbers } from '../../src/domain/numbers.ts';
import { parseLimits } from '../../src/domain/provider/limits.ts';
import { readLinkNumbers } from '../../src/domain/provider/link-numbers.ts';

const root = fileURLToPath(new URL('../../src', import.meta.url));
const textOf = (files: readonly string[]): string =>
  files.map((file) => readFileSync(`${root}/${file}`, 'utf8')).join('\n');
const catalogues = /^domain\/(errors|log-events)\//;
const definitions = /^domain\/(numbers|manager-numbers|provider\/(limits|link-numbers))\.ts$/;
const files = globSync('**/*.ts', { cwd: root }).filter((file) => !catalogues.test(file));
const source = textOf(files);
/** Where a number is defined, only what is read of it there (`.name`) counts. */
const words = new Set([
  ...(textOf(files.filter((file) => !definitions.test(file))).match(/\w+/g) ?? []),
  ...[...source.matchAll(/\.(\w+)/g)].map(([, name]) => name),
]);
const quoted = new Set([...source.matchAll(/'([\w.-]+)'/g)].map(([, text]) => text));
/** Templates as what they can say: `up.${name}-unbound`. */
const templates = [...source.matchAll(/`([a-z][\w.-]*\$\{\w+\}[\w.-]*)`/g)].map(
  ([, text = '']) => new RegExp(`^${text.replaceAll('.', '\\.').replaceAll(/\$\{\w+\}/g, '[a-z-]+')}$`),
);
const isSaid = (name: string): boolean => quoted.has(name) || templates.some((template) => template.test(name));

it.each([
  ['error', errorCatalogue],
  ['log event', logCatalogue],
])('every %s of the catalogue is raised somewhere', (_, catalogue) => {
  expect(Object.keys(catalogue).filter((name) => !isSaid(name))).toEqual([]);
});

it.each([
  ['delivery daemon', numbers],
  ['manager', managerNumbers],
  ['provider server', parseLimits({})],
  ['provider link', readLinkNumbers({})],
])('every number that the %s can be given is read somewhere', (_, settings) => {
  expect(Object.keys(settings).filter((name) => !words.has(name))).toEqual([]);
});
