/**
 * The storage port of the provider plane. D1's shape is the contract: statements with at most 100 parameters, an atomic
 * batch, no interactive transaction, rows as plain objects. Lists go in as one JSON parameter (`json_each`); how many rows
 * changed is asked for with RETURNING.
 *
 * Rejects with Plane3Error `storage.conflict` (a unique row exists: expected, nothing of the batch is stored),
 * `storage.parameters` (a slip of ours) or `storage.failed` (a surprise; the outcome may be unknown).
 */
import { Plane3Error } from '../../domain/errors/catalogue.ts';

export type Value = string | number | null;

export interface Statement {
  readonly sql: string;
  readonly params: readonly Value[];
}

export type Row = Readonly<Record<string, Value>>;

export interface Storage {
  /** Runs one statement that reads, and answers with its rows. */
  query(statement: Statement): Promise<readonly Row[]>;
  /** Runs all statements in order in one transaction, and answers with the rows of each. */
  batch(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>;
}

export const MOST_PARAMETERS = 100;

/** A statement: the text with `?` places and their values in order. */
export const sql = (text: string, ...params: readonly Value[]): Statement => ({ sql: text, params });

/** A list as one parameter, for `SELECT value FROM json_each(?)`. */
export const listed = (values: readonly unknown[]): string => JSON.stringify(values);

export function assertParameters(statements: readonly Statement[]): void {
  for (const { params } of statements)
    if (params.length > MOST_PARAMETERS)
      throw new Plane3Error('storage.parameters', { count: params.length, most: MOST_PARAMETERS });
}

/** Reads a driver's error once, at the edge. */
export function storageError(error: unknown): Plane3Error {
  if (error instanceof Plane3Error) return error;
  const reason = error instanceof Error ? error.message : String(error);
  const code = /UNIQUE constraint|PRIMARY KEY constraint/i.test(reason) ? 'storage.conflict' : 'storage.failed';
  return new Plane3Error(code, { reason }, { cause: error });
}

export const isConflict = (error: unknown): boolean =>
  error instanceof Plane3Error && error.code === 'storage.conflict';

/** Reads a column as a number; NULL and what is no number are `undefined`. */
export const numberIn = (row: Row | undefined, column: string): number | undefined => {
  const value = row?.[column];
  return typeof value === 'number' ? value : undefined;
};

/** Reads a column as a text; NULL is `undefined`. */
export const textIn = (row: Row | undefined, column: string): string | undefined => {
  const value = row?.[column];
  return value === null || value === undefined ? undefined : String(value);
};
