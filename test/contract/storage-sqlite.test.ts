import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { openSqlite, sqliteStorage } from '../../src/provider/storage/sqlite.ts';
import { storageContract } from './storage.ts';

storageContract('node:sqlite', async () => sqliteStorage(openSqlite(':memory:')));

describe('migrations', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plane3-migrations-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('are applied once, and a file from a newer program is refused by the name of its migration', () => {
    const file = join(folder, 'a.db');
    openSqlite(file).close();
    const again = openSqlite(file);
    again.prepare('INSERT INTO schema_migrations (name) VALUES (?)').run('9999_future.sql');
    again.close();
    expect(() => openSqlite(file)).toThrow('migration 9999_future.sql');
  });

  it('leave nothing behind when one of them fails half way', () => {
    const broken = join(folder, 'broken');
    mkdirSync(broken);
    writeFileSync(join(broken, '0001_broken.sql'), 'CREATE TABLE a (x); CREATE TABLE a (x);');
    const file = join(folder, 'b.db');
    expect(() => openSqlite(file, broken)).toThrow('already exists');
    writeFileSync(join(broken, '0001_broken.sql'), 'CREATE TABLE a (x);');
    openSqlite(file, broken).close();
  });
});
