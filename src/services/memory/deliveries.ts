/** The members' side of DLV: their durables, and the news that a copy was confirmed or terminated. */
import { type Member, memberKey, readMember } from '../../domain/names.ts';
import { copiesOf } from '../../domain/subjects.ts';
import type { Clock, DurablePlace } from '../ports.ts';
import type { Kept, MemoryStream } from './stream.ts';

export interface Settlement {
  readonly member: Member;
  readonly seq: number;
  readonly how: 'confirmed' | 'terminated';
}

const ACK_WAIT_MS = 60_000;
const MAX_ACK_PENDING = 1_000;

export class MemoryDeliveries {
  readonly #clock: Clock;
  readonly #stream: MemoryStream;
  readonly #space: string;
  /** Durables by member: what was taken and not acknowledged, since when. */
  readonly #durables = new Map<string, Map<number, number>>();
  /** The highest copy that each has handed out. */
  readonly #delivered = new Map<string, number>();
  /** Copies that their durable counts as settled and that are there. */
  readonly #passedOver = new Set<number>();
  readonly #listeners = new Set<(news: Settlement) => void>();

  constructor({ clock, stream, space }: { clock: Clock; stream: MemoryStream; space: string }) {
    this.#clock = clock;
    this.#stream = stream;
    this.#space = space;
  }

  add(member: Member): void {
    if (!this.#durables.has(memberKey(member))) this.#durables.set(memberKey(member), new Map());
  }
  remove(member: Member): void {
    this.#durables.delete(memberKey(member));
  }

  /** Takes the copies that are there and not taken, at most `limit`, oldest first. */
  take(member: Member, limit: number): Kept[] {
    const taken = this.#durables.get(memberKey(member));
    if (taken === undefined) throw new Error(`${memberKey(member)} has no durable`);
    const now = this.#clock.now().wallMs;
    const all = this.#stream.page({ filter: copiesOf(this.#space, member), after: 0, limit: MAX_ACK_PENDING }).kept;
    const free = all.filter(
      ({ seq }) => !this.#passedOver.has(seq) && now - (taken.get(seq) ?? Number.NEGATIVE_INFINITY) >= ACK_WAIT_MS,
    );
    const next = free.slice(0, limit);
    for (const { seq } of next) taken.set(seq, now);
    const last = next.at(-1)?.seq ?? 0;
    this.#delivered.set(memberKey(member), Math.max(last, this.#delivered.get(memberKey(member)) ?? 0));
    return next;
  }

  place(member: Member): { kind: 'absent' } | ({ kind: 'read' } & DurablePlace) {
    const taken = this.#durables.get(memberKey(member));
    if (taken === undefined) return { kind: 'absent' };
    const delivered = this.#delivered.get(memberKey(member)) ?? 0;
    const all = this.#stream.page({ filter: copiesOf(this.#space, member), after: delivered, limit: MAX_ACK_PENDING });
    const floor = taken.size === 0 ? delivered : Math.min(...taken.keys()) - 1;
    return { kind: 'read', floor, pending: all.kept.length, unconfirmed: taken.size };
  }

  /** The broker lost that it ever had to deliver what was taken, and keeps it. */
  passOver(member: Member, seq: number): void {
    this.#durables.get(memberKey(member))?.delete(seq);
    this.#passedOver.add(seq);
  }

  /** The member saw it surface. Nothing is told of a copy that was purged. */
  confirm(member: Member, seq: number): void {
    this.#settle({ member, seq, how: 'confirmed' });
  }
  terminate(member: Member, seq: number): void {
    this.#settle({ member, seq, how: 'terminated' });
  }
  /** Gives it back: the next one who asks gets it at once. */
  release(member: Member, seq: number): void {
    this.#durables.get(memberKey(member))?.delete(seq);
  }

  /** The broker terminates what was in flight and is purged; what is deleted by sequence stays in flight for its durable. */
  purged(): void {
    for (const [key, taken] of this.#durables) {
      const member = readMember(key);
      for (const seq of [...taken.keys()]) {
        if (this.#stream.get(seq) !== undefined) continue;
        taken.delete(seq);
        if (member !== undefined) this.#tell({ member, seq, how: 'terminated' });
      }
    }
  }

  #settle(news: Settlement): void {
    const wasTaken = this.#durables.get(memberKey(news.member))?.delete(news.seq) ?? false;
    const wasThere = this.#stream.remove(news.seq);
    if (!wasTaken && !wasThere) return;
    this.#tell(news);
  }

  #tell(news: Settlement): void {
    for (const listener of [...this.#listeners]) listener(news);
  }

  listen(listener: (news: Settlement) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
