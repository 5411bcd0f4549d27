/**
 * The agent's connection: it comes back by itself, for ever, until it is closed or the broker has refused the credential
 * for good. Everything of the agent asks the broker through it; while it is down the answer is silence, at once.
 */
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { inboxPrefix } from '../domain/permissions.ts';
import type { Credential } from '../services/credential.ts';
import { connectOptions } from '../services/nats/connect.ts';
import { parseDriverError } from '../services/nats/driver-errors.ts';
import { GatedBroker } from '../services/nats/gated-broker.ts';

export interface LinkOptions {
  readonly url: string;
  /** Absent in open mode. */
  readonly credential?: Credential;
  readonly name: string;
  readonly tls?: { readonly caFile?: string };
  /** Longest that one question may take, milliseconds. */
  readonly timeoutMs: number;
}

export interface LinkListener {
  /** The connection is down; it is dialled again. */
  lost?(): void;
  /** The connection is back, perhaps to another server, and that one answered after it was given the subscriptions. */
  restored?(): void;
  /** It will not come back. */
  closed?(why: string): void;
}

const RECONNECT_WAIT_MS = 250;
const PING_INTERVAL_MS = 5_000;

export class Link {
  readonly connection: NatsConnection;
  readonly broker: GatedBroker;
  readonly #listeners = new Set<LinkListener>();
  #up = true;

  private constructor(connection: NatsConnection, { credential, timeoutMs }: LinkOptions) {
    this.connection = connection;
    this.broker = new GatedBroker({
      connection,
      inboxPrefix: credential === undefined ? '_INBOX' : inboxPrefix(credential.publicKey),
      timeoutMs,
      gate: () =>
        connection.isClosed() ? 'the connection is closed' : this.#up ? undefined : 'the connection is down',
    });
    void this.#follow();
  }

  /** @throws Plane3Error `broker.unreachable` naming the address and why. */
  static async open(options: LinkOptions): Promise<Link> {
    try {
      const connection = await connect({
        ...connectOptions(options),
        reconnect: true,
        maxReconnectAttempts: -1,
        reconnectTimeWait: RECONNECT_WAIT_MS,
        pingInterval: PING_INTERVAL_MS,
      });
      return new Link(connection, options);
    } catch (error) {
      throw unreachable(options.url, error);
    }
  }

  isUp(): boolean {
    return this.#up && !this.connection.isClosed();
  }

  hear(listener: LinkListener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async #follow(): Promise<void> {
    void this.connection.closed().then((error) => {
      const why = error instanceof Error ? error.message : 'the connection was closed';
      for (const listener of this.#listeners) listener.closed?.(why);
    });
    for await (const status of this.connection.status()) {
      if (status.type === 'disconnect') {
        this.#up = false;
        for (const listener of this.#listeners) listener.lost?.();
      }
      if (status.type !== 'reconnect') continue;
      this.#up = true;
      void this.#prove();
    }
  }

  /**
   * Once reconnected, the driver sends every subscription again; a refusal of one comes before the answer to a ping that was
   * sent after it. Where the connection is lost before that answer the ping is rejected, and the next reconnect proves its own.
   */
  async #prove(): Promise<void> {
    try {
      await this.connection.flush();
    } catch {
      return;
    }
    for (const listener of this.#listeners) listener.restored?.();
  }

  /** Resolves when the broker has had everything that was sent, or after the time that a question may take. */
  async flush(): Promise<void> {
    if (!this.isUp()) return;
    const { promise: late, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, this.broker.timeoutMs);
    await Promise.race([this.connection.flush().catch(() => undefined), late]);
    clearTimeout(timer);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    await this.flush();
    await this.connection.close();
  }
}

/** What a connection that did not come about is told as. */
export function unreachable(url: string, error: unknown): Plane3Error<'broker.unreachable'> {
  const failure = parseDriverError(error);
  const reason = failure.kind === 'unexpected' ? failure.message : failure.kind;
  return new Plane3Error('broker.unreachable', { url, reason }, { cause: error });
}
