/**
 * What the steps of a daemon's start do (D1), and what they leave for the next ones. Each is done or throws the refusal
 * that names what is wrong; until the lease nothing is written on the broker (D2).
 */
import { resolve } from 'node:path';
import { accountOf } from './domain/claims.ts';
import { Plane3Error } from './domain/errors/catalogue.ts';
import { unfitForLease } from './domain/lease.ts';
import type { Numbers } from './domain/numbers.ts';
import { storeName } from './domain/store-proof.ts';
import { bucketStream, buckets } from './domain/subjects.ts';
import { CredentialKeeper } from './services/credential-keeper.ts';
import { readIfThere } from './services/local/files.ts';
import { fsStore } from './services/local/fs-store.ts';
import { findMesh } from './services/local/mesh-registry.ts';
import { workspaceRoot } from './services/local/workspace.ts';
import type { Dial } from './services/nats/connect.ts';
import { connectOnce } from './services/nats/connect.ts';
import { parseDriverError, unresolvedName } from './services/nats/driver-errors.ts';
import { Residence } from './services/nats/residence.ts';
import { readMaxAge } from './services/nats/rows.ts';
import { admit, type SweepSource } from './services/nats/sweep.ts';
import type { Clock, SecretStore } from './services/ports.ts';

export interface StartRequest {
  readonly space: string;
  /** Workspace root; without it the nearest `.cotal` above the working directory. */
  readonly root?: string;
  /** Broker to dial; refused when the machine's registry knows another one for the space. */
  readonly server?: string;
  readonly tls?: { readonly caFile?: string };
  /** File of the delivery credential, in place of the store's own. */
  readonly creds?: string;
  /** Injected: no root is needed and the registry is never asked. */
  readonly store?: SecretStore;
  readonly numbers: Numbers;
  readonly clock: Clock;
}

const LOCAL_DEFAULT = 'nats://127.0.0.1:4222';

export class Start {
  readonly #asked: StartRequest;
  readonly keeper: CredentialKeeper;
  readonly residence: Residence;
  #root: string | undefined;
  #store: SecretStore | undefined;
  #broker: Omit<Dial, 'credential'> | undefined;

  constructor(asked: StartRequest) {
    const { clock, numbers, creds = 'delivery.creds' } = asked;
    this.#asked = asked;
    this.#store = asked.store;
    this.keeper = new CredentialKeeper({ source: { name: creds, read: () => this.store.read('delivery') }, clock });
    this.residence = new Residence({ clock, ...numbers, presenter: this.keeper });
  }

  /** Undefined for a daemon with an injected store. */
  get root(): string | undefined {
    return this.#root;
  }
  get store(): SecretStore {
    return known(this.#store);
  }
  /** How the broker is dialled, with the freshest credential: whoever opens a connection asks for it at every dial (C6). */
  dial(): Dial {
    return { ...this.broker, credential: this.keeper.freshest() };
  }
  /** Where the broker is and how it is spoken to, for whoever brings a credential of its own. */
  get broker(): Omit<Dial, 'credential'> {
    return known(this.#broker);
  }

  async findRoot(): Promise<void> {
    const { root, store, space, creds } = this.#asked;
    if (store === undefined) this.#root = workspaceRoot(root === undefined ? {} : { root });
    const own = store ?? fsStore({ root: known(this.#root), space });
    this.#store = creds === undefined ? own : withCreds(own, creds);
  }

  async readCredential(): Promise<void> {
    await this.keeper.begin();
  }

  async findBroker(): Promise<void> {
    const { space, server, tls, store, numbers } = this.#asked;
    const record = store === undefined ? findMesh({ space }) : undefined;
    if (record !== undefined && server !== undefined && server !== record.url) {
      throw new Plane3Error('start.server', { input: server, space, recorded: record.url });
    }
    const demanded = tls === undefined ? record?.tls : { ...record?.tls, ...tls };
    this.#broker = {
      url: record?.url ?? server ?? LOCAL_DEFAULT,
      name: 'delivery',
      timeoutMs: numbers.dialTimeoutMs,
      ...(demanded === undefined ? {} : { tls: demanded.caFile === undefined ? {} : { caFile: demanded.caFile } }),
    };
  }

  /** One connection for two questions, closed again: can this credential be used there at all, and can the lease be held? */
  async reachBroker(): Promise<void> {
    const { space, numbers } = this.#asked;
    const bucket = bucketStream(buckets(space).delivery);
    const maxAgeMs = await this.#dialled(async (dial) => {
      const connection = await connectOnce(dial);
      const age = await readMaxAge({ connection, stream: bucket, timeoutMs: numbers.dialTimeoutMs });
      await connection.close();
      return age;
    });
    const unfit = maxAgeMs === undefined ? undefined : unfitForLease(maxAgeMs, numbers);
    if (unfit !== undefined)
      throw new Plane3Error('start.layout', { reason: `the lease cannot be held in ${bucket}: ${unfit}` });
  }

  async admitObserver(): Promise<void> {
    await admit(this.sweepSource);
  }

  /** Where every sweep of this daemon reads from, and its admission too; the account is that of the credential in use. */
  get sweepSource(): SweepSource {
    const { name: _, ...dial } = this.broker;
    const account = accountOf(this.keeper.current.claims);
    return { store: this.store, account, dial, nowMs: () => this.#asked.clock.now().wallMs };
  }

  async openEndpoint(): Promise<void> {
    await this.#dialled((dial) => this.residence.open(dial));
  }

  async #dialled<T>(work: (dial: Dial) => Promise<T>): Promise<T> {
    const dial = this.dial();
    try {
      return await work(dial);
    } catch (error) {
      const nameless = unresolvedName(error);
      if (nameless !== undefined) throw new Plane3Error('start.nameless', nameless, { cause: error });
      const failure = parseDriverError(error);
      const reason = failure.kind === 'unexpected' ? failure.message : failure.kind;
      if (failure.kind === 'unauthorized' || failure.kind === 'expired') {
        const path = this.#asked.creds ?? 'delivery.creds';
        throw new Plane3Error('start.unauthorized', { url: dial.url, path, reason }, { cause: error });
      }
      throw new Plane3Error('start.unreachable', { url: dial.url, reason }, { cause: error });
    }
  }

  async close(): Promise<void> {
    await this.residence.close();
  }
}

/** A store whose delivery credential is a file of its own: that is another store, and whoever renews has to know it. */
const withCreds = (store: SecretStore, path: string): SecretStore => ({
  identity: () => ({ kind: 'injected', coordinate: `${storeName(store.identity())} with ${resolve(path)}` }),
  read: async (name) => (name === 'delivery' ? readIfThere(path) : store.read(name)),
});

/** What an earlier step has left; a step out of order is our own mistake. */
function known<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a step of the start was taken out of order');
  return value;
}
