/**
 * `cotal inbox`: surfaces what is owed, prints it, and confirms it after it was printed. What was pulled and not printed goes
 * back on every exit.
 */
import type { Agent, Surfaced } from '../client/client.ts';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { asAgent, JoinedChannels, warningsOf } from './as-agent.ts';
import { whole } from './flags.ts';
import { type Call, type Define, examples } from './frame.ts';
import { lineOf, textOf } from './message-text.ts';
import { establish, followJoined } from './rejoin.ts';

interface Options {
  readonly as: string;
  readonly follow?: true;
  readonly limit?: number;
  readonly confirm: boolean;
  readonly wait?: number;
}

/** How long what the daemon still owes is waited for, and how often it is asked. */
const PATIENCE_MS = 2_000;
const ASK_EVERY_MS = 100;
/** Copies that the daemon hands off to one member at a time. */
const WINDOW = 256;
/** Confirmations that are under way at a time. */
const CONFIRMING = 64;
/** A live post of a durable channel waits so long for its copy. */
const PREFER_DURABLE_MS = 1_000;

export const define: Define = (command, frame) => {
  command
    .requiredOption('--as <name>', 'the agent that reads')
    .option('--follow', 'stay, and print posts as they come, live ones too')
    .option('--limit <n>', 'print at most so many', whole('--limit', 1))
    .option('--no-confirm', 'print and give back: the next call prints them again')
    .option('--wait <ms>', 'where there is nothing, wait so long for a post', whole('--wait', 0))
    .action(
      frame.action<[options: Options]>(async (call, options) => {
        const stop = call.stopped();
        const follow = options.follow === true;
        const more = follow
          ? { journal: warningsOf(call.out, true), presence: { kind: 'agent' }, preferDurableMs: PREFER_DURABLE_MS }
          : {};
        return asAgent(
          call,
          options.as,
          async (agent, place) => {
            const joined = new JoinedChannels(place, options.as);
            const tell = (refusal: string) => call.out.remark(`! ${refusal}`);
            const { refusals, recorded } = await establish(agent, joined, follow);
            for (const refusal of refusals) tell(refusal);
            const reader = new Reader(call, agent, options, stop);
            if (!follow) {
              await reader.drain();
              return reader.end();
            }
            const stopFollowing = followJoined(agent, joined, recorded, tell);
            await reader.follow().finally(stopFollowing);
            return reader.end();
          },
          more,
        );
      }),
    );
  examples(
    command,
    'cotal inbox --as bob',
    'cotal inbox --as bob --limit 1 --wait 5000 --json',
    'cotal inbox --as bob --follow',
  );
};

class Reader {
  readonly #call: Call;
  readonly #agent: Agent;
  readonly #options: Options;
  readonly #stop: AbortSignal;
  readonly #confirming = new Set<Promise<void>>();
  #printed = 0;
  #unanswered = 0;
  #lost = false;
  /** Why it could not be told what is owed, when it was asked last. */
  #unknown: Error | undefined;

  constructor(call: Call, agent: Agent, options: Options, stop: AbortSignal) {
    this.#call = call;
    this.#agent = agent;
    this.#options = options;
    this.#stop = stop;
  }

  get #left(): number {
    return (this.#options.limit ?? Number.POSITIVE_INFINITY) - this.#printed;
  }

  get #over(): boolean {
    return this.#left <= 0 || this.#stop.aborted || this.#lost;
  }

  async follow(): Promise<void> {
    await this.#read({ follow: true });
  }

  /** Prints until nothing is owed any more, as far as the daemon can tell, and then waits if that was asked for. */
  async drain(): Promise<void> {
    do {
      await this.#handedOff();
      const before = this.#printed;
      await this.#read({ idleMs: 0 });
      if (this.#over || !this.#options.confirm) break;
      if (this.#printed === before) break;
      await Promise.all(this.#confirming);
    } while ((await this.#owed()) !== undefined);
    const { wait = 0 } = this.#options;
    if (this.#printed > 0 || this.#over || wait === 0) return;
    await this.#read({ idleMs: wait, first: true });
    if (this.#printed > 0 && !this.#over && this.#options.confirm) await this.#read({ idleMs: 0 });
  }

  async #read(how: { idleMs?: number; follow?: boolean; first?: boolean }): Promise<void> {
    const { first = false, ...options } = how;
    const limit = first && !this.#options.confirm ? this.#left : first ? 1 : this.#left;
    for await (const post of this.#agent.read({ ...options, limit, signal: this.#stop })) {
      await this.#print(post);
      if (this.#lost) return;
    }
  }

  async #print(post: Surfaced): Promise<void> {
    const { out } = this.#call;
    if (!(await out.delivered(lineOf(post), textOf(out, post)))) {
      this.#lost = true;
      return;
    }
    this.#printed++;
    if (!this.#options.confirm) return;
    const confirming = post.confirm().then((outcome) => {
      this.#confirming.delete(confirming);
      if (outcome.kind === 'unanswered') this.#unanswered++;
    });
    this.#confirming.add(confirming);
    if (this.#confirming.size >= CONFIRMING) await Promise.race(this.#confirming);
  }

  /** What is owed, or undefined where that is nothing, or nobody can tell: `#unknown` says which. An open mesh owes nothing. */
  async #owed() {
    if (this.#agent.open) return undefined;
    try {
      const { pending, handedOff } = await this.#agent.pendingCount();
      this.#unknown = undefined;
      return pending === 0 ? undefined : { pending, handedOff };
    } catch (error) {
      this.#unknown = error instanceof Error ? error : new Error(String(error));
      return undefined;
    }
  }

  /** Waits, for a moment, until the daemon has handed off what it owes. */
  async #handedOff(): Promise<void> {
    const until = performance.now() + PATIENCE_MS;
    while (!this.#stop.aborted && performance.now() < until) {
      const owed = await this.#owed();
      if (owed === undefined || owed.handedOff >= Math.min(owed.pending, WINDOW)) return;
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
    }
  }

  /**
   * @throws Plane3Error where nothing came: `client.on-the-way` while something is owed, `rail.silent` and others of
   *   `pendingCount` where that is not known.
   */
  async end(): Promise<0 | 1> {
    const { out } = this.#call;
    await Promise.all(this.#confirming);
    if (this.#unanswered > 0) {
      out.remark(`! ${this.#unanswered} confirmations were not answered: those posts come again`);
      return 1;
    }
    if (this.#options.follow === true || this.#over) return 0;
    if (this.#printed > 0 && !this.#options.confirm) return 0;
    const left = await this.#remainder();
    if (this.#printed > 0) {
      if (left !== undefined) out.remark(`! more may be owed: ${left.message}`);
      return 0;
    }
    if (left !== undefined) throw left;
    out.text('nothing new');
    return 0;
  }

  /** Why it cannot be said that nothing is owed any more. */
  async #remainder(): Promise<Error | undefined> {
    const owed = this.#unknown === undefined ? await this.#owed() : undefined;
    return owed === undefined ? this.#unknown : new Plane3Error('client.on-the-way', owed);
  }
}
