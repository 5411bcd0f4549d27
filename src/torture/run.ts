/**
 * One run: real servers, real daemons and real agents as processes, the steps of a script, then calm until everything that
 * is owed has surfaced, and the verdict over what everybody wrote down.
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { jetstreamManager } from '@nats-io/jetstream';
import { buckets, FANOUT_CONSUMER, streams } from '../domain/subjects.ts';
import { writeRow } from '../services/nats/rows.ts';
import { TortureAgent } from './agents.ts';
import { judge, type Verdict } from './checker/verdict.ts';
import { Daemon } from './daemons.ts';
import { Deeds } from './deeds.ts';
import { Faults } from './faults.ts';
import { Ground, SPACE, untilTaken } from './ground.ts';
import type { HistoryRecord } from './history.ts';
import { HistoryFile, readHistories } from './history-file.ts';
import { Random } from './random.ts';
import { Recorder } from './recorder.ts';
import { agentName, isFault, LIVE_CHANNEL, type Script } from './schedule.ts';

export const LEASE_TTL_MS = 6_000;
/** The daemons of a run are quick to doubt, wait little and have small windows, so that much happens in a minute. */
const NUMBERS = {
  leaseTtlMs: LEASE_TTL_MS,
  leaseRenewMs: 2_000,
  leaseFenceMs: 5_000,
  standbyProbeMs: 300,
  brokerGoneMs: 6_000,
  brokerGoneBackstopMs: 20_000,
  pingIntervalMs: 1_000,
  dialTimeoutMs: 2_000,
  effectTimeoutMs: 2_000,
  surveyMs: 5_000,
  laneRestMs: 1_000,
  windowSize: 8,
  batchSize: 40,
  backOffMs: 100,
  backOffLimitMs: 1_000,
  giveUpSpacingMs: 500,
} as const;
const ACK_WAIT_MS = 4_000;
const AGENT_TIMEOUT_MS = 3_000;
const DAEMONS = ['daemon.1', 'daemon.2'] as const;
const DISK_MIB = 256;
const LOOK_MS = 250;
/** Longest until a daemon serves at the beginning, on a busy machine. */
const START_MS = 120_000;

export interface RunOptions {
  readonly script: Script;
  /** An empty folder: everything of the run lies in it. */
  readonly folder: string;
  /** Modules that are loaded into every daemon. */
  readonly planted?: readonly string[];
  /** Longest that the calm at the end may take, milliseconds. */
  readonly drainMs: number;
  readonly say?: (line: string) => void;
  readonly signal?: AbortSignal;
}

export interface RunResult {
  readonly verdict: Verdict;
  readonly history: readonly HistoryRecord[];
  /** Version of nats-server. */
  readonly server: string;
}

/** @throws what made the run itself impossible: the ground could not be made. */
export async function run(options: RunOptions): Promise<RunResult> {
  const { script, folder } = options;
  const histories = join(folder, 'histories');
  mkdirSync(histories, { recursive: true });
  const ground = await Ground.make({
    folder,
    servers: script.servers,
    durability: 'strict',
    leaseTtlMs: LEASE_TTL_MS,
    ackWaitMs: ACK_WAIT_MS,
    ...(script.steps.some((step) => step.do === 'fill') ? { diskMiB: DISK_MIB } : {}),
  });
  const file = new HistoryFile(histories, 'director');
  const stage = new Stage({ options, ground, file, histories });
  try {
    file.write({
      kind: 'run',
      at: Date.now(),
      seed: script.seed,
      space: SPACE,
      replicas: ground.replicas,
      server: ground.version,
      effectMs: NUMBERS.effectTimeoutMs,
      leaseTtlMs: LEASE_TTL_MS,
      brokerGoneMs: NUMBERS.brokerGoneMs,
    });
    await stage.set();
    await stage.play();
    await stage.calm();
  } finally {
    await stage.clear();
    await ground.dispose();
    file.close();
  }
  const history = readHistories(histories);
  return { verdict: judge(history), history, server: ground.version };
}

class Stage {
  readonly #options: RunOptions;
  readonly #ground: Ground;
  readonly #file: HistoryFile;
  readonly #histories: string;
  readonly #agents = new Map<string, TortureAgent>();
  readonly #daemons: Daemon[] = [];
  #recorder: Recorder | undefined;
  #faults: Faults | undefined;
  #deeds: Deeds | undefined;

  constructor(of: { options: RunOptions; ground: Ground; file: HistoryFile; histories: string }) {
    this.#options = of.options;
    this.#ground = of.ground;
    this.#file = of.file;
    this.#histories = of.histories;
  }

  /** Everybody is there and one daemon serves. */
  async set(): Promise<void> {
    const { script, folder, planted = [] } = this.#options;
    const ground = this.#ground;
    const file = this.#file;
    const connection = await ground.connect('everything');
    const recorder = new Recorder({ connection, space: SPACE, file: new HistoryFile(this.#histories, 'broker') });
    this.#recorder = recorder;
    await recorder.start();
    const live = { connection, bucket: buckets(SPACE).channels, key: LIVE_CHANNEL, value: { deliveryClass: 'live' } };
    await untilTaken('the row of the live channel', async () => {
      const written = await writeRow(live);
      if (written.kind !== 'stored') throw new Error(JSON.stringify(written));
    });
    for (const name of DAEMONS) {
      this.#daemons.push(await Daemon.make(name, { ground, folder, file, numbers: NUMBERS, preload: planted }));
    }
    const random = new Random(script.seed);
    for (let n = 0; n < script.agents; n++) {
      const of = { name: agentName(n), limit: random.pick([1, 3, 8, 30]), read: ['>'], post: ['>'] };
      const options = { ground, folder, histories: this.#histories, file, timeoutMs: AGENT_TIMEOUT_MS };
      this.#agents.set(of.name, await TortureAgent.make(options, of));
    }
    const daemons = this.#daemons;
    const agents = this.#agents;
    this.#deeds = new Deeds({ ground, file, agents });
    this.#faults = new Faults({ file, brokers: ground.brokers, daemons, agents, holder: () => recorder.holder });
    await this.#until(() => recorder.isServed, 'no daemon serves');
    // What one is told before it is connected would be gone with it where it is killed next.
    await this.#until(() => [...agents.values()].every(({ wasThere }) => wasThere), 'not every agent is connected');
  }

  async play(): Promise<void> {
    const { script, say, signal } = this.#options;
    const began = Date.now();
    for (const step of script.steps) {
      await pause(Math.max(0, began + step.at - Date.now()), undefined, signal === undefined ? {} : { signal });
      say?.(`${Math.round(step.at / 1000)} s: ${describe(step)}`);
      if (isFault(step)) this.#faults?.begin(step);
      else this.#deeds?.do(step);
    }
  }

  /** No further fault, post, join or leave; what is owed surfaces now. */
  async calm(): Promise<void> {
    const file = this.#file;
    this.#options.say?.('calm: what is owed surfaces now');
    await this.#faults?.over();
    await this.#deeds?.done();
    file.write({ kind: 'calm', at: Date.now() });
    for (const daemon of this.#daemons) await daemon.start();
    for (const agent of this.#agents.values()) agent.start();
    const deadline = Date.now() + this.#options.drainMs;
    let left = await this.#left();
    // Twice: what was not copied yet when the stores were looked at is there the second time.
    for (let quiet = 0; quiet < 2 && Date.now() < deadline; ) {
      await pause(LOOK_MS);
      left = await this.#left();
      quiet = left !== undefined && left.entries + left.copies + left.posts === 0 ? quiet + 1 : 0;
    }
    await this.#recorder?.catchUp();
    const leftovers = left !== undefined && left.copies > 0 ? await this.#recorder?.leftovers() : undefined;
    await Promise.all([...this.#agents.values()].map((agent) => agent.end()));
    // Servers may still elect a leader, and what is asked meanwhile is not answered.
    await untilTaken('the posts', async () => this.#recorder?.posts());
    const { entries = 0, copies = 0, owed = ['the broker did not say'], posts = 1 } = left ?? {};
    file.write({ kind: 'drained', at: Date.now(), entries: entries + posts, copies, owed: leftovers ?? owed });
  }

  /** What is still under way: posts that are not copied, entries, copies. */
  async #left(): Promise<{ entries: number; copies: number; posts: number; owed: string[] } | undefined> {
    const owed = await this.#recorder?.owed().catch(() => undefined);
    if (owed === undefined) return undefined;
    try {
      const manager = await jetstreamManager(await this.#ground.connect('everything'), { checkAPI: false });
      const { num_pending, num_ack_pending } = await manager.consumers.info(streams(SPACE).chat, FANOUT_CONSUMER);
      return { ...owed, posts: num_pending + num_ack_pending };
    } catch {
      return undefined;
    }
  }

  async #until(is: () => boolean, what: string): Promise<void> {
    const deadline = Date.now() + START_MS;
    while (!is()) {
      if (Date.now() > deadline) throw new Error(`${what} after ${START_MS} ms`);
      await pause(LOOK_MS);
    }
  }

  async clear(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.dispose()));
    await Promise.all(this.#daemons.map((daemon) => daemon.dispose()));
  }
}

function describe({ at: _at, ...step }: Script['steps'][number]): string {
  const { do: verb, ...rest } = step;
  return `${verb} ${Object.values(rest).flat().join(' ')}`;
}
