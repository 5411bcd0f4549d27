/** The storage port over D1. */
import { assertParameters, type Row, type Statement, type Storage, storageError } from '../provider/storage/port.ts';

export function d1Storage(database: D1Database): Storage {
  const prepare = ({ sql, params }: Statement) => database.prepare(sql).bind(...params);
  const settle = async <T>(statements: readonly Statement[], work: () => Promise<T>): Promise<T> => {
    assertParameters(statements);
    try {
      return await work();
    } catch (error) {
      throw storageError(error);
    }
  };
  return {
    query: (statement) => settle([statement], async () => (await prepare(statement).all<Row>()).results),
    batch: (statements) =>
      settle(statements, async () =>
        (await database.batch<Row>(statements.map(prepare))).map((result) => result.results),
      ),
  };
}
