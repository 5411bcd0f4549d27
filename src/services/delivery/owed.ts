/**
 * How many entries each member is owed, for the quota and for the choice of how to remove. Counted from the store once, then
 * kept by what we store and remove; an error in it moves a limit a little and never loses or leaks an entry.
 */
export class OwedCounts {
  #counts = new Map<string, number>();
  #total = 0;

  /** Entries of all members together. */
  get total(): number {
    return this.#total;
  }

  restart(counts: ReadonlyMap<string, number>): void {
    this.#counts = new Map(counts);
    this.#total = [...counts.values()].reduce((sum, count) => sum + count, 0);
  }

  of(member: string): number {
    return this.#counts.get(member) ?? 0;
  }

  add(member: string, count: number): void {
    const next = Math.max(0, this.of(member) + count);
    this.#total += next - this.of(member);
    if (next === 0) this.#counts.delete(member);
    else this.#counts.set(member, next);
  }
}
