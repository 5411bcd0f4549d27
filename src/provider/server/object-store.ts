/** The nodes' own tables in the in-process server: in the same file, and every one of them named by its node. */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { ObjectStore } from '../registry/ports.ts';
import type { Row } from '../storage/port.ts';

export function sqliteObjectStore(database: DatabaseSync): ObjectStore {
  const prepared = new Map<string, StatementSync>();
  return {
    exec(text, ...params) {
      const statement = prepared.get(text) ?? database.prepare(text);
      prepared.set(text, statement);
      return statement.all(...params) as readonly Row[];
    },
  };
}
