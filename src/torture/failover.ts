/**
 * Failovers, measured: the daemon that serves is killed (SIGKILL) while posts come, a standby takes over, and at the end every
 * post has surfaced to a member that reads nothing but its durable copies meanwhile.
 */
import { mkdirSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { type Agent, connectAgent } from '../client/client.ts';
import { credsText } from '../services/credential.ts';
import { Daemon } from './daemons.ts';
import { Ground, SPACE } from './ground.ts';
import { HistoryFile } from './history-file.ts';
import { Recorder } from './recorder.ts';

const CHANNEL = 'ops';
const EVERY_MS = 50;
const LOOK_MS = 20;
const ACK_WAIT_MS = 10_000;
const PATIENCE_MS = 180_000;

export interface FailoverOptions {
  /** An empty folder. */
  readonly folder: string;
  readonly times: number;
  readonly leaseTtlMs: number;
  readonly say?: (line: string) => void;
}

export interface Failovers {
  /** From the SIGKILL until the lease row says that another daemon serves, milliseconds; one a failover. */
  readonly takeoverMs: readonly number[];
  readonly posts: number;
  readonly surfaced: number;
  /** Ids of posts that never surfaced. */
  readonly lost: readonly string[];
  /** Posts that surfaced more than once. */
  readonly repeats: number;
}

export async function failovers({ folder, times, leaseTtlMs, say }: FailoverOptions): Promise<Failovers> {
  mkdirSync(folder, { recursive: true });
  const ground = await Ground.make({ folder, servers: 1, durability: 'strict', leaseTtlMs, ackWaitMs: ACK_WAIT_MS });
  const file = new HistoryFile(folder, 'failover');
  const recorder = new Recorder({ connection: await ground.connect('everything'), space: SPACE, file });
  const daemons: Daemon[] = [];
  const agents: Agent[] = [];
  try {
    await recorder.start();
    const numbers = {
      leaseTtlMs,
      leaseRenewMs: Math.round(leaseTtlMs / 3),
      leaseFenceMs: Math.round((leaseTtlMs * 5) / 6),
      standbyProbeMs: Math.min(1_000, Math.round(leaseTtlMs / 10)),
    };
    for (const name of ['daemon.1', 'daemon.2']) {
      daemons.push(await Daemon.make(name, { ground, folder, file, numbers, preload: [] }));
    }
    await until(() => recorder.isServed, 'a daemon serves');
    const [alice, bob] = [await connected(ground, 'alice'), await connected(ground, 'bob')];
    agents.push(alice, bob);
    await until(async () => (await bob.join(CHANNEL)).state === 'durable', 'bob is a durable member');
    const seen = new Map<string, number>();
    const reading = read(bob, seen);
    const posted: string[] = [];
    const ending = new AbortController();
    const posting = postOn(alice, posted, ending.signal);
    const takeoverMs: number[] = [];
    for (let n = 0; n < times; n++) {
      await until(() => daemons.every((daemon) => daemon.isRunning) && recorder.isServed, 'both daemons run');
      // Somewhere in the life of the lease, another place each time.
      await pause((leaseTtlMs / 3) * ((n * 0.618) % 1) + 500);
      const before = recorder.holder;
      const serving = daemons.find(({ incarnation }) => incarnation === before);
      if (serving === undefined) throw new Error(`nobody knows the daemon ${before}`);
      const killed = Date.now();
      await serving.end('SIGKILL');
      await until(() => recorder.isServed && recorder.holder !== before, 'the standby serves');
      takeoverMs.push(Date.now() - killed);
      say?.(`failover ${n + 1}: ${takeoverMs.at(-1)} ms`);
      const said = serving.log().length;
      await serving.start();
      await until(() => serving.log().slice(said).includes('standing by'), 'the killed one stands by');
    }
    ending.abort();
    await posting;
    await until(() => posted.every((id) => seen.has(id)), 'every post has surfaced').catch(() => {});
    const surfaced = [...seen.values()].reduce((sum, count) => sum + count, 0);
    await bob.close();
    await reading;
    return {
      takeoverMs,
      posts: posted.length,
      surfaced,
      lost: posted.filter((id) => !seen.has(id)),
      repeats: surfaced - seen.size,
    };
  } finally {
    await Promise.all(agents.map((agent) => agent.close()));
    await Promise.all(daemons.map((daemon) => daemon.dispose()));
    await ground.dispose();
    file.close();
  }
}

async function connected(ground: Ground, name: string): Promise<Agent> {
  const { credential } = await ground.addAgent(name, { read: ['>'], post: ['>'] });
  // What is live waits for its copy: only what the daemons delivered counts.
  return connectAgent({ url: ground.brokers.url(), creds: credsText(credential), preferDurableMs: PATIENCE_MS });
}

async function postOn(agent: Agent, posted: string[], signal: AbortSignal): Promise<void> {
  for (let n = 0; !signal.aborted; n++) {
    const { id } = await agent.post({ channel: CHANNEL, id: `p${n}`, text: `post ${n}` });
    posted.push(id);
    await pause(EVERY_MS);
  }
}

async function read(agent: Agent, seen: Map<string, number>): Promise<void> {
  for await (const post of agent.read({ follow: true })) {
    if (post.source === 'durable') seen.set(post.message.id, (seen.get(post.message.id) ?? 0) + 1);
    await post.confirm();
  }
}

async function until(is: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS;
  while (!(await is())) {
    if (Date.now() > deadline) throw new Error(`after ${PATIENCE_MS} ms it is not so that ${what}`);
    await pause(LOOK_MS);
  }
}
