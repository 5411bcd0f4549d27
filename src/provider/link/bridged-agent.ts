/** One hosted agent of a bridge: what came for it, where that lies in the space, and what is on disk of it. */
import type { Delivery } from './ports.ts';

/** What a bridge knows of one hosted agent's entries, by upstream sequence. */
export interface BridgeMarks {
  /** Upstream sequence → where its entry lies. */
  readonly held: Readonly<Record<string, number>>;
  /** Upstream sequence → key of the member that the entry is for. */
  readonly members?: Readonly<Record<string, string>> | undefined;
  /** Upstream sequences that are settled and may still be repeated. */
  readonly settled: readonly number[];
}

export interface MarkStore {
  read(agentId: string): BridgeMarks | undefined;
  write(agentId: string, marks: BridgeMarks): void;
}

/** An entry that lies in the space. `member`: key of the lifecycle that it is for; unknown to marks of an older build. */
export interface Held {
  readonly seq: number;
  readonly entrySeq: number;
  readonly member: string | undefined;
}

/** Settled ones that are remembered for each agent: more than a socket's window of unacknowledged frames. */
const REMEMBERED = 4_000;
/** Entries that are looked for in one turn, for each agent: the oldest first. */
const LOOKED_FOR = 64;

/** One hosted agent's entries. What cannot be written down stays unwritten, and `keep` throws, until it can. */
export class BridgedAgent {
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
  #marks: { readonly held: Map<number, Held>; readonly settled: Set<number> } | undefined;
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
    const held = new Map<number, Held>();
    for (const [key, entrySeq] of Object.entries(marks?.held ?? {})) {
      const seq = Number(key);
      held.set(seq, { seq, entrySeq, member: marks?.members?.[key] });
    }
    this.#marks = { held, settled: new Set(marks?.settled) };
    return this.#marks;
  }

  isSettled = (seq: number): boolean => this.#known.settled.has(seq);
  entryOf = (seq: number): Held | undefined => this.#known.held.get(seq);

  /** The first that is due. Those of a connection that is gone come again. */
  next(): Delivery | undefined {
    for (const [seq, { ended }] of this.due) if (ended.aborted) this.due.delete(seq);
    const first = Math.min(...this.due.keys());
    return this.due.get(first);
  }

  /** What is looked for in one turn. */
  oldest(): readonly Held[] {
    for (const [seq, { ended }] of this.waiting) if (ended.aborted) this.waiting.delete(seq);
    return [...this.waiting.keys()].slice(0, LOOKED_FOR).flatMap((seq) => this.entryOf(seq) ?? []);
  }

  hold(seq: number, of: { entrySeq: number; member: string }): void {
    this.#known.held.set(seq, { seq, ...of });
    this.#isWritten = false;
  }

  /** Forgets entries that nobody will read; answers with what has to be placed again. */
  release(seqs: readonly number[]): readonly Delivery[] {
    const deliveries = seqs.flatMap((seq) => this.waiting.get(seq) ?? []);
    for (const seq of seqs) {
      this.#known.held.delete(seq);
      this.waiting.delete(seq);
    }
    this.#isWritten = false;
    return deliveries;
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
    const entries = [...held.values()];
    this.#store.write(this.agentId, {
      held: Object.fromEntries(entries.map(({ seq, entrySeq }) => [seq, entrySeq])),
      members: Object.fromEntries(entries.flatMap(({ seq, member }) => (member === undefined ? [] : [[seq, member]]))),
      settled: [...settled],
    });
    this.#isWritten = true;
  }
}
