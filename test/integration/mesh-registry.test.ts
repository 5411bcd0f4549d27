import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newPair } from '../../src/services/credential.ts';
import { findMesh, listMeshes, type MeshRecord, recordMesh } from '../../src/services/local/mesh-registry.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'plane3-home-'));
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const record = (more: Partial<MeshRecord> = {}): Omit<MeshRecord, 'version'> => ({
  space: 'main',
  root: '/srv/mesh',
  url: 'nats://127.0.0.1:4222',
  durability: 'strict',
  accountKey: newPair('account').publicKey,
  updatedAt: 1,
  ...more,
});
const pathOf = (name: string) => join(home, 'meshes', name);

describe('the registry of meshes', () => {
  it('gives a record back as it was written, from a file that only its owner reads', () => {
    const written = record({ tls: { caFile: '/srv/ca.pem' } });
    recordMesh({ record: written, home });
    expect(findMesh({ space: 'main', home })).toEqual({ version: 1, ...written });
    expect(readdirSync(join(home, 'meshes'))).toEqual(['space.6d61696e.json']);
    expect(statSync(pathOf('space.6d61696e.json')).mode & 0o777).toBe(0o600);
  });

  it('replaces an older record of the same space and keeps the others', () => {
    recordMesh({ record: record(), home });
    recordMesh({ record: record({ space: 'other' }), home });
    recordMesh({ record: record({ url: 'nats://127.0.0.1:5000' }), home });
    expect(findMesh({ space: 'main', home })?.url).toBe('nats://127.0.0.1:5000');
    expect(listMeshes({ home })).toHaveLength(2);
  });

  it('has nothing to say of a space that it does not know', () => {
    expect(findMesh({ space: 'main', home })).toBeUndefined();
    expect(listMeshes({ home })).toEqual([]);
  });

  it.each([
    ['is not JSON', '{'],
    ['has a URL of another kind', JSON.stringify({ version: 1, ...record({ url: 'http://x' }) })],
    ['has a root that is not absolute', JSON.stringify({ version: 1, ...record({ root: 'here' }) })],
    ['is of another version', JSON.stringify({ ...record(), version: 2 })],
    ["is another space's", JSON.stringify({ version: 1, ...record({ space: 'other' }) })],
  ])('names a record by its path when it %s, and lists the good ones beside it', (_, text) => {
    recordMesh({ record: record({ space: 'good' }), home });
    writeFileSync(pathOf('space.6d61696e.json'), text);
    expect(() => findMesh({ space: 'main', home })).toThrow(pathOf('space.6d61696e.json'));
    const listed = listMeshes({ home });
    expect(listed.map(({ kind }) => kind).sort()).toEqual(['corrupt', 'mesh']);
    expect(JSON.stringify(listed)).toContain('space.6d61696e.json');
  });
});
