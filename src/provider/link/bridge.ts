/**
 * The bridge: what comes for a hosted agent becomes a pending entry of the member that it is mapped to, and is acknowledged
 * upstream when that entry is settled.
 *
 *   G1  nothing is acknowledged before its entry is gone: confirmed by the member, or refused by the reader's own check
 *   G2  what is known of an entry (where it lies, that it is settled) is on disk before it is acted upon; a repeat after
 *       any crash finds its entry, and one whose entry is settled counts as confirmed
 *   G3  a space that does not answer costs nothing but time: it is asked again, and nothing is acknowledged meanwhile
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
  #turn: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BridgeOptions) {
    this.#options = options;
  }

  take(delivery: Delivery): void {
    this.#turn = this.#turn.then(() => this.#place(delivery));
  }

  /** Entries that are owed, of all agents. */
  get owed(): number {
    return [...this.#agents.values()].reduce((sum, agent) => sum + agent.waiting.size, 0);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    for (const { waiting } of this.#agents.values()) waiting.clear();
    await this.#turn;
  }

  #agentOf(agentId: string): Agent {
    const known = this.#agents.get(agentId);
    if (known !== undefined) return known;
    const made = new Agent(agentId, this.#options.marks);
    this.#agents.set(agentId, made);
    return made;
  }

  /** Puts one delivery into the space, or finds out that it is there or was settled. */
  async #place(delivery: Delivery): Promise<void> {
    const { inbox, members, space, node, journal, tally, pollMs, now = Date.now } = this.#options;
    const { agentId, seq, msgId, payload } = delivery;
    const member = members.get(delivery.agent);
    const agent = this.#agentOf(agentId);
    if (member === undefined || delivery.ended.aborted) return;
    if (agent.isSettled(seq)) {
      tally.add('bridge.settled-before');
      return delivery.confirm();
    }
    let entrySeq = agent.entryOf(seq);
    while (entrySeq === undefined) {
      const { channel, post } = bridgedPost({ arrived: { msgId, payload }, space, node, at: now() });
      const stored = await inbox.store({ member, channel, msgId, seq, post });
      if (delivery.ended.aborted && stored.kind !== 'stored') return;
      if (stored.kind === 'unfit') {
        tally.add('bridge.unfit');
        journal.tell('link.bridge-unfit', { agent: delivery.agent, agentId, seq, why: stored.why });
        agent.settle([seq]);
        return delivery.confirm();
      }
      if (stored.kind === 'silent') {
        tally.add('bridge.silent');
        journal.tell('link.bridge-waiting', { agentId, seq, why: stored.why });
        await pause(pollMs, delivery.ended);
        continue;
      }
      entrySeq = stored.entrySeq;
      agent.hold(seq, entrySeq);
      tally.add('bridge.stored');
    }
    agent.waiting.set(seq, { entrySeq, delivery });
    this.#lookLater();
  }

  #lookLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#turn = this.#turn.then(() => this.#look());
    }, this.#options.pollMs);
  }

  /** Finds out which entries are settled, writes that down, and then says so upstream. */
  async #look(): Promise<void> {
    const { inbox, tally, journal } = this.#options;
    for (const agent of this.#agents.values()) {
      agent.dropEnded();
      const oldest = [...agent.waiting].slice(0, LOOKED_FOR);
      if (oldest.length === 0) continue;
      const read = await inbox.gone({ entrySeqs: oldest.map(([, { entrySeq }]) => entrySeq) });
      if (read.kind === 'silent') {
        journal.tell('link.bridge-waiting', { agentId: agent.agentId, why: read.why });
        continue;
      }
      const gone = oldest.filter(([, { entrySeq }]) => read.entrySeqs.includes(entrySeq));
      agent.settle(gone.map(([seq]) => seq));
      tally.add('bridge.settled', '', gone.length);
      for (const [, { delivery }] of gone) delivery.confirm();
    }
    if (this.owed > 0) this.#lookLater();
  }
}

/** One hosted agent's entries. */
class Agent {
  readonly agentId: string;
  readonly waiting = new Map<number, { readonly entrySeq: number; readonly delivery: Delivery }>();
  readonly #store: MarkStore;
  readonly #held: Map<number, number>;
  readonly #settled: Set<number>;

  constructor(agentId: string, store: MarkStore) {
    const marks = store.read(agentId);
    this.agentId = agentId;
    this.#store = store;
    this.#held = new Map(Object.entries(marks?.held ?? {}).map(([seq, entrySeq]) => [Number(seq), entrySeq]));
    this.#settled = new Set(marks?.settled);
  }

  isSettled = (seq: number): boolean => this.#settled.has(seq);
  entryOf = (seq: number): number | undefined => this.#held.get(seq);

  hold(seq: number, entrySeq: number): void {
    this.#held.set(seq, entrySeq);
    this.#keep();
  }

  settle(seqs: readonly number[]): void {
    if (seqs.length === 0) return;
    for (const seq of seqs) {
      this.waiting.delete(seq);
      this.#held.delete(seq);
      this.#settled.add(seq);
    }
    for (const seq of this.#settled) {
      if (this.#settled.size <= REMEMBERED) break;
      this.#settled.delete(seq);
    }
    this.#keep();
  }

  /** Those of a connection that is gone come again. */
  dropEnded(): void {
    for (const [seq, { delivery }] of this.waiting) if (delivery.ended.aborted) this.waiting.delete(seq);
  }

  #keep(): void {
    this.#store.write(this.agentId, { held: Object.fromEntries(this.#held), settled: [...this.#settled] });
  }
}

/** Waits, or until the delivery's connection is gone. */
const pause = (ms: number, ended: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const over = (): void => {
      clearTimeout(timer);
      ended.removeEventListener('abort', over);
      resolve();
    };
    const timer = setTimeout(over, ms);
    ended.addEventListener('abort', over);
  });
