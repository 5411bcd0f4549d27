/**
 * A resident connection of a daemon, and the only source of news about the broker (B1). Connections are numbered, so
 * that news of one that was replaced can be told apart (B6). At every reconnect it presents the freshest credential of its
 * key, and never an expired one (C1): then it closes for good, and says why before it does.
 */
import { type Authenticator, type NatsConnection, UserAuthenticationExpiredError } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { inboxPrefix } from '../../domain/permissions.ts';
import type { Credential } from '../credential.ts';
import type { Clock } from '../ports.ts';
import { authenticatorOf, connectOptions, type Dial } from './connect.ts';

export type ResidentNews =
  | { type: 'broker.disconnected'; connection: number; at: number }
  | { type: 'broker.reconnected'; connection: number }
  | { type: 'broker.closed'; connection: number; at: number }
  | { type: 'credential.expired'; connection: number; at: number };

/** Who knows which credential may be presented. */
export interface Presenter {
  /** @throws when that one is expired. */
  freshestOf(publicKey: string): Credential;
  /** The broker has called it expired. */
  expired(credential: Credential): void;
}

export interface ResidentSetting {
  readonly clock: Clock;
  readonly pingIntervalMs: number;
  readonly maxPingOut: number;
  /** Without one the dial's own credential is presented, always. */
  readonly presenter?: Presenter;
}

/** Where the client stands, in its own events. */
type Phase = 'up' | 'down' | 'closed';

export class Resident {
  readonly number: number;
  readonly inboxPrefix: string;
  readonly #clock: Clock;
  readonly #presenter: Presenter | undefined;
  #connection: NatsConnection | undefined;
  #phase: Phase = 'up';
  #presented: Credential | undefined;
  #listener: ((news: ResidentNews) => void) | undefined;
  /** What was told while nobody listened. */
  #untold: ResidentNews[] = [];

  private constructor(dial: Dial, { clock, presenter }: ResidentSetting, number: number) {
    this.number = number;
    this.inboxPrefix = dial.credential === undefined ? '_INBOX' : inboxPrefix(dial.credential.publicKey);
    this.#clock = clock;
    this.#presenter = presenter;
  }

  /** Dials; the connection comes back by itself, for ever, until it is closed. Rejects with the client's error. */
  static async open(dial: Dial, setting: ResidentSetting, number: number): Promise<Resident> {
    const resident = new Resident(dial, setting, number);
    const { credential } = dial;
    resident.#connection = await connect({
      ...connectOptions(dial),
      ...(credential === undefined ? {} : { authenticator: resident.#authenticator(credential) }),
      reconnect: true,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      reconnectJitter: 100,
      reconnectJitterTLS: 100,
      pingInterval: setting.pingIntervalMs,
      maxPingOut: setting.maxPingOut,
    });
    void resident.#follow(resident.#connection);
    return resident;
  }

  get connection(): NatsConnection {
    if (this.#connection === undefined) throw new Error('the connection is not open yet');
    return this.#connection;
  }

  #authenticator(dialled: Credential): Authenticator {
    return authenticatorOf(() => {
      try {
        this.#presented = this.#presenter?.freshestOf(dialled.publicKey) ?? dialled;
        return this.#presented;
      } catch (error) {
        this.#tellExpired();
        throw error;
      }
    });
  }

  isUp(): boolean {
    return this.#phase === 'up' && !this.connection.isClosed();
  }

  /** Tells everything from now on, and first what was told to nobody yet. */
  hear(listener: (news: ResidentNews) => void): () => void {
    this.#listener = listener;
    for (const news of this.#untold.splice(0)) listener(news);
    return () => {
      if (this.#listener === listener) this.#listener = undefined;
    };
  }

  #tell(news: ResidentNews): void {
    if (this.#listener === undefined) this.#untold.push(news);
    else this.#listener(news);
  }

  #tellExpired(): void {
    this.#tell({ type: 'credential.expired', connection: this.number, at: this.#clock.now().monotonicMs });
  }

  #tellLost(type: 'broker.disconnected' | 'broker.closed'): void {
    this.#phase = type === 'broker.closed' ? 'closed' : 'down';
    this.#tell({ type, connection: this.number, at: this.#clock.now().monotonicMs });
  }

  async #follow(connection: NatsConnection): Promise<void> {
    void connection.closed().then(() => this.#tellLost('broker.closed'));
    for await (const status of connection.status()) {
      if (status.type === 'disconnect') {
        this.#tellLost('broker.disconnected');
      } else if (status.type === 'reconnect') {
        this.#phase = 'up';
        this.#tell({ type: 'broker.reconnected', connection: this.number });
      } else if (status.type === 'error' && status.error instanceof UserAuthenticationExpiredError) {
        if (this.#presented !== undefined) this.#presenter?.expired(this.#presented);
        this.#tellExpired();
      }
    }
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}
