/** Two programs with one build info write over each other's, and every check of types begins anew: ten times the processor. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

interface Config {
  readonly extends?: string;
  readonly compilerOptions?: { readonly tsBuildInfoFile?: string };
}

/** Where tsc keeps what it knows of this program: a path is meant from the file that says it, also when it is inherited. */
function buildInfoOf(file: string): string | undefined {
  const { extends: base, compilerOptions } = JSON.parse(readFileSync(file, 'utf8')) as Config;
  if (compilerOptions?.tsBuildInfoFile !== undefined) return resolve(dirname(file), compilerOptions.tsBuildInfoFile);
  return base === undefined ? undefined : buildInfoOf(resolve(dirname(file), base));
}

it('every program that is checked for its types keeps what it knows in a file of its own', () => {
  const configs = ['tsconfig.json', ...globSync('{src,test}/**/tsconfig.json', { cwd: root })];
  const places = configs.map((config) => buildInfoOf(resolve(root, config)));
  expect(configs.length).toBeGreaterThan(1);
  expect(configs.filter((_, n) => places[n] === undefined || places.indexOf(places[n]) !== n)).toEqual([]);
});
