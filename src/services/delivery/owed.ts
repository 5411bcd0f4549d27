/**
 * How many entries each member is owed, for the quota. Counted from the store once, then kept by what we store and remove;
 * an error in it moves a member's limit a little and never loses or leaks an entry.
 */
export class OwedCounts {
  #counts = new Map<string, number>();

  restart(counts: ReadonlyMap<string, number>): void {
    this.#counts = new Map(counts);
  }

  of(member: string): number {
    return this.#counts.get(member) ?? 0;
  }

  add(member: string, count: number): void {
    const next = Math.max(0, this.of(member) + count);
    if (next === 0) this.#counts.delete(member);
    else this.#counts.set(member, next);
  }
}
