import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { faults, importsOf } from '../../scripts/arrows.ts';

describe('the arrows of a tree', () => {
  let root: string;
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'plane3-arrows-'));
  });
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  /** The faults of a tree that consists of these files. */
  function faultsOf(files: Readonly<Record<string, string>>): string[] {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(root, name)), { recursive: true });
      writeFileSync(join(root, name), text);
    }
    return faults(root);
  }

  it('are right where machines import the domain, and services their port', () => {
    const found = faultsOf({
      'src/domain/names.ts': "import { z } from 'zod';\nexport const a = z;",
      'src/machines/lease.machine.ts': "import { setup } from 'xstate';\nimport { a } from '../domain/names.ts';",
      'src/services/ports.ts': "import type { a } from '../domain/names.ts';",
      'src/services/nats/lease.ts':
        "import { connect } from '@nats-io/transport-node';\nimport type { P } from '../ports.ts';",
    });
    expect(found).toEqual([]);
  });

  it('are wrong where the domain imports a package, a machine imports Node, a service another one', () => {
    const found = faultsOf({
      'src/domain/names.ts': "import { readFileSync } from 'node:fs';",
      'src/machines/lease.machine.ts': "import 'node:timers';\nimport pino from 'pino';",
      'src/services/nats/lease.ts': "import { b } from '../memory/lease.ts';",
      'src/services/memory/lease.ts': 'export const b = 1;',
    });
    expect(found).toEqual(
      [
        'src/domain/names.ts: must not import package node:fs',
        'src/machines/lease.machine.ts: must not import package node:timers',
        'src/machines/lease.machine.ts: must not import package pino',
        'src/services/nats/lease.ts: must not import src/services/memory/lease.ts',
      ].sort(),
    );
  });

  it('are wrong where the domain looks up to what stands on it', () => {
    const found = faultsOf({
      'src/domain/names.ts': "import { c } from '../services/ports.ts';",
      'src/services/ports.ts': 'export const c = 1;',
    });
    expect(found).toEqual(['src/domain/names.ts: must not import src/services/ports.ts']);
  });

  it('are wrong in a cycle, which is shown', () => {
    const found = faultsOf({
      'src/domain/a.ts': "import { b } from './b.ts';\nexport const a = b;",
      'src/domain/b.ts': "import { c } from './c.ts';\nexport const b = c;",
      'src/domain/c.ts': "import { a } from './a.ts';\nexport const c = a;",
    });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(/^cycle: src\/domain\/(\w)\.ts → .* → src\/domain\/\1\.ts$/);
  });

  it.each(['index', 'utils', 'util', 'helpers'])('are wrong with a file called %s', (name) => {
    expect(faultsOf({ [`src/domain/${name}.ts`]: 'export {};' })).toEqual([
      `src/domain/${name}.ts: barrels and catch-all files are not wanted`,
    ]);
  });

  it('are wrong with a barrel under any other name', () => {
    const found = faultsOf({
      'src/domain/a.ts': 'export const a = 1;',
      'src/domain/b.ts': 'export const b = 1;',
      'src/domain/everything.ts': "export * from './a.ts';\nexport * from './b.ts';\n",
    });
    expect(found).toEqual(['src/domain/everything.ts: barrels and catch-all files are not wanted']);
  });

  it('may hand on what others export where the package is entered', () => {
    const found = faultsOf({
      'src/client/join.ts': 'export const join = 1;',
      'src/client/client.ts': "/** What agents import. */\nexport { join } from './join.ts';",
    });
    expect(found).toEqual([]);
  });

  it('are wrong where a file lies in no known part, and where an import leads nowhere', () => {
    const found = faultsOf({
      'src/misc/a.ts': 'export {};',
      'src/domain/b.ts': "import { gone } from './gone.ts';",
    });
    expect(found).toEqual([
      'src/domain/b.ts: imports ./gone.ts, which is not there',
      'src/misc/a.ts: lies in no known part of the tree',
    ]);
  });

  it('are read from imports of every shape', () => {
    const source = [
      "import a from 'a';",
      "import { b,\n  c } from 'b';",
      "import type { d } from 'd';",
      "export * from 'e';",
      "export { f } from 'f';",
      "import 'g';",
      "const h = await import('h');",
      "// import i from 'i' is a comment",
    ].join('\n');
    expect(importsOf(source)).toEqual(['a', 'b', 'd', 'e', 'f', 'g', 'h']);
  });
});
