/**
 * Writes to one stream that are stored in their turn or never: each says which sequence it must come right behind. What was sent
 * and never answered (a connection that hangs, a server that was cut off) may arrive much later; when its sequence is taken by
 * then, the broker refuses it. So whoever wants to know what became of it takes the sequences: that is the barrier. After it,
 * what the stream shows is all that will come of anything that was sent before.
 *
 * Somebody else may write to the stream too (a message that was steered there): then the turn is lost, and taken anew. After some
 * turns in a row nothing is expected any more: nobody may keep hand-offs from going on by writing much.
 */
import { z } from 'zod';
import type { Denied, Refused, Silent } from '../ports.ts';
import type { BatchOutcome, EachOutcome, NotStored, Outgoing } from './batch.ts';
import { type GatedBroker, notStored } from './gated-broker.ts';

/**
 * Messages that `each` sends side by side, at most. Each comes right behind the one before, so that the barrier takes as many
 * sequences: fewer, and a late one would find its own.
 */
export const SIDE_BY_SIDE = 16;
/** Turns that are lost in a row before a write goes without one. */
const TURNS = 3;
const doneSchema = z.looseObject({ success: z.boolean() });
const STANDS = { kind: 'stands' } as const;
type Stands = typeof STANDS;
type Turn = Stands | NotStored | Silent;

export class Chain {
  readonly #broker: Pick<GatedBroker, 'batch' | 'each' | 'api'>;
  readonly #stream: string;
  readonly #subject: string;
  /** The stream's last sequence, by what was answered; `unknown` after something that was not. */
  #last: number | 'sending' | 'unknown' = 'unknown';
  #taking: Promise<Turn> | undefined;

  /** `subject`: one of the stream's that nobody reads. */
  constructor(of: { broker: Pick<GatedBroker, 'batch' | 'each' | 'api'>; stream: string; subject: string }) {
    this.#broker = of.broker;
    this.#stream = of.stream;
    this.#subject = of.subject;
  }

  /** Answers when nothing that was sent before and is not answered can be stored any more. */
  async barrier(): Promise<Stands | Refused | Denied | Silent> {
    const taken = await this.#turn();
    return taken.kind === 'stands' || taken.kind === 'silent' ? taken : notStored(taken);
  }

  /** One turn for all that ask at a time; none is needed while everything that was sent is answered. */
  async #turn(): Promise<Turn> {
    // What is being sent now came behind a turn of its own.
    if (this.#last !== 'unknown') return STANDS;
    this.#taking ??= this.#take().finally(() => {
      this.#taking = undefined;
    });
    return this.#taking;
  }

  async #take(): Promise<Turn> {
    const nothing = { subject: this.#subject, data: new Uint8Array() };
    const outcome = await this.#broker.batch(Array.from({ length: SIDE_BY_SIDE }, () => nothing));
    if (outcome.kind === 'duplicate') return { kind: 'silent', why: 'no outcome' };
    if (outcome.kind !== 'stored') return outcome;
    this.#last = outcome.lastSeq;
    // They have done what they are for. Those that stay are removed with the next ones.
    const query = { filter: this.#subject, seq: outcome.lastSeq + 1 };
    void this.#broker.api(`STREAM.PURGE.${this.#stream}`, query, doneSchema);
    return STANDS;
  }

  async batch(messages: readonly Outgoing[]): Promise<BatchOutcome | Silent> {
    for (let turn = 1; ; turn++) {
      const taken = await this.#turn();
      if (taken.kind !== 'stands') return taken;
      const outcome = await this.#send(
        turn,
        (behind) =>
          this.#broker.batch(messages.map((message, n) => (n === 0 ? { ...message, ...behind(0) } : message))),
        (answer) => (answer.kind === 'stored' ? answer.lastSeq : 'unknown'),
      );
      if (outcome.kind !== 'conflict' || turn > TURNS) return outcome;
    }
  }

  /** At most `SIDE_BY_SIDE` messages. */
  async each(messages: readonly Outgoing[]): Promise<EachOutcome[] | Silent> {
    if (messages.length > SIDE_BY_SIDE) throw new Error(`${messages.length} messages side by side`);
    const outcomes: EachOutcome[] = [];
    let left = messages.map((message, i) => ({ message, i }));
    for (let turn = 1; left.length > 0; turn++) {
      const taken = await this.#turn();
      if (taken.kind === 'silent') return taken;
      if (taken.kind !== 'stands') {
        for (const { i } of left) outcomes[i] = taken;
        return outcomes;
      }
      const sent = await this.#send(
        turn,
        (behind) => this.#broker.each(left.map(({ message }, n) => ({ ...message, ...behind(n) }))),
        (answer) => (Array.isArray(answer) ? lastOf(answer) : 'unknown'),
      );
      if (!Array.isArray(sent)) return sent;
      for (const [n, outcome] of sent.entries()) outcomes[left[n]?.i ?? 0] = outcome;
      if (turn > TURNS) break;
      left = left.filter((_, n) => sent[n]?.kind === 'conflict');
    }
    return outcomes;
  }

  async #send<T>(
    turn: number,
    work: (behind: (n: number) => { expectLastSeq?: number }) => Promise<T>,
    last: (answer: T) => number | 'unknown',
  ): Promise<T> {
    const before = this.#last;
    this.#last = 'sending';
    let after: number | 'unknown' = 'unknown';
    try {
      const answer = await work((n) =>
        turn > TURNS || typeof before !== 'number' ? {} : { expectLastSeq: before + n },
      );
      after = last(answer);
      return answer;
    } finally {
      this.#last = after;
    }
  }
}

/** Where the last of them lies, if every one was stored. */
function lastOf(outcomes: readonly EachOutcome[]): number | 'unknown' {
  const stored = outcomes.flatMap((outcome) => (outcome.kind === 'stored' ? [outcome.seq] : []));
  return stored.length === outcomes.length ? Math.max(...stored) : 'unknown';
}
