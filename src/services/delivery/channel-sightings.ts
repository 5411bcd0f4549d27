/** Who waits until the writer routes by a revision of a channel's row (M8). */

interface Waiting {
  readonly revision: number;
  seen(): void;
}

export class ChannelSightings {
  readonly #revisionOf: (channel: string) => number;
  readonly #waiting = new Map<string, Waiting[]>();

  /** `revisionOf`: the revision that routing goes by now. */
  constructor(revisionOf: (channel: string) => number) {
    this.#revisionOf = revisionOf;
  }

  /** Resolves when routing goes by this revision or a later one; never, when the period ends before. */
  wait(channel: string, revision: number): Promise<void> {
    if (this.#revisionOf(channel) >= revision) return Promise.resolve();
    return new Promise((seen) => {
      this.#waiting.set(channel, [...(this.#waiting.get(channel) ?? []), { revision, seen }]);
    });
  }

  /** The row of a channel was applied. */
  applied(channel: string): void {
    const waiting = this.#waiting.get(channel);
    if (waiting === undefined) return;
    const revision = this.#revisionOf(channel);
    const later = waiting.filter((each) => each.revision > revision);
    if (later.length === 0) this.#waiting.delete(channel);
    else this.#waiting.set(channel, later);
    for (const each of waiting) if (each.revision <= revision) each.seen();
  }

  clear(): void {
    this.#waiting.clear();
  }
}
