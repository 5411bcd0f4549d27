/**
 * A press: many small writes to one stream become few atomic batches. What asks while a batch is under way waits and goes
 * into the next one together, so that the broker syncs once for all of them. A few groups of one message each are published
 * side by side instead: the broker makes a store for each batch, which takes as long as storing a dozen messages. Each group is stored whole or not at all;
 * when a batch is refused, its groups are tried one by one, so that one group's fault is not another's. When a batch is not
 * answered, what waited behind it is not sent either: it was authorized as long ago as that took.
 */
import type { Denied, Refused, Silent, StoreOutcome } from '../ports.ts';
import { BATCH_MAX, type Outgoing } from './batch.ts';
import { SIDE_BY_SIDE } from './chain.ts';
import { type GatedBroker, notStored } from './gated-broker.ts';

interface Group {
  readonly messages: readonly Outgoing[];
  readonly bytes: number;
  settle(outcome: StoreOutcome): void;
  fail(error: unknown): void;
}

/** Bytes in one batch, at most: a batch is held in memory on both sides. */
const BATCH_BYTES = 16 * 1024 * 1024;

const UNSAID: StoreOutcome = { kind: 'silent', why: 'no outcome' };

export class Press {
  readonly #broker: Pick<GatedBroker, 'batch' | 'each'>;
  #waiting: Group[] = [];
  #running: Promise<void> | undefined;

  constructor(broker: Pick<GatedBroker, 'batch' | 'each'>) {
    this.#broker = broker;
  }

  /** Stores a group of 1 to 1000 messages, whole or not at all, in their order. */
  store(messages: readonly Outgoing[]): Promise<StoreOutcome> {
    const bytes = messages.reduce((sum, message) => sum + message.data.length, 0);
    return new Promise((settle, fail) => {
      this.#waiting.push({ messages, bytes, settle, fail });
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    // One turn of the loop, so that what is asked for in the same turn goes together.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      const groups = this.#take();
      try {
        await this.#storeTogether(groups);
      } catch (error) {
        for (const group of groups) group.fail(error);
      }
    }
    this.#running = undefined;
  }

  #take(): Group[] {
    const groups: Group[] = [];
    let messages = 0;
    let bytes = 0;
    for (const group of this.#waiting) {
      const full = messages + group.messages.length > BATCH_MAX || bytes + group.bytes > BATCH_BYTES;
      if (groups.length > 0 && full) break;
      groups.push(group);
      messages += group.messages.length;
      bytes += group.bytes;
    }
    this.#waiting = this.#waiting.slice(groups.length);
    return groups;
  }

  async #storeTogether(groups: readonly Group[]): Promise<void> {
    const areFew = groups.length <= SIDE_BY_SIDE && groups.every(({ messages }) => messages.length === 1);
    const outcomes = await (areFew ? this.#sideBySide(groups) : this.#inOneBatch(groups));
    for (const [i, group] of groups.entries()) group.settle(outcomes[i] ?? UNSAID);
    const unanswered = outcomes.find(({ kind }) => kind === 'silent');
    if (unanswered !== undefined) for (const group of this.#waiting.splice(0)) group.settle(unanswered);
  }

  async #sideBySide(groups: readonly Group[]): Promise<StoreOutcome[]> {
    const outcomes = await this.#broker.each(groups.flatMap(({ messages }) => messages));
    if (!Array.isArray(outcomes)) return groups.map(() => outcomes);
    return outcomes.map((outcome) => {
      if (outcome.kind === 'stored') return { kind: 'stored', lastSeq: outcome.seq };
      return outcome.kind === 'duplicate' ? { kind: 'duplicate' } : notStored(outcome);
    });
  }

  async #inOneBatch(groups: readonly Group[]): Promise<StoreOutcome[]> {
    const outcome = await this.#batch(groups);
    if (outcome.kind === 'silent') return groups.map(() => outcome);
    if (outcome.kind !== 'stored') {
      if (groups.length === 1) return [outcome];
      const alone: StoreOutcome[] = [];
      for (const group of groups) alone.push(await this.#batch([group]));
      return alone;
    }
    let lastSeq = outcome.lastSeq - groups.reduce((sum, { messages }) => sum + messages.length, 0);
    return groups.map(({ messages }) => {
      lastSeq += messages.length;
      return { kind: 'stored', lastSeq };
    });
  }

  async #batch(groups: readonly Group[]): Promise<StoreOutcome> {
    const outcome = await this.#broker.batch(groups.flatMap(({ messages }) => messages));
    switch (outcome.kind) {
      case 'stored':
        return { kind: 'stored', lastSeq: outcome.lastSeq };
      case 'duplicate':
      case 'silent':
        return outcome;
      default:
        return notStored(outcome) satisfies Refused | Denied | Silent;
    }
  }
}
