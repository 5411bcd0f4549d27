/**
 * The identities that a manager keeps from one incarnation to the next, each with a connection of its own that comes back by
 * itself. The row of the ledger is written before the credential leaves; the key is the same for every incarnation.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { NatsConnection } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import { ledgerSchema } from '../domain/auth-rows.ts';
import type { ManagerNumbers } from '../domain/manager-numbers.ts';
import type { Credential } from '../services/credential.ts';
import { spaceKeys } from '../services/local/auth-store.ts';
import {
  KEPT_IDENTITIES,
  type KeptIdentity,
  keptPrincipal,
  type ManagerIdentity,
} from '../services/local/manager-identity.ts';
import { credsPath, keepCreds, mint } from '../services/local/mint.ts';
import { authenticatorOf, connectOptions } from '../services/nats/connect.ts';
import type { Clock } from '../services/ports.ts';
import { type Family, rowKeyOf } from './bind-family.ts';
import { Losses } from './losses.ts';
import type { Workstation } from './workstation.ts';

interface Kept {
  /** What the next connect presents. */
  readonly presents: { credential: Credential };
  readonly connection: NatsConnection;
  readonly losses: Losses;
}

export interface KeptIdentitiesOptions {
  readonly root: string;
  readonly space: string;
  readonly identity: ManagerIdentity;
  readonly family: Family;
  readonly station: Workstation;
  readonly clock: Clock;
  readonly numbers: ManagerNumbers;
}

export class KeptIdentities {
  readonly #of: KeptIdentitiesOptions;
  readonly #open = new Map<KeptIdentity, Kept>();

  constructor(of: KeptIdentitiesOptions) {
    this.#of = of;
  }

  get(name: KeptIdentity): Kept | undefined {
    return this.#open.get(name);
  }

  /** All of them, anew. @throws The reason why one of them has no row or no connection. */
  async open(): Promise<void> {
    await this.close();
    for (const name of KEPT_IDENTITIES) await this.#openOne(name);
  }

  /** Signs every credential again; the next connect presents it. One that fails stays as it is. */
  renew(): void {
    for (const [name, { presents }] of this.#open) {
      void this.#issue(name).then(
        (credential) => {
          presents.credential = credential;
        },
        () => {},
      );
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open.values()].map(({ connection }) => connection.close().catch(() => {})));
    this.#open.clear();
  }

  async #issue(name: KeptIdentity): Promise<Credential> {
    const { root, space, identity, family, station, clock } = this.#of;
    const { rows } = station.ports;
    const pair = identity.pairs[name];
    const { revoked } = await spaceKeys({ root, space, create: false });
    const until = ((revoked[pair.publicKey] ?? 0) + 1) * 1_000;
    // What is signed in the second of a revocation is refused with it.
    if (until > clock.now().wallMs) await pause(until - clock.now().wallMs + 10);
    const principal = keptPrincipal(name);
    const profile = { profile: name === 'serve' ? 'serve' : 'manager', space, principal } as const;
    const credential = await mint(station.keys, { profile, name: principal, pair });
    const key = rowKeyOf(family, credential.publicKey);
    const before = await rows.read({ key, schema: ledgerSchema });
    if (before.type === 'store.unanswered' || before.type === 'store.refused')
      throw new Error(`${key}: ${before.type}`);
    const value = {
      credentialId: credential.publicKey,
      holderPrincipal: principal,
      lifecycleUid: identity.lifecycleUid,
      state: 'active',
      exp: credential.claims.exp ?? null,
      sourceChain: [credential.claims.iss],
    };
    const written = await rows.write({ key, value, expect: before.revision });
    if (written.type !== 'written') throw new Error(`the ledger row ${key} was not written: ${written.type}`);
    keepCreds(credsPath(root, space, `manager.${name}`), credential);
    return credential;
  }

  async #openOne(name: KeptIdentity): Promise<void> {
    const { station, numbers } = this.#of;
    const presents = { credential: await this.#issue(name) };
    const connection = await connect({
      ...connectOptions({ ...station.dial, name: `manager-${name}`, credential: presents.credential }),
      authenticator: authenticatorOf(() => presents.credential),
      maxReconnectAttempts: -1,
      reconnectTimeWait: 250,
      pingInterval: numbers.pingIntervalMs,
      maxPingOut: numbers.maxPingOut,
    });
    this.#open.set(name, { presents, connection, losses: new Losses(connection) });
  }
}
