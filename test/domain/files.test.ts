import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { writeAtomic } from '../../src/services/local/files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plane3-files-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

it.each([
  ['below a file', ['file', 'x'], 'EEXIST'],
  ['whose name is too long for its fresh one', ['n'.repeat(250)], 'ENAMETOOLONG'],
  ['that is a folder', ['folder'], 'EISDIR'],
] as const)(
  'a file %s is not written, and it is told why, also where there is no fresh one to take away',
  (_, parts, reason) => {
    writeFileSync(join(folder, 'file'), 'kept');
    writeAtomic(join(folder, 'folder', 'y'), 'kept');
    const path = join(folder, ...parts);
    expect(() => writeAtomic(path, 'text')).toThrow(
      expect.objectContaining({ code: 'file.unwritable', facts: { path, reason } }),
    );
    expect(readFileSync(join(folder, 'file'), 'utf8')).toBe('kept');
    expect(readdirSync(folder).sort()).toEqual(['file', 'folder']);
  },
);
