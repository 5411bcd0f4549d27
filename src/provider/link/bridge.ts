/**
 * The bridge: what comes for a hosted agent becomes a pending entry of the member that it is mapped to, and is acknowledged
 * upstream when that entry is settled.
 *
 *   G1  nothing is acknowledged before its entry is gone: confirmed by the member, or refused by the reader's own check
 *   G2  what is known of an entry (where it lies, that it is settled) is on disk before it is acted upon; a repeat after
 *       any crash finds its entry, and one whose entry is settled counts as confirmed
 *   G3  a space that does not answer, or a disk that takes nothing, costs nothing but time: it is tried again, and nothing is
 *       acknowledged meanwhile
 *   G4  what can never be an entry is told, acknowledged and dropped: kept, it would block everything behind it
 */

import type { Member } from '../../domain/names.ts';
import { bridgedPost } from '../../domain/provider/bridge.ts';
import type { Journal } from '../../services/ports.ts';
import type { Tally } from '../../services/tally.ts';
import type { Deliveries, Delivery } from './ports.ts';

/** The pending entries of the space, as the bridge needs them. */
export interface HostedInbox {
  /** Stores an entry; a repeat within the store's window answers with the first one's sequence. */
  store(of: {
    member: Member;
    channel: string;
    msgId: string;
    seq: number;
    post: Uint8Array;
  }): Promise<{ kind: 'stored'; entrySeq: number } | { kind: 'unfit'; why: string } | { kind: 'silent'; why: string }>;
  /** Those of the entries that are gone. */
  gone(of: {
    entrySeqs: readonly number[];
  }): Promise<{ kind: 'read'; entrySeqs: readonly number[] } | { kind: 'silent'; why: string }>;
}

/** What a bridge knows of one hosted agent's entries, by upstream sequence. */
export interface BridgeMarks {
  /** Upstream sequence → where its entry lies. */
  readonly held: Readonly<Record<string, number>>;
  /** Upstream sequences that are settled and may still be repeated. */
  readonly settled: readonly number[];
}

export interface MarkStore {
  read(agentId: string): BridgeMarks | undefined;
  write(agentId: string, marks: BridgeMarks): void;
}

export interface BridgeOptions {
  readonly inbox: HostedInbox;
  /** Hosted name → member. */
  readonly members: ReadonlyMap<string, Member>;
  readonly space: string;
  readonly node: string;
  readonly marks: MarkStore;
  readonly journal: Journal;
  readonly tally: Tally;
  /** How often held entries are looked for, and how long a silent space is left alone. */
  readonly pollMs: number;
  readonly now?: () => number;
}

/** Settled ones that are remembered for each agent: more than a socket's window of unacknowledged frames. */
const REMEMBERED = 4_000;
/** Entries that are looked for in one turn, for each agent: the oldest first. */
const LOOKED_FOR = 64;

export class Bridge implements Deliveries {
  readonly #options: BridgeOptions;
  readonly #agents = new Map<string, Agent>();
  readonly #stopped = new AbortController();
  #looking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  take(delivery: Delivery): void {
    if (!this.#options.members.has(delivery.agent)) return;
    const agent = this.#agentOf(delivery);
    agent.due.set(delivery.seq, delivery);
    agent.turn = agent.turn.then(() => this.#placeNext(agent));
  }

  /** Entries that are owed, of all agents. */
  get owed(): number {
    return [...this.#agents.values()].reduce((sum, agent) => sum + agent.waiting.size, 0);
  }

  async stop(): Promise<void> {
    this.#stopped.abort();
    clearTimeout(this.#timer);
    for (const { waiting } of this.#agents.values()) waiting.clear();
    await Promise.all([this.#looking, ...[...this.#agents.values()].map(({ turn }) => turn)]);
  }

  #agentOf({ agentId, agent: name }: Delivery): Agent {
    const known = this.#agents.get(agentId);
    if (known !== undefined) return known;
    const made = new Agent({ agentId, name, store: this.#options.marks });
    this.#agents.set(agentId, made);
    return made;
  }

  /** Places the first one that is due, however long that takes: what is behind it waits, and other agents do not. */
  async #placeNext(agent: Agent): Promise<void> {
    for (;;) {
      const delivery = agent.next();
      if (delivery === undefined || this.#stopped.signal.aborted) return;
      try {
        if (await this.#place(agent, delivery)) {
          if (agent.due.get(delivery.seq) === delivery) agent.due.delete(delivery.seq);
          agent.heldUp = undefined;
          return;
        }
      } catch (error) {
        this.#tellHeldUp(agent, error);
      }
      await pause(this.#options.pollMs, AbortSignal.any([delivery.ended, this.#stopped.signal]));
    }
  }

  /** Puts one delivery into the space, or finds out that it is there or was settled. False: it is to be tried again. */
  async #place(agent: Agent, delivery: Delivery): Promise<boolean> {
    const { inbox, members, space, node, journal, tally, now = Date.now } = this.#options;
    const { agentId, seq, msgId, payload } = delivery;
    const member = members.get(delivery.agent);
    if (member === undefined) return true;
    if (agent.isSettled(seq)) {
      agent.keep();
      tally.add('bridge.settled-before');
      delivery.confirm();
      return true;
    }
    if (agent.entryOf(seq) === undefined) {
      const { channel, post } = bridgedPost({ arrived: { msgId, payload }, space, node, at: now() });
      const stored = await inbox.store({ member, channel, msgId, seq, post });
      if (delivery.ended.aborted && stored.kind !== 'stored') return true;
      if (stored.kind === 'unfit') {
        tally.add('bridge.unfit');
        journal.tell('link.bridge-unfit', { agent: delivery.agent, agentId, seq, why: stored.why });
        agent.settle([seq]);
        agent.keep();
        delivery.confirm();
        return true;
      }
      if (stored.kind === 'silent') {
        tally.add('bridge.silent');
        journal.tell('link.bridge-waiting', { agentId, seq, why: stored.why });
        return false;
      }
      agent.hold(seq, stored.entrySeq);
      tally.add('bridge.stored');
    }
    agent.keep();
    agent.waiting.set(seq, delivery);
    this.#lookLater();
    return true;
  }

  #lookLater(): void {
    if (this.#stopped.signal.aborted) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#looking = this.#looking.then(() => this.#look());
    }, this.#options.pollMs);
  }

  async #look(): Promise<void> {
    for (const agent of this.#agents.values()) {
      try {
        await this.#lookFor(agent);
      } catch (error) {
        this.#tellHeldUp(agent, error);
      }
    }
    if (this.owed > 0) this.#lookLater();
  }

  /** Finds out which entries are settled, writes that down, and then says so upstream. */
  async #lookFor(agent: Agent): Promise<void> {
    const { inbox, tally, journal } = this.#options;
    const oldest = agent.oldest();
    if (oldest.length > 0) {
      const read = await inbox.gone({ entrySeqs: oldest.map(({ entrySeq }) => entrySeq) });
      if (read.kind === 'silent') return journal.tell('link.bridge-waiting', { agentId: agent.agentId, why: read.why });
      const gone = oldest.filter(({ entrySeq }) => read.entrySeqs.includes(entrySeq));
      agent.settle(gone.map(({ seq }) => seq));
      tally.add('bridge.settled', '', gone.length);
    }
    agent.keep();
    // Whichever waits now: it may have come again meanwhile, on another connection.
    for (const [seq, delivery] of agent.waiting) {
      if (!agent.isSettled(seq)) continue;
      agent.waiting.delete(seq);
      agent.heldUp = undefined;
      delivery.confirm();
    }
  }

  /** Told to a person once, until something gets through. */
  #tellHeldUp(agent: Agent, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.#options.tally.add('bridge.held-up');
    // By its code where it has one: a text may name another file each time.
    const kind = (error as { code?: string }).code ?? why;
    if (agent.heldUp === kind) return;
    agent.heldUp = kind;
    this.#options.journal.tell('link.bridge-held-up', { agent: agent.name, agentId: agent.agentId, why });
  }
}

/** One hosted agent's entries. What cannot be written down stays unwritten, and `keep` throws, until it can. */
class Agent {
  readonly agentId: string;
  readonly name: string;
  /** What came and is not placed yet, by upstream sequence. */
  readonly due = new Map<number, Delivery>();
  /** What lies in the space, and is confirmed when it is gone from there. */
  readonly waiting = new Map<number, Delivery>();
  turn: Promise<void> = Promise.resolve();
  /** What was last told of why it goes no further. */
  heldUp: string | undefined;
  readonly #store: MarkStore;
  #marks: { readonly held: Map<number, number>; readonly settled: Set<number> } | undefined;
  #isWritten = true;

  constructor(of: { agentId: string; name: string; store: MarkStore }) {
    this.agentId = of.agentId;
    this.name = of.name;
    this.#store = of.store;
  }

  /** Read when first asked for, and again for as long as they cannot be read. */
  get #known() {
    if (this.#marks !== undefined) return this.#marks;
    const marks = this.#store.read(this.agentId);
    const held = Object.entries(marks?.held ?? {}).map(([seq, entrySeq]) => [Number(seq), entrySeq] as const);
    this.#marks = { held: new Map(held), settled: new Set(marks?.settled) };
    return this.#marks;
  }

  isSettled = (seq: number): boolean => this.#known.settled.has(seq);
  entryOf = (seq: number): number | undefined => this.#known.held.get(seq);

  /** The first that is due. Those of a connection that is gone come again. */
  next(): Delivery | undefined {
    for (const [seq, { ended }] of this.due) if (ended.aborted) this.due.delete(seq);
    const first = Math.min(...this.due.keys());
    return this.due.get(first);
  }

  /** What is looked for in one turn. */
  oldest(): readonly { seq: number; entrySeq: number }[] {
    for (const [seq, { ended }] of this.waiting) if (ended.aborted) this.waiting.delete(seq);
    return [...this.waiting].slice(0, LOOKED_FOR).flatMap(([seq]) => {
      const entrySeq = this.entryOf(seq);
      return entrySeq === undefined ? [] : [{ seq, entrySeq }];
    });
  }

  hold(seq: number, entrySeq: number): void {
    this.#known.held.set(seq, entrySeq);
    this.#isWritten = false;
  }

  settle(seqs: readonly number[]): void {
    if (seqs.length === 0) return;
    const { held, settled } = this.#known;
    for (const seq of seqs) {
      held.delete(seq);
      settled.add(seq);
    }
    for (const seq of settled) {
      if (settled.size <= REMEMBERED) break;
      settled.delete(seq);
    }
    this.#isWritten = false;
  }

  /** What is known is on disk before it is acted upon (G2). */
  keep(): void {
    if (this.#isWritten) return;
    const { held, settled } = this.#known;
    this.#store.write(this.agentId, { held: Object.fromEntries(held), settled: [...settled] });
    this.#isWritten = true;
  }
}

/** Waits, or until it is of no use any more. */
const pause = (ms: number, ended: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      ended.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    ended.addEventListener('abort', over);
    if (ended.aborted) over();
  });
