/** A stream as nats-server keeps one: sequences, ids inside a window, expectations, atomic batches, bounds, markers. */
import { covers } from '../../domain/names.ts';
import type { Clock } from '../ports.ts';

export interface Kept {
  readonly seq: number;
  readonly subject: string;
  readonly storedAt: number;
  readonly data: Uint8Array;
  header(name: string): string;
}

export interface ToKeep {
  readonly subject: string;
  readonly data: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
  readonly msgId?: string;
  /** The subject's last sequence must be this; 0: it must have none. */
  readonly expectLastSubjectSeq?: number;
}

export type KeepOutcome = { kind: 'stored'; seq: number } | { kind: 'duplicate'; seq: number } | { kind: 'conflict' };

export interface StreamSetting {
  readonly clock: Clock;
  /** Messages of one subject; the oldest makes room. Unbounded unless told. */
  readonly perSubject?: number;
  readonly duplicateWindowMs?: number;
  /** Messages end at this age, and leave a marker on their subject, which ends at the same age. */
  readonly maxAgeMs?: number;
}

const MARKER = 'Nats-Marker-Reason';

export class MemoryStream {
  readonly #setting: StreamSetting;
  readonly #kept = new Map<number, Kept>();
  /** Sequences by subject, ascending. */
  readonly #bySubject = new Map<string, number[]>();
  #ids = new Map<string, { seq: number; at: number }>();
  #lastSeq = 0;
  readonly #listeners = new Set<(kept: Kept) => void>();

  constructor(setting: StreamSetting) {
    this.#setting = setting;
  }

  get lastSeq(): number {
    return this.#lastSeq;
  }
  get size(): number {
    return this.#kept.size;
  }
  get perSubject(): number {
    return this.#setting.perSubject ?? -1;
  }
  get(seq: number): Kept | undefined {
    return this.#kept.get(seq);
  }
  all(): Kept[] {
    return [...this.#kept.values()];
  }

  publish(message: ToKeep): KeepOutcome {
    const refusal = this.#refusal(message);
    return refusal ?? { kind: 'stored', seq: this.#keep(message).seq };
  }

  /** All of them or none. One id that is known, or twice in it, and nothing is stored. */
  batch(
    messages: readonly ToKeep[],
  ): { kind: 'stored'; lastSeq: number } | { kind: 'duplicate' } | { kind: 'conflict' } {
    const ids = messages.flatMap(({ msgId }) => (msgId === undefined ? [] : [msgId]));
    if (new Set(ids).size < ids.length) return { kind: 'duplicate' };
    const refusals = messages.map((message) => this.#refusal(message)?.kind);
    if (refusals.includes('duplicate')) return { kind: 'duplicate' };
    if (refusals.includes('conflict')) return { kind: 'conflict' };
    for (const message of messages) this.#keep(message);
    return { kind: 'stored', lastSeq: this.#lastSeq };
  }

  #refusal({ subject, msgId, expectLastSubjectSeq: expected }: ToKeep): KeepOutcome | undefined {
    const known = msgId === undefined ? undefined : this.#ids.get(msgId);
    const window = this.#setting.duplicateWindowMs ?? 120_000;
    if (known !== undefined && this.#now() - known.at < window) return { kind: 'duplicate', seq: known.seq };
    if (expected !== undefined && expected !== (this.last(subject)?.seq ?? 0)) return { kind: 'conflict' };
    return undefined;
  }

  #keep({ subject, data, headers = {}, msgId }: ToKeep): Kept {
    const seq = ++this.#lastSeq;
    const all: Record<string, string> = msgId === undefined ? headers : { ...headers, 'Nats-Msg-Id': msgId };
    const kept: Kept = { seq, subject, storedAt: this.#now(), data, header: (name) => all[name] ?? '' };
    this.#kept.set(seq, kept);
    const mine = this.#bySubject.get(subject) ?? [];
    this.#bySubject.set(subject, mine);
    mine.push(seq);
    if (msgId !== undefined) this.#ids.set(msgId, { seq, at: kept.storedAt });
    const bound = this.#setting.perSubject ?? 0;
    if (bound > 0) for (const old of mine.slice(0, Math.max(0, mine.length - bound))) this.remove(old);
    for (const listener of [...this.#listeners]) listener(kept);
    return kept;
  }

  /** True when it was there. */
  remove(seq: number): boolean {
    const kept = this.#kept.get(seq);
    if (kept === undefined) return false;
    this.#kept.delete(seq);
    const left = (this.#bySubject.get(kept.subject) ?? []).filter((each) => each !== seq);
    if (left.length === 0) this.#bySubject.delete(kept.subject);
    else this.#bySubject.set(kept.subject, left);
    return true;
  }

  /** Removes what fits the filter up to a sequence, that one included; answers how many. */
  purge({ filter, upTo }: { filter: string; upTo: number }): number {
    const gone = this.#fitting(filter).filter((seq) => seq <= upTo);
    for (const seq of gone) this.remove(seq);
    return gone.length;
  }

  /** Its end is lost, and its sequences are given out again: a broker whose disk was full, or whose machine failed. */
  rewind(to: number): void {
    for (const seq of [...this.#kept.keys()].filter((each) => each > to)) this.remove(seq);
    this.#lastSeq = Math.min(this.#lastSeq, to);
  }

  page({ filter, after, limit }: { filter: string; after: number; limit: number }): { kept: Kept[]; pending: number } {
    const seqs = this.#fitting(filter).filter((seq) => seq > after);
    const kept = seqs.slice(0, limit).flatMap((seq) => this.#kept.get(seq) ?? []);
    return { kept, pending: Math.max(0, seqs.length - limit) };
  }

  last(subject: string): Kept | undefined {
    const seq = this.#bySubject.get(subject)?.at(-1);
    return seq === undefined ? undefined : this.#kept.get(seq);
  }

  /** Messages by subject. */
  subjects(filter: string): Map<string, number> {
    const counts = new Map<string, number>();
    for (const [subject, seqs] of this.#bySubject) if (covers(filter, subject)) counts.set(subject, seqs.length);
    return counts;
  }

  #fitting(filter: string): number[] {
    const seqs: number[] = [];
    for (const [subject, mine] of this.#bySubject) if (covers(filter, subject)) seqs.push(...mine);
    return seqs.sort((a, b) => a - b);
  }

  listen(listener: (kept: Kept) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** What has reached its age ends; a row leaves a marker. */
  age(): void {
    const { maxAgeMs } = this.#setting;
    if (maxAgeMs === undefined) return;
    for (const kept of this.all()) {
      if (this.#now() - kept.storedAt < maxAgeMs) continue;
      const isLast = this.last(kept.subject)?.seq === kept.seq;
      this.remove(kept.seq);
      if (isLast && kept.header(MARKER) === '' && kept.header('KV-Operation') === '') {
        this.#keep({ subject: kept.subject, data: new Uint8Array(), headers: { [MARKER]: 'MaxAge' } });
      }
    }
  }

  /** A restarted broker knows the ids of what it still holds, and no other. */
  restart(): void {
    const held = [...this.#ids].filter(([, { seq }]) => this.#kept.has(seq));
    this.#ids = new Map(held);
  }

  #now(): number {
    return this.#setting.clock.now().wallMs;
  }
}
