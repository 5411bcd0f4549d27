/** The manager's hands on a workstation: keys, credential, connection and store of one root and space. */
import { randomBytes } from 'node:crypto';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import type { ManagerNumbers } from '../domain/manager-numbers.ts';
import type { Credential } from '../services/credential.ts';
import { type OperatorKeys, operatorKeys, type SpaceKeys, spaceKeys } from '../services/local/auth-store.ts';
import { systemClock } from '../services/local/clock.ts';
import { fsStore } from '../services/local/fs-store.ts';
import { mint } from '../services/local/mint.ts';
import { authenticatorOf, connectOptions, type Dial } from '../services/nats/connect.ts';
import { parseDriverError } from '../services/nats/driver-errors.ts';
import type { Clock, WritableStore } from '../services/ports.ts';
import { type EmbeddedPorts, managerPorts } from './ports.ts';
import { revoker } from './revoker.ts';

export interface WorkstationOptions {
  readonly root: string;
  readonly space: string;
  readonly url: string;
  readonly tls?: { readonly caFile?: string };
  /** Who executes: one of its own for every run, so that whoever finds its freeze can tell that it is gone. */
  readonly principal?: string;
  readonly numbers?: ManagerNumbers;
  readonly clock?: Clock;
  /** Where standing credentials are kept; the files of the root unless told. */
  readonly store?: WritableStore;
}

export interface Workstation {
  readonly ports: EmbeddedPorts;
  readonly connection: NatsConnection;
  readonly keys: { readonly operator: OperatorKeys; readonly space: SpaceKeys };
  readonly store: WritableStore;
  readonly dial: Omit<Dial, 'credential' | 'name'>;
  /** What it is connected with now. */
  credential(): Credential;
  /** Signs its own credential again; the next connect presents it. */
  renewOwn(): Promise<void>;
  close(): Promise<void>;
}

export const executorPrincipal = (): string => `local.manager_${randomBytes(8).toString('hex')}`;

/**
 * @throws Plane3Error `auth.missing` where the root has no keys of this space, `manager.unauthorized` where the broker has
 *   others; the client's error where it cannot connect.
 */
export async function openWorkstation(of: WorkstationOptions): Promise<Workstation> {
  const { root, space, url, tls, principal = executorPrincipal(), numbers, clock = systemClock } = of;
  const keys = {
    operator: await operatorKeys({ root, create: false }),
    space: await spaceKeys({ root, space, create: false }),
  };
  const sign = (pair?: Credential['pair']) =>
    mint(keys, {
      profile: { profile: 'manager', space, principal },
      name: principal,
      ...(pair === undefined ? {} : { pair }),
    });
  let credential = await sign();
  const dial: Workstation['dial'] = {
    url,
    timeoutMs: numbers?.effectTimeoutMs ?? 5_000,
    ...(tls === undefined ? {} : { tls }),
  };
  const connection = await connect({
    ...connectOptions({ ...dial, name: 'manager', credential }),
    authenticator: authenticatorOf(() => credential),
    reconnect: true,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 100,
    reconnectJitterTLS: 100,
  }).catch((error: unknown) => {
    const { kind } = parseDriverError(error);
    if (kind !== 'unauthorized' && kind !== 'expired') throw error;
    throw new Plane3Error('manager.unauthorized', { url, root, space, reason: kind }, { cause: error });
  });
  const ports = managerPorts({
    space,
    principal,
    connection: () => connection,
    dial: () => ({ ...dial, name: 'manager-rail', credential }),
    revoke: revoker({ root, space, operator: keys.operator, dial, nowMs: () => clock.now().wallMs }),
    clock,
    ...(numbers === undefined ? {} : { numbers }),
  });
  return {
    ports,
    connection,
    keys,
    dial,
    store: of.store ?? fsStore({ root, space }),
    credential: () => credential,
    renewOwn: async () => {
      credential = await sign(credential.pair);
    },
    close: async () => {
      await ports.close();
      await connection.close();
    },
  };
}
