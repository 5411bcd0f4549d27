/** For whom entries are on their way to the store, and whether more than one call has some. */
interface Addressed {
  readonly key: string;
}

export class Storing {
  readonly #calls = new Map<string, { running: number; crossed: boolean }>();

  begin(entries: readonly Addressed[]): void {
    for (const key of keysOf(entries)) {
      const running = (this.#calls.get(key)?.running ?? 0) + 1;
      this.#calls.set(key, { running, crossed: running > 1 });
    }
  }

  /** Ends a call; answers the members for whom no other one was under way at any time of it. */
  end(entries: readonly Addressed[]): ReadonlySet<string> {
    const alone = new Set<string>();
    for (const key of keysOf(entries)) {
      const { running, crossed } = this.#calls.get(key) ?? { running: 1, crossed: false };
      if (!crossed) alone.add(key);
      if (running > 1) this.#calls.set(key, { running: running - 1, crossed });
      else this.#calls.delete(key);
    }
    return alone;
  }
}

const keysOf = (entries: readonly Addressed[]): Set<string> => new Set(entries.map(({ key }) => key));
