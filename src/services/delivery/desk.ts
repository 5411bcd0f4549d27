/** What a lane has in hand: the lists behind its counts. Rebuilt from the store whenever the lane recovers its place. */
import type { LaneMark } from '../../domain/rows.ts';
import type { HeldCopy, HeldEntry } from '../ports.ts';
import { Upcoming } from './upcoming.ts';

export interface Batch {
  readonly release: readonly HeldEntry[];
  /** Highest sequence that was looked at. */
  readonly last: number;
}

export type HowSettled = 'confirmed' | 'terminated';

export class Desk {
  /** Copies that were handed off and not confirmed: DLV sequence → INBOX sequence of the entry. */
  readonly awaiting = new Map<number, number>();
  /** Copies that are not allowed any more, or are none of ours. */
  refused: HeldCopy[] = [];
  /** INBOX sequences to be removed. */
  settled: number[] = [];
  /** Copies that were settled before it was known here that they are stored: DLV sequence → how. */
  readonly early = new Map<number, HowSettled>();
  /** Entries up to here were looked at. */
  after = 0;
  /** What lies above, as far as it is known. */
  upcoming = new Upcoming();
  /** Entries stored while the store is being asked; undefined: it is not, or one was stored that nobody can tell of. */
  heard: HeldEntry[] | undefined;
  mark: LaneMark = { handedTo: 0 };
  batch: Batch = { release: [], last: 0 };

  /** An entry of this member was stored. The posts of a window are kept in hand. */
  offer(entry: HeldEntry, window: number): void {
    this.upcoming.add(this.upcoming.size < window ? entry : entry.seq, window);
    if (this.heard === undefined) return;
    if (this.heard.length < window) this.heard.push(entry);
    else this.heard = undefined;
  }

  /**
   * Up to where every entry was looked at and none waits for its copy's confirmation: what lies there is settled. `kept`:
   * entries that are not, though no copy of them waits.
   */
  settledUpTo(kept: Iterable<number>): number {
    let first = this.after + 1;
    for (const seq of this.awaiting.values()) first = Math.min(first, seq);
    for (const seq of kept) first = Math.min(first, seq);
    return first - 1;
  }

  forgetUpcoming(): void {
    this.upcoming = new Upcoming();
    this.heard = undefined;
  }

  /** A copy was confirmed or terminated. True when the lane knew it; what it does not know yet is remembered. */
  settle(copySeq: number, how: HowSettled): boolean {
    const entrySeq = this.awaiting.get(copySeq);
    if (entrySeq === undefined) {
      this.early.set(copySeq, how);
      return false;
    }
    this.awaiting.delete(copySeq);
    this.settled.push(entrySeq);
    return true;
  }

  /** Takes copies on; answers which of them were settled before. Later copies have higher sequences: the rest is nobody's. */
  await(copies: readonly HeldCopy[]): { seq: number; how: HowSettled }[] {
    const settled: { seq: number; how: HowSettled }[] = [];
    for (const copy of copies) {
      this.awaiting.set(copy.seq, copy.entrySeq);
      const how = this.early.get(copy.seq);
      if (how === undefined) continue;
      this.settle(copy.seq, how);
      settled.push({ seq: copy.seq, how });
    }
    const last = copies.at(-1)?.seq ?? 0;
    for (const seq of this.early.keys()) if (seq <= last) this.early.delete(seq);
    return settled;
  }
}
