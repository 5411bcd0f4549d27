import { globSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { catalogue } from '../../src/machines/catalogue.ts';
import { type Supervised, supervision } from '../../src/machines/supervision.ts';
import { camelOf, unproved } from '../support/paths/proved.ts';

it('every machine file is in the catalogue, with samples and a path test', () => {
  expect(unproved().join('\n')).toBe('');
});

it('a machine without samples or test is named', () => {
  const [lease] = catalogue;
  if (lease === undefined) throw new Error('the catalogue is empty');
  const faults = unproved([...catalogue, { ...lease, name: 'ghost' }]);
  expect(faults).toContain('ghost has no samples');
  expect(faults).toContain('the catalogue lists "ghost", which has no machine file');
});

it('every machine has its place in the tree of actors', () => {
  const names = ({ name, children = [] }: Supervised): string[] => [name, ...children.flatMap(names)];
  const placed = supervision.flatMap(names);
  expect(catalogue.map(({ name }) => camelOf(name)).filter((name) => !placed.includes(name))).toEqual([]);
  expect(placed.filter((name, n) => placed.indexOf(name) !== n)).toEqual([]);
});

it('no source starts an actor from a stored snapshot: timers would not be armed again (PTH-01)', () => {
  const restoring = globSync('src/**/*.ts').filter((file) =>
    /\b(restoreSnapshot|getPersistedSnapshot)\b|createActor\([^;]*\bsnapshot:/.test(readFileSync(file, 'utf8')),
  );
  expect(catalogue.some(({ restorable }) => restorable) ? [] : restoring).toEqual([]);
});
