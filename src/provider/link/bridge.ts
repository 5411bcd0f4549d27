/**
 * The bridge: what comes for a hosted agent becomes a pending entry of the member that it is mapped to, and is acknowledged
 * upstream when that entry is settled.
 *
 *   G1  nothing is acknowledged before its entry is gone: confirmed by the member, or refused by the reader's own check; an
 *       entry that is gone because its lifecycle was retired was neither, and goes to the one that follows
 *   G2  what is known of an entry (where it lies, that it is settled) is on disk before it is acted upon; a repeat after
 *       any crash finds its entry, and one whose entry is settled counts as confirmed
 *   G3  a space that does not answer, or a disk that takes nothing, costs nothing but time: it is tried again, and nothing is
 *       acknowledged meanwhile
 *   G4  what can never be an entry is told, acknowledged and dropped: kept, it would block everything behind it
 */

import { type Member, memberKey, readMember } from '../../domain/names.ts';
import { bridgedPost } from '../../domain/provider/bridge.ts';
import type { Journal } from '../../services/ports.ts';
import type { Tally } from '../../services/tally.ts';
import { BridgedAgent, type Held, type MarkStore } from './bridged-agent.ts';
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
  /** Who reads for the member's principal now: the member, as long as its grant lives, or the lifecycle that follows it. */
  living(of: {
    member: Member;
  }): Promise<{ kind: 'living'; member: Member } | { kind: 'nobody' } | { kind: 'silent'; why: string }>;
  /** Those of the entries that are gone. */
  gone(of: {
    entrySeqs: readonly number[];
  }): Promise<{ kind: 'read'; entrySeqs: readonly number[] } | { kind: 'silent'; why: string }>;
}

export interface BridgeOptions {
  readonly inbox: HostedInbox;
  /** Hosted name → member, as it is at the start: which lifecycle that is may change. */
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

export class Bridge implements Deliveries {
  readonly #options: BridgeOptions;
  readonly #members: Map<string, Member>;
  readonly #agents = new Map<string, BridgedAgent>();
  readonly #stopped = new AbortController();
  #looking: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: BridgeOptions) {
    this.#options = options;
    this.#members = new Map(options.members);
  }

  take(delivery: Delivery): void {
    if (!this.#members.has(delivery.agent)) return;
    const agent = this.#agentOf(delivery);
    this.#placeLater(agent, delivery);
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

  #agentOf({ agentId, agent: name }: Delivery): BridgedAgent {
    const known = this.#agents.get(agentId);
    if (known !== undefined) return known;
    const made = new BridgedAgent({ agentId, name, store: this.#options.marks });
    this.#agents.set(agentId, made);
    return made;
  }

  #placeLater(agent: BridgedAgent, delivery: Delivery): void {
    agent.due.set(delivery.seq, delivery);
    agent.turn = agent.turn.then(() => this.#placeNext(agent));
  }

  /** Places the first one that is due, however long that takes: what is behind it waits, and other agents do not. */
  async #placeNext(agent: BridgedAgent): Promise<void> {
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
  async #place(agent: BridgedAgent, delivery: Delivery): Promise<boolean> {
    const { inbox, space, node, journal, tally, now = Date.now } = this.#options;
    const { agentId, seq, msgId, payload } = delivery;
    if (agent.isSettled(seq)) {
      agent.keep();
      tally.add('bridge.settled-before');
      delivery.confirm();
      return true;
    }
    if (agent.entryOf(seq) === undefined) {
      const member = await this.#reader(agent, delivery);
      if (member === undefined) return false;
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
      agent.hold(seq, { entrySeq: stored.entrySeq, member: memberKey(member) });
      tally.add('bridge.stored');
    }
    agent.keep();
    agent.waiting.set(seq, delivery);
    this.#lookLater();
    return true;
  }

  /** Asked before each entry: one for a lifecycle that is retired is read by nobody. */
  async #reader(agent: BridgedAgent, { agent: name, seq }: Delivery): Promise<Member | undefined> {
    const { inbox, journal } = this.#options;
    const { agentId } = agent;
    const known = this.#members.get(name);
    if (known === undefined) return undefined;
    const now = await inbox.living({ member: known });
    if (now.kind === 'silent') journal.tell('link.bridge-waiting', { agentId, seq, why: now.why });
    if (now.kind === 'nobody') this.#tellHeldUp(agent, `${known.owner}.${known.actor} has no lifecycle that reads`);
    if (now.kind !== 'living') return undefined;
    if (now.member.uid !== known.uid) {
      journal.tell('link.bridge-follows', { agent: name, member: memberKey(now.member), before: memberKey(known) });
      this.#members.set(name, now.member);
    }
    return now.member;
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
  async #lookFor(agent: BridgedAgent): Promise<void> {
    const { inbox, journal } = this.#options;
    const oldest = agent.oldest();
    if (oldest.length > 0) {
      const read = await inbox.gone({ entrySeqs: oldest.map(({ entrySeq }) => entrySeq) });
      if (read.kind === 'silent') return journal.tell('link.bridge-waiting', { agentId: agent.agentId, why: read.why });
      await this.#judge(
        agent,
        oldest.filter(({ entrySeq }) => read.entrySeqs.includes(entrySeq)),
      );
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

  /** Gone is settled where the lifecycle still reads, asked after the entry was gone; else it is placed again. */
  async #judge(agent: BridgedAgent, gone: readonly Held[]): Promise<void> {
    const { inbox, tally, journal } = this.#options;
    for (const key of new Set(gone.map(({ member }) => member))) {
      const seqs = gone.filter(({ member }) => member === key).map(({ seq }) => seq);
      // Marks of an older build do not say whose the entry was: it counts as the present lifecycle's.
      const member = readMember(key ?? '') ?? this.#members.get(agent.name);
      if (member === undefined) continue;
      const now = await inbox.living({ member });
      if (now.kind === 'silent') {
        journal.tell('link.bridge-waiting', { agentId: agent.agentId, why: now.why });
      } else if (now.kind === 'living' && now.member.uid === member.uid) {
        agent.settle(seqs);
        tally.add('bridge.settled', '', seqs.length);
      } else {
        tally.add('bridge.orphaned', '', seqs.length);
        for (const delivery of agent.release(seqs)) this.#placeLater(agent, delivery);
      }
    }
  }

  /** Told to a person once, until something gets through. */
  #tellHeldUp(agent: BridgedAgent, error: unknown): void {
    const why = error instanceof Error ? error.message : String(error);
    this.#options.tally.add('bridge.held-up');
    // By its code where it has one: a text may name another file each time.
    const kind = (error as { code?: string }).code ?? why;
    if (agent.heldUp === kind) return;
    agent.heldUp = kind;
    this.#options.journal.tell('link.bridge-held-up', { agent: agent.name, agentId: agent.agentId, why });
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
