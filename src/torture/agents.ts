/** The agents of a run: processes over `plane3/client`, each behind a proxy of its own, told what to do on their stdin. */
import { join } from 'node:path';
import type { Member } from '../domain/names.ts';
import { Child, ownFile } from './child.ts';
import type { Ground } from './ground.ts';
import type { HistoryFile } from './history-file.ts';
import { TcpProxy } from './proxy.ts';

/** What an agent process is told, one JSON object a line. */
export type Order =
  | { do: 'post'; channel: string; id: string; mentions: readonly string[] }
  | { do: 'join' | 'leave'; channel: string }
  | { do: 'careless'; forMs: number }
  | { do: 'end' };

/** What an agent process is started with. */
export interface AgentSetting {
  readonly agent: string;
  readonly uid: string;
  readonly life: number;
  readonly url: string;
  readonly creds: string;
  readonly histories: string;
  /** Posts that it asks for at a time. */
  readonly limit: number;
  readonly timeoutMs: number;
}

const AGAIN_AFTER_MS = 500;

export interface AgentsOptions {
  readonly ground: Ground;
  readonly folder: string;
  readonly histories: string;
  readonly file: HistoryFile;
  readonly timeoutMs: number;
}

export class TortureAgent {
  readonly name: string;
  readonly member: Member;
  readonly proxy: TcpProxy;
  /** Turn of its grants. */
  turn = 0;
  isRetired = false;
  /** A process of it has been connected. */
  wasThere = false;
  readonly #options: AgentsOptions;
  readonly #creds: string;
  readonly #limit: number;
  #child: Child | undefined;
  #life = 0;
  #wanted = true;
  #again: NodeJS.Timeout | undefined;

  private constructor(of: {
    name: string;
    member: Member;
    proxy: TcpProxy;
    creds: string;
    limit: number;
    options: AgentsOptions;
  }) {
    this.name = of.name;
    this.member = of.member;
    this.proxy = of.proxy;
    this.#creds = of.creds;
    this.#limit = of.limit;
    this.#options = of.options;
  }

  static async make(
    options: AgentsOptions,
    of: { name: string; limit: number; read: string[]; post: string[] },
  ): Promise<TortureAgent> {
    const { ground, file } = options;
    const { name, limit, read, post } = of;
    const { member, principal, creds } = await ground.addAgent(name, { read, post });
    file.write({ kind: 'added', at: Date.now(), agent: name, uid: member.uid, principal, read, post });
    const proxy = await TcpProxy.to(() => ground.brokers.url());
    const agent = new TortureAgent({ name, member, proxy, creds, limit, options });
    agent.start();
    return agent;
  }

  get isRunning(): boolean {
    return this.#child?.hasEnded === false;
  }

  start(): void {
    clearTimeout(this.#again);
    if (this.isRunning || this.isRetired) return;
    this.#wanted = true;
    const { folder, histories, timeoutMs } = this.#options;
    const setting: AgentSetting = {
      agent: this.name,
      uid: this.member.uid,
      life: ++this.#life,
      url: this.proxy.url,
      creds: this.#creds,
      histories,
      limit: this.#limit,
      timeoutMs,
    };
    const child = new Child({
      file: ownFile('./agent-process'),
      words: [JSON.stringify(setting)],
      log: join(folder, `${this.name}.log`),
    });
    this.#child = child;
    child.process.stdio[3]?.once('data', () => {
      this.wasThere = true;
    });
    void child.ended.then(() => {
      if (this.#wanted && !this.isRetired) this.#again = setTimeout(() => this.start(), AGAIN_AFTER_MS);
    });
  }

  /** Tells the process; a process that is not there is told nothing. */
  tell(order: Order): void {
    if (this.isRunning) this.#child?.process.stdin?.write(`${JSON.stringify(order)}\n`);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.signal(signal);
  }

  async kill(): Promise<void> {
    this.#wanted = false;
    clearTimeout(this.#again);
    await this.#child?.kill();
  }

  async end(): Promise<void> {
    this.#wanted = false;
    clearTimeout(this.#again);
    this.tell({ do: 'end' });
    this.signal('SIGCONT');
    await this.#child?.ended;
  }

  async dispose(): Promise<void> {
    await this.kill();
    await this.proxy.close();
  }
}
