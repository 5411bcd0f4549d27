/** A durable pull consumer with explicit acknowledgement, as the writer has one on CHAT. */
import type { Clock } from '../ports.ts';
import type { Kept, MemoryStream } from './stream.ts';

const ACK_WAIT_MS = 60_000;
const MAX_ACK_PENDING = 1_000;

export class FanoutConsumer {
  readonly #clock: Clock;
  readonly #stream: MemoryStream;
  #delivered: number;
  #floor: number;
  /** Delivered and not acknowledged: since when. */
  readonly #pending = new Map<number, number>();
  #end: ((why: string) => void) | undefined;

  constructor({ clock, stream, after }: { clock: Clock; stream: MemoryStream; after: number }) {
    this.#clock = clock;
    this.#stream = stream;
    this.#delivered = after;
    this.#floor = after;
  }

  /** Highest sequence that was delivered. */
  get delivered(): number {
    return this.#delivered;
  }
  /** Everything up to here is acknowledged. */
  get floor(): number {
    return this.#floor;
  }
  get pending(): number {
    return this.#pending.size;
  }

  place(): { position: number; floor: number; unsettled: number } {
    return { position: this.#delivered, floor: this.#floor, unsettled: this.#pending.size };
  }

  /** The next one: an old one that was not acknowledged in time, else a new one. */
  next(): Kept | undefined {
    const now = this.#clock.now().wallMs;
    for (const [seq, since] of this.#pending) {
      if (now - since < ACK_WAIT_MS) continue;
      const kept = this.#stream.get(seq);
      if (kept === undefined) {
        this.ack(seq);
        continue;
      }
      this.#pending.set(seq, now);
      return kept;
    }
    if (this.#pending.size >= MAX_ACK_PENDING) return undefined;
    const [kept] = this.#stream.page({ filter: '>', after: this.#delivered, limit: 1 }).kept;
    if (kept === undefined) return undefined;
    this.#delivered = kept.seq;
    this.#pending.set(kept.seq, now);
    return kept;
  }

  ack(seq: number): void {
    this.#pending.delete(seq);
    this.#floor = this.#pending.size === 0 ? this.#delivered : Math.min(...this.#pending.keys()) - 1;
  }

  /** Whoever pulls is told that it is over. */
  onEnd(end: (why: string) => void): void {
    this.#end = end;
  }
  end(why: string): void {
    this.#end?.(why);
  }
}
