/**
 * The broker of a run: one nats-server, or three that keep one store together. Each server has a folder of its own, keeps
 * its port over restarts, and reaches the others through a proxy for each direction, so that it can be cut off.
 */
import { type ChildProcess, execFileSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { OperatorKeys, SpaceKeys } from '../services/local/auth-store.ts';
import { type BrokerOutcome, startBroker, stopBroker } from '../services/local/broker.ts';
import { type BrokerCluster, brokerFolder, type Durability } from '../services/local/broker-config.ts';
import type { NatsServer } from '../services/local/nats-binary.ts';
import { TcpProxy } from './proxy.ts';

export interface BrokersOptions {
  readonly folder: string;
  readonly servers: number;
  readonly durability: Durability;
  readonly binary: NatsServer;
  readonly auth: { readonly operator: OperatorKeys; readonly spaces: readonly SpaceKeys[] };
  /** Clients are told of all servers; else each stays with the one it was sent to. */
  readonly clientsMove?: boolean;
  /** Size of a disk of its own for each server, MiB; undefined: it lies where the folder lies. */
  readonly diskMiB?: number;
  dial(url: string): Promise<{ close(): Promise<void> }>;
}

/** A server that has just been started has up to this long to answer. */
const PATIENCE_MS = 60_000;
/** One that could not start is started again after this long. */
const AGAIN_MS = 200;

export class BrokerServer {
  readonly name: string;
  readonly root: string;
  readonly #options: BrokersOptions;
  readonly #cluster: (() => BrokerCluster) | undefined;
  #child: ChildProcess | undefined;
  #url = '';
  #port = 0;
  #starting: Promise<void> | undefined;
  #mounted = false;

  constructor(options: BrokersOptions, name: string, cluster?: () => BrokerCluster) {
    this.name = name;
    this.#options = options;
    this.#cluster = cluster;
    this.root = join(options.folder, name);
    if (options.diskMiB !== undefined) this.#mount(options.diskMiB);
  }

  get url(): string {
    return this.#url;
  }
  get isUp(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }
  get pid(): number {
    return this.#child?.pid ?? 0;
  }
  get hasDisk(): boolean {
    return this.#mounted;
  }

  /** A disk that can be filled without filling anybody else's; where the system does not allow that there is none. */
  #mount(sizeMiB: number): void {
    const store = this.#store();
    mkdirSync(store, { recursive: true });
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${sizeMiB}m`, 'tmpfs', store], { stdio: 'ignore' });
      this.#mounted = true;
    } catch {
      this.#mounted = false;
    }
  }
  #filler(): string {
    return join(this.#store(), 'filler');
  }
  #store(): string {
    return join(brokerFolder(this.root), 'store');
  }

  /** Starts it, unless it is up: faults overlap, and two of them may bring one server back. */
  start(): Promise<void> {
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(): Promise<void> {
    if (this.isUp) return;
    let outcome = await this.#startOn(this.#port === 0 ? await freePort() : this.#port);
    // A port that is free may be another run's by the time that the server takes it; a server that had one keeps it.
    while (outcome.kind === 'port-in-use' && this.#port === 0) outcome = await this.#startOn(await freePort());
    // On a full disk it does not start; whoever keeps it up tries again until there is room.
    for (let wasFull = true; outcome.kind === 'exited' && wasFull; ) {
      await pause(AGAIN_MS);
      wasFull = existsSync(this.#filler());
      outcome = await this.#startOn(this.#port);
    }
    if (outcome.kind !== 'started') throw new Error(`${this.name} did not start: ${JSON.stringify(outcome)}`);
    this.#port = Number(new URL(outcome.url).port);
    this.#child = outcome.child;
    // It ends with the run, not after it.
    this.#child.ref();
    this.#url = outcome.url;
  }

  #startOn(port: number): Promise<BrokerOutcome> {
    const { durability, binary, auth, dial } = this.#options;
    return startBroker({
      root: this.root,
      port,
      durability,
      binary,
      auth,
      log: join(this.root, 'broker.log'),
      dial,
      timeoutMs: PATIENCE_MS,
      ...(this.#cluster === undefined ? {} : { cluster: this.#cluster() }),
    });
  }

  async stop(): Promise<void> {
    await this.#starting;
    if (this.#child !== undefined) await stopBroker(this.#child);
  }

  async kill(): Promise<void> {
    await this.#starting;
    if (!this.isUp || this.#child === undefined) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }

  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.isUp) this.#child?.kill(signal);
  }

  /** Takes every free byte of its disk; `release` gives them back. */
  fill(): void {
    const block = Buffer.alloc(1 << 20);
    const path = this.#filler();
    try {
      for (;;) writeFileSync(path, block, { flag: 'a' });
    } catch {
      // Full: what was wanted.
    }
  }
  release(): void {
    rmSync(this.#filler(), { force: true });
  }

  async dispose(): Promise<void> {
    this.signal('SIGCONT');
    await this.kill();
    if (this.#mounted) execFileSync('umount', ['-l', this.#store()], { stdio: 'ignore' });
  }
}

export class Brokers {
  readonly servers: readonly BrokerServer[];
  /** Proxies between the servers, by `from to`. */
  readonly #ways: ReadonlyMap<string, TcpProxy>;
  #last = 0;

  private constructor(servers: readonly BrokerServer[], ways: ReadonlyMap<string, TcpProxy>) {
    this.servers = servers;
    this.#ways = ways;
  }

  static async start(options: BrokersOptions): Promise<Brokers> {
    if (options.servers === 1) {
      const alone = new BrokerServer(options, 'broker');
      const brokers = new Brokers([alone], new Map());
      try {
        await alone.start();
      } catch (error) {
        await brokers.dispose();
        throw error;
      }
      return brokers;
    }
    const names = Array.from({ length: options.servers }, (_, n) => `broker.${n + 1}`);
    const ports = new Map<string, number>();
    for (const name of names) ports.set(name, await freePort());
    const ways = new Map<string, TcpProxy>();
    for (const from of names) {
      for (const to of names.filter((name) => name !== from)) {
        ways.set(`${from} ${to}`, await TcpProxy.to(`nats://127.0.0.1:${ports.get(to)}`));
      }
    }
    const servers = names.map(
      (name) =>
        new BrokerServer(options, name, () => ({
          serverName: name.replace('.', '-'),
          clusterName: 'plane3',
          port: ports.get(name) ?? 0,
          routes: names.filter((to) => to !== name).map((to) => ways.get(`${name} ${to}`)?.url ?? ''),
          // Nobody reaches a server but through its proxies.
          advertise: '127.0.0.1:1',
          ...(options.clientsMove === true ? { clientsMove: true } : {}),
        })),
    );
    const brokers = new Brokers(servers, ways);
    try {
      await Promise.all(servers.map((server) => server.start()));
    } catch (error) {
      await brokers.dispose();
      throw error;
    }
    return brokers;
  }

  find(name: string): BrokerServer {
    const server = this.servers.find((each) => each.name === name);
    if (server === undefined) throw new Error(`there is no server "${name}"`);
    return server;
  }

  /** A server that runs, another one at each call. */
  url(): string {
    for (let i = 0; i < this.servers.length; i++) {
      const server = this.servers[this.#last++ % this.servers.length];
      if (server?.isUp === true) return server.url;
    }
    return this.servers[0]?.url ?? '';
  }

  /** Cuts a server off from the others, or lets it back. */
  partition(name: string, cut: boolean): void {
    for (const [way, proxy] of this.#ways) {
      if (!way.split(' ').includes(name)) continue;
      proxy.refuse(cut);
      if (cut) proxy.cut();
    }
  }

  async dispose(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.dispose()));
    await Promise.all([...this.#ways.values()].map((proxy) => proxy.close()));
  }
}

/**
 * A port that nobody listens on now, below those that the system gives to connections: a server that is down for a moment
 * gets it again.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(10_000, 30_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => resolve(true));
    });
    if (!isFree) continue;
    await new Promise((resolve) => server.close(resolve));
    return port;
  }
}
