/** The daemons of a run: `cotal deliver --standby` as processes, each behind a proxy of its own, started again when they end. */

import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { variableOf } from '../domain/config.ts';
import { readJson } from '../domain/message.ts';
import type { Numbers } from '../domain/numbers.ts';
import { Child, ownFile } from './child.ts';
import type { Ground } from './ground.ts';
import { SPACE } from './ground.ts';
import type { HistoryFile } from './history-file.ts';
import { TcpProxy } from './proxy.ts';
import type { StepOf } from './schedule.ts';

export interface DaemonsOptions {
  readonly ground: Ground;
  readonly folder: string;
  readonly file: HistoryFile;
  readonly numbers: Partial<Numbers>;
  /** Modules that are loaded into every daemon: planted faults. */
  readonly preload: readonly string[];
}

/** How a daemon is to be started next. */
interface Manner {
  readonly without?: StepOf<'deny'>['right'];
  readonly lifeS?: number;
  /** Its clock is wrong from the start, and by as much again when it is `jumpMs` old. */
  readonly skew?: { readonly byMs: number; readonly jumpMs: number };
}

const AGAIN_AFTER_MS = 1_000;

export class Daemon {
  readonly name: string;
  readonly proxy: TcpProxy;
  incarnation = '';
  readonly #options: DaemonsOptions;
  #child: Child | undefined;
  #manner: Manner = {};
  #wanted = true;
  #again: NodeJS.Timeout | undefined;
  #starting: Promise<void> | undefined;

  private constructor(name: string, proxy: TcpProxy, options: DaemonsOptions) {
    this.name = name;
    this.proxy = proxy;
    this.#options = options;
  }

  static async make(name: string, options: DaemonsOptions): Promise<Daemon> {
    const daemon = new Daemon(name, await TcpProxy.to(() => options.ground.brokers.url()), options);
    await daemon.start();
    return daemon;
  }

  get isRunning(): boolean {
    return this.#child?.hasEnded === false;
  }
  get pid(): number {
    return this.#child?.process.pid ?? 0;
  }

  /** Starts it, unless it runs. */
  start(): Promise<void> {
    clearTimeout(this.#again);
    this.#wanted = true;
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined;
    });
    return this.#starting;
  }

  async #start(): Promise<void> {
    if (this.isRunning) return;
    const { ground, folder, file, numbers, preload } = this.#options;
    const { skew, ...creds } = this.#manner;
    const path = await ground.deliveryCreds({ daemon: this.name, ...creds });
    const incarnation = randomBytes(12).toString('hex');
    this.incarnation = incarnation;
    const child = new Child({
      file: ownFile('../cli/cotal'),
      words: [
        ...['deliver', '--space', SPACE, '--root', ground.root, '--server', this.proxy.url],
        ...['--creds', path, '--standby', '--launched', incarnation],
      ],
      log: join(folder, `${this.name}.log`),
      env: {
        COTAL_HOME: join(folder, 'home'),
        COTAL_LOG_LEVEL: 'info',
        ...Object.fromEntries(Object.entries(numbers).map(([name, value]) => [variableOf(name), String(value)])),
        ...(skew === undefined
          ? {}
          : { TORTURE_SKEW_MS: String(skew.byMs), TORTURE_SKEW_JUMP_MS: String(skew.jumpMs) }),
      },
      preload: [...preload, ...(skew === undefined ? [] : [ownFile('./skew')])],
    });
    this.#child = child;
    let said = '';
    child.process.stdio[3]?.on('data', (bytes: Buffer) => {
      said += bytes.toString();
    });
    file.write({ kind: 'daemon', at: Date.now(), daemon: this.name, incarnation });
    void child.ended.then(({ code, signal }) => {
      file.write({
        kind: 'daemon-ended',
        at: Date.now(),
        daemon: this.name,
        incarnation,
        code,
        signal,
        said: endIn(said),
      });
      if (this.#wanted) this.#again = setTimeout(() => void this.start(), AGAIN_AFTER_MS);
    });
  }

  /** Ends it; it stays down until `start`. */
  async end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
    this.#wanted = false;
    clearTimeout(this.#again);
    await this.#starting;
    this.#child?.signal('SIGCONT');
    this.#child?.signal(signal);
    await this.#child?.ended;
  }

  /** Ends it by SIGTERM and starts it in another manner, which holds until the next one. */
  async restart(manner: Manner): Promise<void> {
    await this.end('SIGTERM');
    this.#manner = manner;
    await this.start();
  }

  /** Puts a whole credential where it reads its own. */
  async renew(): Promise<void> {
    this.#manner = {};
    await this.#options.ground.deliveryCreds({ daemon: this.name });
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.signal(signal);
  }

  log(): string {
    return readFileSync(join(this.#options.folder, `${this.name}.log`), 'utf8');
  }

  async dispose(): Promise<void> {
    await this.end('SIGKILL');
    await this.proxy.close();
  }
}

/** What a daemon said of its end to whoever launched it. */
function endIn(said: string): string {
  const { end = '', message = '' } = (readJson(Buffer.from(said)) ?? {}) as { end?: string; message?: string };
  return end === '' ? '' : `${end}: ${message}`;
}
