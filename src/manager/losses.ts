/** When a connection is lost, however often it comes back. */
import type { NatsConnection } from '@nats-io/nats-core';

/** Tells whoever listens, each time; one for each connection, for what follows its status follows it to its end. */
export class Losses {
  readonly #listeners = new Set<(why: string) => void>();

  constructor(connection: NatsConnection) {
    void connection.closed().then(() => this.#tell('its connection was closed'));
    void (async () => {
      for await (const status of connection.status()) {
        if (status.type === 'disconnect') this.#tell('its connection was lost');
      }
    })();
  }

  #tell(why: string): void {
    for (const listener of [...this.#listeners]) listener(why);
  }

  /** @returns What ends the listening. */
  hear(listener: (why: string) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
