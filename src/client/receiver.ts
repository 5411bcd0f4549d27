/**
 * The one receiver through which everything surfaces: live posts, backfill and durable copies.
 *
 *   V1  a post is known by (from.id, channel, id) and announced once, whichever way it comes first; never by an empty id
 *   V2  a redelivery of a copy that was not confirmed yet is announced again: an announcement may have been lost
 *   V3  a copy is confirmed only after the caller said that the post was surfaced; then every later copy of it is
 *       confirmed too, without being announced
 *   V4  what is remembered is bounded; what was forgotten is announced again, which is what at-least-once means
 */
import { type Message, sightingKey } from '../domain/message.ts';

/** What became of a confirmation. */
export type Confirmed =
  /** The broker has it: the copy does not come again. */
  | { kind: 'confirmed' }
  /** No copy to confirm: it came live or as history. A copy that still comes is confirmed by itself. */
  | { kind: 'noted' }
  /** The broker did not answer. The copy comes again and is confirmed then, without being announced. */
  | { kind: 'unanswered'; why: string };

/**
 * What a copy without an id is known by. Its own sequence is not enough: a broker that lost the end of its store gives
 * sequences out again, to copies of other posts.
 */
const namelessKey = ({ ts }: Message, { copySeq, channel, seq, generation }: CopyInHand): string =>
  JSON.stringify(['copy', copySeq, channel, seq, generation, ts]);

/** A durable copy in hand: what can be done with it. */
export interface CopyInHand {
  readonly channel: string;
  /** Sequence of the post on the channel. */
  readonly seq: number;
  readonly generation: number;
  /** Sequence of the copy itself: the same at every redelivery; another copy's too after a broker lost the end of its store. */
  readonly copySeq: number;
  readonly redelivered: boolean;
  confirm(): Promise<Confirmed>;
  /** Gives it back: it can be pulled again at once. */
  giveBack(): void;
}

export type Source = 'live' | 'backfill' | 'durable';

/** A post as it is surfaced to the agent. */
export interface Surfaced {
  readonly message: Message;
  readonly channel: string;
  /** Sequence of the post on the channel; null where it came live. */
  readonly seq: number | null;
  /** Whether it is a durable copy, which is owed until it is confirmed. */
  readonly durable: boolean;
  readonly source: Source;
  /** It was handed over before and not confirmed. */
  readonly redelivered: boolean;
  /** Says that it was surfaced: acknowledges the copy, with an answer. May be called again. */
  confirm(): Promise<Confirmed>;
}

interface Sighting {
  readonly key: string;
  surfaced: boolean;
  /** Copies of it that are in hand and not confirmed, by their own sequence. */
  readonly copies: Map<number, CopyInHand>;
  /** Announced, and not taken yet. */
  waiting: boolean;
  /** What the last confirmation that was answered came to. */
  settled: Confirmed;
}

interface Announced {
  readonly sighting: Sighting;
  readonly post: Surfaced;
  readonly copy: CopyInHand | undefined;
}

export interface ReceiverSetting {
  /** Posts that are remembered. */
  readonly remembered: number;
  /** Live posts that wait to be taken, at most: the oldest are dropped, as live delivery is at-most-once. */
  readonly waitingLive: number;
  /** There is something to take. */
  announced(): void;
  dropped(count: number): void;
}

export class Receiver {
  readonly #setting: ReceiverSetting;
  readonly #sightings = new Map<string, Sighting>();
  #queue: Announced[] = [];
  #waitingLive = 0;
  #nameless = 0;
  readonly #confirming = new Set<Promise<Confirmed>>();
  /** Posts that came again and were not announced. */
  duplicates = 0;

  constructor(setting: ReceiverSetting) {
    this.#setting = setting;
  }

  /** How many posts are known; bounded. */
  get size(): number {
    return this.#sightings.size;
  }

  /** Whether a post was announced before; never true for one without an id. */
  knows(message: Message): boolean {
    const key = sightingKey(message);
    return key !== undefined && this.#sightings.has(key);
  }

  offerLive(message: Message): void {
    this.#offerUncopied(message, 'live', null);
  }

  offerBackfill(message: Message, seq: number): void {
    this.#offerUncopied(message, 'backfill', seq);
  }

  #offerUncopied(message: Message, source: Source, seq: number | null): void {
    const key = sightingKey(message);
    if (key !== undefined && this.#sightings.has(key)) {
      this.duplicates++;
      return;
    }
    const sighting = this.#remember(key ?? `nameless ${++this.#nameless}`);
    this.#announce(sighting, { message, channel: message.channel, seq, durable: false, source, redelivered: false });
    if (++this.#waitingLive > this.#setting.waitingLive) this.#dropOldestLive();
  }

  offerCopy(message: Message, copy: CopyInHand): void {
    const key = sightingKey(message) ?? namelessKey(message, copy);
    const known = this.#sightings.get(key);
    if (known?.surfaced === true) {
      this.duplicates++;
      this.#touch(known);
      // In place of the one whose confirmation was not answered.
      known.copies.set(copy.copySeq, copy);
      void this.#confirm(known, copy);
      return;
    }
    const sighting = known ?? this.#remember(key);
    const again = copy.redelivered || sighting.copies.has(copy.copySeq);
    sighting.copies.set(copy.copySeq, copy);
    const { channel, seq, redelivered } = copy;
    const post = { message, channel, seq, durable: true, source: 'durable', redelivered } as const;
    if (known === undefined || (again && !known.waiting)) return this.#announce(sighting, post, copy);
    // The copy of a post that was announced another way a moment ago is only kept, to be confirmed with it.
    this.duplicates++;
    const at = this.#queue.findIndex((each) => each.sighting === sighting && !each.post.durable);
    if (at < 0) return;
    this.#waitingLive--;
    this.#queue[at] = this.#announcement(sighting, post, copy);
  }

  /** The next post to surface, or undefined. `isWanted` false: it is passed over, and its copy neither confirmed nor given back. */
  take(isWanted: (copy: CopyInHand) => boolean = () => true): Surfaced | undefined {
    for (;;) {
      const next = this.#queue.shift();
      if (next === undefined) return undefined;
      const { sighting, post, copy } = next;
      sighting.waiting = false;
      if (!post.durable) this.#waitingLive--;
      if (sighting.surfaced) {
        // It was queued again before the caller confirmed it, which confirmed this copy too.
        this.duplicates++;
        continue;
      }
      if (copy === undefined || isWanted(copy)) return post;
      sighting.copies.delete(copy.copySeq);
      if (sighting.copies.size === 0) this.#sightings.delete(sighting.key);
    }
  }

  /** Forgets what of a channel waits without a copy: the channel was left, and nobody owes it. */
  dropUncopied(channel: string): void {
    const isDropped = ({ post }: Announced) => !post.durable && post.channel === channel;
    for (const { sighting } of this.#queue.filter(isDropped)) {
      this.#waitingLive--;
      this.#sightings.delete(sighting.key);
    }
    this.#queue = this.#queue.filter((each) => !isDropped(each));
  }

  /** How many posts wait to be taken. */
  get waiting(): number {
    return this.#queue.length;
  }

  /** Gives back every copy that is in hand and was not said to be surfaced. Live posts stay. */
  giveBack(): void {
    this.#queue = this.#queue.filter(({ post }) => !post.durable);
    for (const sighting of [...this.#sightings.values()]) {
      if (sighting.surfaced || sighting.copies.size === 0) continue;
      for (const copy of sighting.copies.values()) copy.giveBack();
      sighting.copies.clear();
      sighting.waiting = this.#queue.some((each) => each.sighting === sighting);
    }
  }

  #announce(sighting: Sighting, post: Omit<Surfaced, 'confirm'>, copy?: CopyInHand): void {
    sighting.waiting = true;
    this.#queue.push(this.#announcement(sighting, post, copy));
    this.#setting.announced();
  }

  #announcement(sighting: Sighting, post: Omit<Surfaced, 'confirm'>, copy: CopyInHand | undefined): Announced {
    return { sighting, copy, post: { ...post, confirm: () => this.#surfaced(sighting) } };
  }

  async #surfaced(sighting: Sighting): Promise<Confirmed> {
    const current = this.#sightings.get(sighting.key);
    // It was forgotten and came again meanwhile: what came again is the same post.
    if (current !== undefined && current !== sighting) {
      for (const copy of current.copies) sighting.copies.set(...copy);
      current.surfaced = true;
    }
    sighting.surfaced = true;
    this.#touch(sighting);
    const outcomes = await Promise.all([...sighting.copies.values()].map((copy) => this.#confirm(sighting, copy)));
    return outcomes.find(({ kind }) => kind === 'unanswered') ?? sighting.settled;
  }

  /** Resolves when no confirmation is under way: each ends with an answer, or without one in its time. */
  async confirmed(): Promise<void> {
    while (this.#confirming.size > 0) await Promise.allSettled(this.#confirming);
  }

  async #confirm(sighting: Sighting, copy: CopyInHand): Promise<Confirmed> {
    const confirming = copy.confirm();
    this.#confirming.add(confirming);
    const outcome = await confirming.finally(() => this.#confirming.delete(confirming));
    if (outcome.kind !== 'confirmed') return outcome;
    if (sighting.copies.get(copy.copySeq) === copy) sighting.copies.delete(copy.copySeq);
    sighting.settled = outcome;
    return outcome;
  }

  #remember(key: string): Sighting {
    const sighting: Sighting = { key, surfaced: false, copies: new Map(), waiting: false, settled: { kind: 'noted' } };
    this.#sightings.set(key, sighting);
    this.#forget();
    return sighting;
  }

  #touch(sighting: Sighting): void {
    this.#sightings.delete(sighting.key);
    this.#sightings.set(sighting.key, sighting);
    this.#forget();
  }

  /**
   * The oldest go first; not those that wait to be taken, and not those with a copy in hand, which the broker bounds. A copy
   * whose confirmation was not answered is not in hand: where the broker took it all the same, it never comes again.
   */
  #forget(): void {
    if (this.#sightings.size <= this.#setting.remembered) return;
    for (const [key, { surfaced, waiting, copies }] of this.#sightings) {
      if (waiting || (copies.size > 0 && !surfaced)) continue;
      this.#sightings.delete(key);
      if (this.#sightings.size <= this.#setting.remembered) return;
    }
  }

  #dropOldestLive(): void {
    const at = this.#queue.findIndex(({ post }) => !post.durable);
    const [dropped] = this.#queue.splice(at, 1);
    if (dropped === undefined) return;
    this.#waitingLive--;
    dropped.sighting.waiting = false;
    this.#sightings.delete(dropped.sighting.key);
    this.#setting.dropped(1);
  }
}
