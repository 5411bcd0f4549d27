/** A SQLite file as the repair sees it: opened for reading alone where nothing is to be changed, and never migrated. */
import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import { sqliteStorage } from '../storage/sqlite.ts';
import type { RepairDatabase } from './ports.ts';

/** @throws Plane3Error `storage.open` for a file that is not there, or is no database of the plane. */
export function sqliteRepairDatabase(file: string): RepairDatabase {
  if (!existsSync(file)) throw new Plane3Error('storage.open', { file, reason: 'there is no such file' });
  const over = async <T>(readOnly: boolean, work: (database: DatabaseSync) => Promise<T>): Promise<T> => {
    const database = new DatabaseSync(file, { readOnly, timeout: 5_000 });
    try {
      return await work(database);
    } finally {
      database.close();
    }
  };
  return {
    read: (statements) =>
      over(true, async (database) => {
        const storage = sqliteStorage(database);
        return Promise.all(statements.map((statement) => storage.query(statement)));
      }),
    change: (statements) => over(false, (database) => sqliteStorage(database).batch(statements)),
  };
}
