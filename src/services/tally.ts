/** Counts of what happened in this process, by name and label. Read by status, metrics and tests; reset by nothing. */
export class Tally {
  readonly #counts = new Map<string, number>();

  add(name: string, label = '', count = 1): void {
    const key = label === '' ? name : `${name}{${label}}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count);
  }

  get(name: string, label = ''): number {
    return this.#counts.get(label === '' ? name : `${name}{${label}}`) ?? 0;
  }

  /** Every count so far, by `name` or `name{label}`. */
  all(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1)));
  }
}
