/**
 * The resident connection of a daemon, and the only source of news about the broker (B1). Connections are numbered, so
 * that news of one that was replaced can be told apart (B6).
 */
import { type NatsConnection, UserAuthenticationExpiredError } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { inboxPrefix } from '../../domain/permissions.ts';
import type { Clock } from '../ports.ts';
import { connectOptions, type Dial } from './connect.ts';

export type ResidentNews =
  | { type: 'broker.disconnected'; connection: number; at: number }
  | { type: 'broker.reconnected'; connection: number }
  | { type: 'broker.closed'; connection: number; at: number }
  | { type: 'credential.expired'; connection: number; at: number };

export interface ResidentSetting {
  readonly clock: Clock;
  readonly pingIntervalMs: number;
  readonly maxPingOut: number;
}

/** Where the client stands, in its own events. */
type Phase = 'up' | 'down' | 'closed';

export class Resident {
  readonly number: number;
  readonly connection: NatsConnection;
  readonly inboxPrefix: string;
  readonly #clock: Clock;
  #phase: Phase = 'up';
  #listener: ((news: ResidentNews) => void) | undefined;

  private constructor(of: { number: number; connection: NatsConnection; inboxPrefix: string; clock: Clock }) {
    this.number = of.number;
    this.connection = of.connection;
    this.inboxPrefix = of.inboxPrefix;
    this.#clock = of.clock;
    void this.#follow();
  }

  /** Dials; the connection comes back by itself, for ever, until it is closed. Rejects with the client's error. */
  static async open(dial: Dial, setting: ResidentSetting, number: number): Promise<Resident> {
    const connection = await connect({
      ...connectOptions(dial),
      reconnect: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      reconnectJitter: 100,
      reconnectJitterTLS: 100,
      pingInterval: setting.pingIntervalMs,
      maxPingOut: setting.maxPingOut,
    });
    const prefix = dial.credential === undefined ? '_INBOX' : inboxPrefix(dial.credential.publicKey);
    return new Resident({ number, connection, inboxPrefix: prefix, clock: setting.clock });
  }

  isUp(): boolean {
    return this.#phase === 'up' && !this.connection.isClosed();
  }

  /** Tells everything from now on, and first what the connection has come to meanwhile. */
  hear(listener: (news: ResidentNews) => void): () => void {
    this.#listener = listener;
    if (this.#phase === 'down') this.#tell('broker.disconnected');
    if (this.#phase === 'closed') this.#tell('broker.closed');
    return () => {
      this.#listener = undefined;
    };
  }

  #tell(type: ResidentNews['type']): void {
    this.#listener?.({ type, connection: this.number, at: this.#clock.now().monotonicMs });
  }

  async #follow(): Promise<void> {
    void this.connection.closed().then(() => {
      this.#phase = 'closed';
      this.#tell('broker.closed');
    });
    for await (const status of this.connection.status()) {
      if (status.type === 'disconnect') {
        this.#phase = 'down';
        this.#tell('broker.disconnected');
      } else if (status.type === 'reconnect') {
        this.#phase = 'up';
        this.#tell('broker.reconnected');
      } else if (status.type === 'error' && status.error instanceof UserAuthenticationExpiredError) {
        this.#tell('credential.expired');
      }
    }
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}
