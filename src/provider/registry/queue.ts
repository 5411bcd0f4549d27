/**
 * The one explicit queue of a node (rule 2): frames, close events, alarm and sends run one after the other, since the
 * platform lets handlers interleave at every await. A job that can be merged with the last waiting one of its kind is.
 */
export class NodeQueue {
  readonly #waiting: Job[] = [];
  #running: Promise<void> | undefined;

  /** Resolves when the job has ended; a job's own failure is its caller's. */
  push<T>(work: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#add({ kind: undefined, run: () => work().then(resolve, reject) });
    });
  }

  /**
   * Adds a value to the last waiting job of that kind, or a new job for it. Only who made the job waits for it: a thousand
   * that join it would keep a thousand events of the platform open.
   */
  merge<T>(kind: string, value: T, work: (values: readonly T[]) => Promise<void>): Promise<void> {
    const last = this.#waiting.at(-1) as MergedJob<T> | undefined;
    if (last?.kind === kind) {
      last.values.push(value);
      return Promise.resolve();
    }
    const values = [value];
    return new Promise<void>((resolve, reject) => {
      const job: MergedJob<T> = { kind, values, run: () => work(values).then(resolve, reject) };
      this.#add(job);
    });
  }

  /** Resolves when nothing waits and nothing runs. */
  async idle(): Promise<void> {
    while (this.#running !== undefined) await this.#running;
  }

  #add(job: Job): void {
    this.#waiting.push(job);
    this.#running ??= this.#drain();
  }

  async #drain(): Promise<void> {
    // The first job starts in a turn of its own: whoever pushed it ends its synchronous part first.
    await undefined;
    for (let job = this.#waiting.shift(); job !== undefined; job = this.#waiting.shift()) await job.run();
    this.#running = undefined;
  }
}

interface Job {
  readonly kind: string | undefined;
  run(): Promise<void>;
}

interface MergedJob<T> extends Job {
  readonly values: T[];
}
