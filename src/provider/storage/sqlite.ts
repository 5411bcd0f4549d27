/** The storage port over `node:sqlite`, and the migrations. One handle serves the engine and the objects of all nodes. */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import { assertParameters, type Row, type Statement, type Storage, storageError } from './port.ts';

const MIGRATIONS = join(import.meta.dirname, '..', 'migrations');
const KEPT_STATEMENTS = 500;

/** Opens a database file, or `:memory:`, and brings it to the newest migration. */
export function openSqlite(file: string, folder: string = MIGRATIONS): DatabaseSync {
  const database = opened(file);
  migrate(database, folder);
  return database;
}

/** @throws Plane3Error `storage.open` for a file that is not there to be made, or is no database. */
function opened(file: string): DatabaseSync {
  try {
    const database = new DatabaseSync(file, { enableForeignKeyConstraints: true, timeout: 5_000 });
    database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
    return database;
  } catch (error) {
    throw new Plane3Error('storage.open', { file, reason: error instanceof Error ? error.message : String(error) });
  }
}

/** Each migration and its record go in together, in the order of their numbers. */
function migrate(database: DatabaseSync, folder: string): void {
  database.exec('CREATE TABLE IF NOT EXISTS schema_migrations (name TEXT PRIMARY KEY)');
  const done = new Set(
    database
      .prepare('SELECT name FROM schema_migrations')
      .all()
      .map((row) => String(row.name)),
  );
  const known = globSync('*.sql', { cwd: folder })
    .map((path) => basename(path))
    .sort();
  const unknown = [...done].find((name) => !known.includes(name));
  if (unknown !== undefined)
    throw new Plane3Error('storage.migration', { found: unknown, known: known.at(-1) ?? 'none' });
  for (const name of known.filter((each) => !done.has(each)))
    inTransaction(database, () => {
      database.exec(readFileSync(join(folder, name), 'utf8'));
      database.prepare('INSERT INTO schema_migrations (name) VALUES (?)').run(name);
    });
}

function inTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    database.exec('COMMIT');
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

export function sqliteStorage(database: DatabaseSync): Storage {
  const prepared = new Map<string, StatementSync>();
  const statementOf = (text: string): StatementSync => {
    const known = prepared.get(text);
    if (known !== undefined) return known;
    if (prepared.size >= KEPT_STATEMENTS) prepared.clear();
    const statement = database.prepare(text);
    prepared.set(text, statement);
    return statement;
  };
  const run = ({ sql, params }: Statement) => statementOf(sql).all(...params) as readonly Row[];
  const settle = async <T>(statements: readonly Statement[], work: () => T): Promise<T> => {
    assertParameters(statements);
    try {
      return work();
    } catch (error) {
      throw storageError(error);
    }
  };
  return {
    query: (statement) => settle([statement], () => run(statement)),
    batch: (statements) => settle(statements, () => inTransaction(database, () => statements.map(run))),
  };
}
