import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { replay } from '../../../src/inspector/replay.ts';
import { watchProcess } from '../../../src/inspector/watch.ts';
import { TestJournal } from '../../support/delivery/daemon.ts';
import { BODY, compared, histories, recordHistory } from '../../support/delivery/histories.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';

let mesh: Mesh;
beforeEach(async () => {
  mesh = await startMesh();
  process.env.COTAL_HOME = mesh.root;
});
afterEach(() => mesh.dispose());

describe('a recording of a real daemon', () => {
  it.each(Object.keys(histories))(
    'of %s is replayed to the same, and has no body, token or key in it',
    async (name) => {
      const file = await recordHistory({ mesh, name, folder: mesh.root });
      const text = readFileSync(file, 'utf8');
      const { actors, steps, differences, unknown } = replay(file, text);
      expect(differences.filter(({ machine }) => compared.has(machine))).toEqual([]);
      expect(unknown).toEqual([]);
      expect(actors).toBeGreaterThan(8);
      expect(steps).toBeGreaterThan(50);
      expect(text).not.toContain(BODY);
      expect(text).not.toMatch(/\bS[UAO][A-Z2-7]{50,}|eyJ[\w-]{10,}/);
    },
  );

  it('replaces no file, and starts nothing where it cannot be written', () => {
    const name = { root: mesh.root, what: 'delivery', space: mesh.space, journal: new TestJournal() } as const;
    expect(() => watchProcess({ ...name, inspect: 0, record: new URL(import.meta.url).pathname })).toThrow(
      /cannot be written: it is there already/,
    );
    expect(() => watchProcess({ ...name, inspect: 0, record: '/nowhere/at/all.jsonl' })).toThrow(/ENOENT/);
  });
});
