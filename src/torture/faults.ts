/**
 * The faults of a run, in words: each is begun, lasts, and is undone. Two that would undo each other (the same target, the
 * same thing of it) do not run at once: the later one is left out.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type { TortureAgent } from './agents.ts';
import type { Brokers } from './brokers.ts';
import type { Daemon } from './daemons.ts';
import type { HistoryFile } from './history-file.ts';
import type { TcpProxy } from './proxy.ts';
import type { FaultStep } from './schedule.ts';

interface Party {
  readonly name: string;
  readonly proxy: TcpProxy;
  signal(signal: NodeJS.Signals): void;
  kill(): Promise<void>;
  start(): Promise<void> | void;
}

export interface FaultsOptions {
  readonly file: HistoryFile;
  readonly brokers: Brokers;
  readonly daemons: readonly Daemon[];
  readonly agents: ReadonlyMap<string, TortureAgent>;
  /** Incarnation that holds the lease, as far as it is known. */
  readonly holder: () => string;
}

/** Which part of its target a fault takes hold of. */
const PART: Readonly<Record<FaultStep['do'], 'process' | 'line' | 'disk'>> = {
  kill: 'process',
  stop: 'process',
  restart: 'process',
  freeze: 'process',
  expire: 'process',
  deny: 'process',
  skew: 'process',
  cut: 'line',
  slow: 'line',
  'half-open': 'line',
  partition: 'line',
  fill: 'disk',
};

export class Faults {
  readonly #of: FaultsOptions;
  readonly #held = new Set<string>();
  readonly #running = new Set<Promise<void>>();
  #no = 0;

  constructor(of: FaultsOptions) {
    this.#of = of;
  }

  begin(step: FaultStep): void {
    const target = this.#named(step.target);
    const hold = `${target} ${PART[step.do]}`;
    if (this.#held.has(hold)) return;
    this.#held.add(hold);
    const no = ++this.#no;
    const { file } = this.#of;
    file.write({ kind: 'fault', at: Date.now(), no, verb: step.do, target });
    const work = this.#live(step, target).finally(() => {
      file.write({ kind: 'fault-over', at: Date.now(), no });
      this.#held.delete(hold);
      this.#running.delete(work);
    });
    this.#running.add(work);
  }

  /** Resolves when every fault that was begun is undone. */
  async over(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  /** `serving` and `standby` are whoever that is now. */
  #named(target: string): string {
    const { daemons, holder } = this.#of;
    if (target !== 'serving' && target !== 'standby') return target;
    const serving = daemons.find(({ incarnation }) => incarnation === holder()) ?? daemons[0];
    const other = daemons.find((daemon) => daemon !== serving) ?? serving;
    return (target === 'serving' ? serving : other)?.name ?? target;
  }

  #daemon(name: string): Daemon {
    const daemon = this.#of.daemons.find((each) => each.name === name);
    if (daemon === undefined) throw new Error(`there is no daemon "${name}"`);
    return daemon;
  }

  #party(name: string): Party {
    const agent = this.#of.agents.get(name);
    if (agent !== undefined) return agent;
    const daemon = this.#daemon(name);
    return {
      name,
      proxy: daemon.proxy,
      signal: (signal) => daemon.signal(signal),
      kill: () => daemon.end('SIGKILL'),
      start: () => daemon.start(),
    };
  }

  async #live(step: FaultStep, target: string): Promise<void> {
    if (target.startsWith('broker') || target === 'disk') return this.#ofBroker(step, target);
    const { proxy } = this.#party(target);
    switch (step.do) {
      case 'cut':
        return proxy.cut();
      case 'slow':
        proxy.slow(step.delayMs);
        await pause(step.forMs);
        return proxy.slow(0);
      case 'half-open':
        proxy.hold(...step.ways);
        await pause(step.forMs);
        return step.end === 'release' ? proxy.release() : proxy.drop();
      default:
        return this.#ofProcess(step, target);
    }
  }

  async #ofProcess(step: FaultStep, target: string): Promise<void> {
    const party = this.#party(target);
    switch (step.do) {
      case 'kill':
        await party.kill();
        await pause(step.forMs);
        await party.start();
        return;
      case 'freeze':
        party.signal('SIGSTOP');
        await pause(step.forMs);
        return party.signal('SIGCONT');
      case 'stop':
        await this.#daemon(target).end('SIGTERM');
        await pause(step.forMs);
        return this.#daemon(target).start();
      case 'restart':
        return this.#daemon(target).restart({});
      case 'expire':
        await this.#daemon(target).restart({ lifeS: step.lifeS });
        await pause(step.forMs);
        return this.#daemon(target).renew();
      case 'deny':
        await this.#daemon(target).restart({ without: step.right });
        await pause(step.forMs);
        return this.#daemon(target).restart({});
      case 'skew':
        await this.#daemon(target).restart({ skew: { byMs: step.byMs, jumpMs: step.forMs / 2 } });
        await pause(step.forMs);
        return this.#daemon(target).restart({});
    }
  }

  async #ofBroker(step: FaultStep, target: string): Promise<void> {
    const { brokers } = this.#of;
    const server = target === 'disk' ? brokers.servers[0] : brokers.find(target);
    if (server === undefined) return;
    switch (step.do) {
      case 'kill':
        await server.kill();
        await pause(step.forMs);
        return server.start();
      case 'restart':
        await server.stop();
        return server.start();
      case 'freeze':
        server.signal('SIGSTOP');
        await pause(step.forMs);
        return server.signal('SIGCONT');
      case 'partition':
        brokers.partition(target, true);
        await pause(step.forMs);
        return brokers.partition(target, false);
      case 'fill':
        if (!server.hasDisk) return;
        server.fill();
        await pause(step.forMs);
        server.release();
        // A server that met a full disk stores nothing in that stream any more until it is started again (2.14).
        await server.stop();
        return server.start();
      default:
        throw new Error(`"${step.do}" is nothing that happens to ${target}`);
    }
  }
}
