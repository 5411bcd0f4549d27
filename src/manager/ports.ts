/** What the manager's work needs of the world; a manager that is not ours brings its own. */
import type { NatsConnection } from '@nats-io/nats-core';
import { type ManagerNumbers, managerNumbers } from '../domain/manager-numbers.ts';
import { systemClock } from '../services/local/clock.ts';
import type { Dial } from '../services/nats/connect.ts';
import type { Clock } from '../services/ports.ts';
import { ManagerRows, type Trouble } from './auth-rows.ts';
import { RailLine } from './rail-line.ts';

export interface ManagerPorts {
  readonly space: string;
  readonly rows: ManagerRows;
  /** To the delivery daemon. */
  readonly line: RailLine;
  readonly clock: Clock;
  readonly numbers: ManagerNumbers;
  /**
   * Keeps these user keys out from this second on: in the account's JWT, signed by the operator, and taken by the broker. Their
   * credentials of an earlier second are refused from then on. `ends`: when the last credential of a user ends by itself, seconds;
   * after that the revocation may be forgotten. A user that is not in it is revoked for good.
   */
  revoke(of: {
    users: readonly string[];
    ends?: ReadonlyMap<string, number>;
    signal?: AbortSignal;
  }): Promise<{ type: 'revoked' } | Trouble>;
}

export interface ManagerPortsOptions {
  readonly space: string;
  /** `owner.actor` that the manager is connected as: gates name it, and a repair asks whether it is there. */
  readonly principal: string;
  /** The connection of the moment, with a manager's rights: for rows. */
  connection(): NatsConnection;
  /** How the rail is reached, over a connection of its own. */
  dial(): Dial;
  readonly revoke: ManagerPorts['revoke'];
  readonly numbers?: ManagerNumbers;
  readonly clock?: Clock;
}

export type EmbeddedPorts = ManagerPorts & {
  readonly principal: string;
  connection(): NatsConnection;
  close(): Promise<void>;
};

/** Nothing is dialled before something is asked; `close` ends the line to the rail. */
export function managerPorts(of: ManagerPortsOptions): EmbeddedPorts {
  const { space, principal, connection, dial, revoke, numbers = managerNumbers, clock = systemClock } = of;
  const line = new RailLine({ space, principal, dial, clock });
  const rows = new ManagerRows({ space, connection, timeoutMs: numbers.effectTimeoutMs });
  return { space, principal, connection, rows, line, clock, numbers, revoke, close: () => line.close() };
}
