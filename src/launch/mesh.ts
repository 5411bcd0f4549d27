/**
 * The mesh that `up` brings about, step by step: settings, broker, store, credentials, the machine's registry. Each step is
 * done or throws the refusal that names what is wrong; what is there is never changed silently.
 *
 * Longer than 300 lines: the steps share what the one before them found, and are read from above to below.
 */
import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { NatsConnection } from '@nats-io/nats-core';
import { describeDifference } from '../domain/differences.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import {
  type AskedSettings,
  FREE_PORT,
  type MeshSettings,
  planSettings,
  reachableHost,
  settingsSchema,
} from '../domain/mesh-settings.ts';
import type { Numbers } from '../domain/numbers.ts';
import type { RecordedIdentity } from '../domain/process-record.ts';
import type { StartFact } from '../machines/launcher.facts.ts';
import type { Credential } from '../services/credential.ts';
import { type OperatorKeys, operatorKeys, type SpaceKeys, spaceKeys, spacesOf } from '../services/local/auth-store.ts';
import { brokerLog, startBroker } from '../services/local/broker.ts';
import { type BrokerTls, brokerFolder } from '../services/local/broker-config.ts';
import { authorityPath, keepCertificates } from '../services/local/certificates.ts';
import { readJsonFile, writeAtomic } from '../services/local/files.ts';
import { findMesh, recordMesh } from '../services/local/mesh-registry.ts';
import { mint } from '../services/local/mint.ts';
import { findNatsServer } from '../services/local/nats-binary.ts';
import { clearStopped, recordOther } from '../services/local/process-record.ts';
import { startOf } from '../services/local/processes.ts';
import { pushAccount } from '../services/nats/claims.ts';
import { connectOnce } from '../services/nats/connect.ts';
import { parseDriverError, wordsOfFailure } from '../services/nats/driver-errors.ts';
import { provision } from '../services/nats/provision.ts';
import { askStoreHealth, type StoreHealth } from '../services/nats/store-health.ts';
import type { Journal } from '../services/ports.ts';
import { brokerOfRoot, urlOfBroker } from './broker-of-root.ts';
import { keepCredentials } from './credentials.ts';
import { wordsOfStopped } from './store-facts.ts';

export interface MeshOptions {
  readonly root: string;
  readonly asked: AskedSettings;
  readonly numbers: Numbers;
  readonly journal: Journal;
  /** One short line for each step that takes time. */
  readonly progress: (line: string) => void;
}

export interface MeshKeys {
  readonly operator: OperatorKeys;
  readonly space: SpaceKeys;
}

const settingsPath = (root: string): string => join(brokerFolder(root), 'mesh.json');
export const readSettings = (root: string): MeshSettings | undefined =>
  readJsonFile(settingsPath(root), settingsSchema);

export class Mesh {
  readonly #options: MeshOptions;
  #settings: MeshSettings | undefined;
  #keys: MeshKeys | undefined;
  #running: RecordedIdentity | undefined;
  #url = '';
  #process: ChildProcess | undefined;

  constructor(options: MeshOptions) {
    this.#options = options;
  }

  get settings(): MeshSettings {
    if (this.#settings === undefined) throw new Error('a step of up was taken out of order');
    return this.#settings;
  }
  /** Undefined in open mode. */
  get keys(): MeshKeys | undefined {
    return this.#keys;
  }
  /** Undefined when it was adopted. */
  get brokerProcess(): ChildProcess | undefined {
    return this.#process;
  }
  get url(): string {
    return this.#url;
  }
  get #space(): string {
    return this.#options.asked.space;
  }
  get #tls(): { caFile: string } | undefined {
    return this.settings.tls ? { caFile: authorityPath(this.#options.root) } : undefined;
  }

  /** Options, what is kept, what runs: one set of settings, or the refusal that names the two that differ. */
  async plan(): Promise<void> {
    const { root, asked } = this.#options;
    const kept = readSettings(root);
    this.#running = brokerOfRoot(root);
    const planned = planSettings(asked, kept, this.#running !== undefined);
    if (planned.kind === 'mode') {
      throw new Plane3Error('up.mode', { root, have: planned.have, wanted: planned.wanted });
    }
    if (planned.kind === 'otherwise') {
      const { setting, have, wanted } = planned;
      throw new Plane3Error('up.running-otherwise', { setting, have, wanted });
    }
    this.#settings = planned.settings;
    // From here on a mark is news of somebody who wants it stopped.
    for (const what of ['delivery', 'manager', 'broker'] as const) clearStopped({ root, what, space: this.#space });
    if (planned.settings.mode === 'open') {
      if (planned.settings.tls) throw new Plane3Error('up.open-tls', {});
      return;
    }
    const operator = await operatorKeys({ root, create: true });
    this.#keys = { operator, space: await spaceKeys({ root, space: this.#space, create: true }) };
  }

  /** The broker that runs, once it has answered; a space that it does not know yet is made known to it. */
  async findBroker(): Promise<{ pid: number } | undefined> {
    const running = this.#running;
    if (running === undefined) return undefined;
    const { root, journal } = this.#options;
    const log = brokerLog(root, this.#space);
    const url = urlOfBroker(root, running.pid);
    if (url === undefined) throw new Plane3Error('up.broker-silent', { why: 'it has not said which port it has', log });
    this.#url = this.#reachable(url);
    try {
      await this.#answered();
    } catch (error) {
      if (parseDriverError(error).kind !== 'unauthorized') {
        throw new Plane3Error('up.broker-silent', { why: wordsOf(error), log }, { cause: error });
      }
      await this.#introduce();
      await this.#answered();
    }
    await this.#takesWrites(running.pid);
    recordOther({ root, what: 'broker', space: this.#space }, running);
    journal.tell('up.adopted', { what: 'nats-server', pid: running.pid });
    return { pid: running.pid };
  }

  async startBroker(signal: AbortSignal): Promise<StartFact> {
    const { root, progress } = this.#options;
    progress('looking for a nats-server');
    const binary = await findNatsServer({ progress });
    const { host, port, durability, tls } = this.settings;
    const files: BrokerTls | undefined = tls ? await keepCertificates({ root, host }) : undefined;
    const log = brokerLog(root, this.#space);
    const auth = this.#keys === undefined ? {} : { auth: await this.#accounts(this.#keys) };
    if (signal.aborted) throw new Error('asked to stop');
    progress(`starting nats-server ${binary.version}`);
    const outcome = await startBroker({
      root,
      host,
      port: port === FREE_PORT ? -1 : port,
      durability,
      binary,
      log,
      ...auth,
      ...(files === undefined ? {} : { tls: files }),
      dial: async (url) => this.#dial(this.#reachable(url), await this.#provisioner()),
      onSpawn: (pid) => recordOther({ root, what: 'broker', space: this.#space }, { pid, start: startOf(pid) }),
      signal,
    });
    switch (outcome.kind) {
      case 'started': {
        this.#url = this.#reachable(outcome.url);
        this.#process = outcome.child;
        this.#settings = { ...this.settings, port: Number(new URL(outcome.url).port) };
        return { type: 'broker.started', pid: outcome.pid };
      }
      case 'port-in-use': {
        this.#running = brokerOfRoot(root);
        const running = await this.findBroker();
        if (running !== undefined) return { type: 'broker.running', ...running };
        throw new Plane3Error('up.port-in-use', { port, host });
      }
      case 'too-old':
        throw new Plane3Error('up.broker-too-old', { version: outcome.version, need: outcome.need });
      case 'exited': {
        const cause = outcome.signal ?? `exit code ${outcome.code ?? 'unknown'}`;
        throw new Plane3Error('up.broker-exited', { cause, lines: outcome.lastLines.join(' | '), log });
      }
      case 'silent':
        throw new Plane3Error('up.broker-silent', { why: outcome.why, log });
    }
  }

  /** The store of the space; a difference is named and nothing is changed. Settings are kept once they are true. */
  async provision(): Promise<void> {
    const { root, numbers, progress } = this.#options;
    if (this.#keys !== undefined) {
      progress(`provisioning space ${this.#space}`);
      const connection = await this.#dial(this.#url, await this.#provisioner());
      try {
        const outcome = await provision({
          connection,
          space: this.#space,
          ...this.settings.spaces[this.#space],
          leaseTtlMs: numbers.leaseTtlMs,
        });
        if (outcome.kind === 'differs') {
          const differences = outcome.differences.map(describeDifference).join('; ');
          throw new Plane3Error('up.differs', { space: this.#space, differences });
        }
        if (outcome.kind === 'failed') {
          throw new Plane3Error('up.provision', { what: outcome.what, reason: wordsOfFailure(outcome.failure) });
        }
      } finally {
        await connection.close();
      }
    }
    writeAtomic(settingsPath(root), `${JSON.stringify(this.settings, undefined, 2)}\n`);
  }

  /** Delivery, observer, evictor. Asked again before every start of a daemon. */
  async prepareCredentials(): Promise<void> {
    const { root, journal } = this.#options;
    if (this.#keys !== undefined) await keepCredentials({ root, keys: this.#keys, journal });
  }

  /** Where the machine finds this mesh. */
  async record(): Promise<void> {
    const { root, journal } = this.#options;
    const space = this.#space;
    const before = findMesh({ space });
    if (before !== undefined && before.root !== root) {
      journal.tell('up.record-replaced', { space, recorded: before.root, root });
    }
    recordMesh({
      record: {
        space,
        root,
        url: this.#url,
        durability: this.settings.durability,
        updatedAt: Date.now(),
        ...(this.#tls === undefined ? {} : { tls: this.#tls }),
        ...(this.#keys === undefined ? {} : { accountKey: this.#keys.space.account.publicKey }),
      },
    });
  }

  /** A connection with a credential of this command's own. */
  async connectAs(profile: 'manager', principal: string): Promise<{ connection: NatsConnection; publicKey: string }> {
    const keys = this.#keys;
    if (keys === undefined) throw new Error('an open mesh has no credentials');
    const credential = await mint(keys, {
      profile: { profile, space: this.#space, principal },
      name: principal,
      lifeS: COMMAND_LIFE_S,
    });
    return { connection: await this.#dial(this.#url, credential), publicKey: credential.publicKey };
  }

  async #answered(): Promise<void> {
    const connection = await this.#dial(this.#url, await this.#provisioner());
    await connection.close();
  }

  /** Which streams of the space the broker has stopped. */
  async #storeHealth(keys: MeshKeys): Promise<StoreHealth> {
    const credential = await mint(keys, { profile: { profile: 'health' }, name: 'local.health' });
    const connection = await this.#dial(this.#url, credential);
    try {
      const account = keys.space.account.publicKey;
      return await askStoreHealth({ connection, account, timeoutMs: this.#options.numbers.effectTimeoutMs });
    } finally {
      await connection.close();
    }
  }

  /** One that was adopted is not ours to start again. What it does not tell refuses nothing: the children are seen to serve. */
  async #takesWrites(pid: number): Promise<void> {
    if (this.#keys === undefined) return;
    const health = await this.#storeHealth(this.#keys);
    if (health.kind === 'unknown' || health.stopped.length === 0) return;
    throw new Plane3Error('up.store-stopped', { pid, stopped: wordsOfStopped(health.stopped) });
  }

  /** Gives a broker that runs the account of a space which it was not started with. */
  async #introduce(): Promise<void> {
    const keys = this.#keys;
    if (keys === undefined) return;
    const claims = await mint(keys, { profile: { profile: 'claims' }, name: 'local.claims' });
    const connection = await this.#dial(this.#url, claims);
    try {
      const outcome = await pushAccount({ connection, accountJwt: keys.space.accountJwt });
      if (outcome.kind === 'accepted') return;
      throw new Plane3Error('up.provision', { what: `space ${this.#space}`, reason: wordsOfFailure(outcome) });
    } finally {
      await connection.close();
    }
  }

  async #accounts({ operator }: MeshKeys): Promise<{ operator: OperatorKeys; spaces: SpaceKeys[] }> {
    const { root } = this.#options;
    const spaces = spacesOf(root).map((space) => spaceKeys({ root, space, create: false }));
    return { operator, spaces: await Promise.all(spaces) };
  }

  async #provisioner(): Promise<Credential | undefined> {
    const keys = this.#keys;
    if (keys === undefined) return undefined;
    return mint(keys, { profile: { profile: 'provisioner', space: this.#space }, name: 'local.up' });
  }

  #dial(url: string, credential: Credential | undefined): Promise<NatsConnection> {
    return connectOnce({
      url,
      name: 'up',
      timeoutMs: this.#options.numbers.effectTimeoutMs,
      ...(credential === undefined ? {} : { credential }),
      ...(this.#tls === undefined ? {} : { tls: this.#tls }),
    });
  }

  /** The address of the ports file, as it is reached from this machine. */
  #reachable(url: string): string {
    return `nats://${reachableHost(this.settings.host)}:${new URL(url).port}`;
  }
}

const COMMAND_LIFE_S = 600;

function wordsOf(error: unknown): string {
  const failure = parseDriverError(error);
  return failure.kind === 'unexpected' ? failure.message : failure.kind;
}
