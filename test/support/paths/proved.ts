import { existsSync, globSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type CatalogueEntry, catalogue } from '../../../src/machines/catalogue.ts';
import type { AnySamples } from './samples.ts';

/** Which machines are proved: what the catalogue lists, the files that exist, and the samples beside them. */

const root = new URL('../../../', import.meta.url);
/** `broker-watch` → `brokerWatch`: files are named in kebab case, machines in either. */
export const camelOf = (file: string): string => file.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());

const samplesFile = (name: string): URL => new URL(`test/paths/samples/${name}.ts`, root);

/** The samples of a machine, from `test/paths/samples/<name>.ts`; undefined when there is no such file. */
export async function samplesFor({ name }: CatalogueEntry): Promise<AnySamples | undefined> {
  const file = samplesFile(name);
  if (!existsSync(file)) return undefined;
  const { samples } = (await import(file.href)) as { samples?: AnySamples };
  if (samples === undefined) throw new Error(`test/paths/samples/${name}.ts exports no \`samples\``);
  return samples;
}

/** What is missing: a machine file that is not in the catalogue, an entry without samples or without its test. */
export function unproved(entries: readonly CatalogueEntry[] = catalogue): string[] {
  const files = globSync('src/machines/*.machine.ts', { cwd: fileURLToPath(root) }).map((file) =>
    camelOf(basename(file, '.machine.ts')),
  );
  const names = entries.map(({ name }) => name);
  const known = names.map(camelOf);
  return [
    ...files.filter((file) => !known.includes(file)).map((file) => `the machine ${file} is not in the catalogue`),
    ...names
      .filter((name) => !files.includes(camelOf(name)))
      .map((name) => `the catalogue lists "${name}", which has no machine file`),
    ...entries
      .filter(({ name, machine }) => machine.id !== name)
      .map(({ name, machine }) => `"${name}" has the id "${machine.id}"`),
    ...names.filter((name) => !existsSync(samplesFile(name))).map((name) => `${name} has no samples`),
    ...names
      .filter((name) => !existsSync(new URL(`test/paths/${name}.test.ts`, root)))
      .map((name) => `${name} has no test: test/paths/${name}.test.ts with \`provesPaths('${name}', samples)\``),
  ];
}
