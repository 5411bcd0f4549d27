/** Parks a node at a named step until it is released. */
import type { StepName, Steps } from '../../../src/provider/registry/ports.ts';

export class Parking implements Steps {
  #wanted: StepName | undefined;
  #held: { readonly step: StepName; readonly release: () => void } | undefined;

  /** The next time that step is met, the node waits there. */
  park(step: StepName): void {
    this.#wanted = step;
  }

  get parked(): StepName | undefined {
    return this.#held?.step;
  }

  release(): void {
    this.#held?.release();
    this.#held = undefined;
  }

  at(step: StepName): Promise<void> | undefined {
    if (step !== this.#wanted) return undefined;
    this.#wanted = undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held = { step, release: resolve };
    return promise;
  }
}
