/** A storage in front of the real one that fails, hangs, or loses its answer where a test says so. */
import { Plane3Error } from '../../../src/domain/errors/catalogue.ts';
import type { Row, Statement, Storage } from '../../../src/provider/storage/port.ts';

export interface Trouble {
  /** A piece of the text of one of its statements. */
  readonly match: string;
  /** `before` nothing is stored; `after` it is stored and the answer is lost; `hang` it is stored later than anybody waits; `late` it is stored, and answered later than anybody waits. */
  readonly kind: 'before' | 'after' | 'hang' | 'late';
  readonly times: number;
  readonly hangMs?: number;
}

export class TroubledStorage implements Storage {
  readonly #inner: Storage;
  #trouble: Trouble | undefined;

  constructor(inner: Storage) {
    this.#inner = inner;
  }

  plan(trouble: Trouble | undefined): void {
    this.#trouble = trouble;
  }

  query(statement: Statement): Promise<readonly Row[]> {
    return this.#through([statement], () => this.#inner.query(statement));
  }

  batch(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]> {
    return this.#through(statements, () => this.#inner.batch(statements));
  }

  async #through<T>(statements: readonly Statement[], work: () => Promise<T>): Promise<T> {
    const trouble = this.#trouble;
    const isHit = trouble !== undefined && statements.some(({ sql }) => sql.includes(trouble.match));
    if (!isHit) return work();
    this.#trouble = trouble.times > 1 ? { ...trouble, times: trouble.times - 1 } : undefined;
    if (trouble.kind === 'before') throw new Plane3Error('storage.failed', { reason: 'planned by a test' });
    const hung = () => new Promise((resolve) => setTimeout(resolve, trouble.hangMs ?? 1_000));
    if (trouble.kind === 'hang') await hung();
    const result = await work();
    if (trouble.kind === 'late') await hung();
    if (trouble.kind === 'after')
      throw new Plane3Error('storage.failed', { reason: 'planned by a test, after it was stored' });
    return result;
  }
}
