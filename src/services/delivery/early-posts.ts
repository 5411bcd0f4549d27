/**
 * Posts that the broker counts as delivered and that nobody here has: they were delivered to a daemon before this one, to a
 * paused one, or into a connection that is dead. The broker delivers them again only after their ack deadline; they are read
 * from CHAT at once instead and settled as if they had been delivered here: were they left unsettled, a daemon after this one
 * could not tell them from what that one was given. A delivery that comes all the same is not copied a second time.
 */
import type { DeliveredPost, Place, Posts, Silent } from '../ports.ts';

/** Posts that one look reads at the most. */
const LOOK = 1_000;

export class EarlyPosts {
  /** Taken early and not copied yet; with their delivery, where it came meanwhile. */
  readonly #waiting = new Map<number, DeliveredPost | undefined>();
  /** Taken early, copied and acknowledged; a delivery of theirs may be on its way. */
  readonly #copied = new Set<number>();
  /** Acknowledged by us and not yet below the durable's floor. */
  readonly #acknowledged = new Set<number>();
  /** Above this sequence every acknowledgement is ours, so what is missing is known exactly. */
  #ours = 0;

  /** At the opening: what was delivered and not settled, if it can be told which. */
  async open(posts: Posts, place: Place): Promise<{ kind: 'read'; posts: DeliveredPost[] } | Silent> {
    this.#ours = place.position;
    if (place.unsettled === 0) return { kind: 'read', posts: [] };
    const read = await posts.between({ after: place.floor, upTo: place.position });
    if (read.kind === 'silent') return read;
    // Where some of them are settled, it is not told which: then the broker's own deliveries are waited for.
    return { kind: 'read', posts: read.posts.length === place.unsettled ? read.posts : [] };
  }

  /** Later: what may have gone astray since. `buffer`: what is in hand. */
  async look(posts: Posts, place: Place, buffer: readonly DeliveredPost[]): Promise<DeliveredPost[]> {
    for (const settled of [this.#acknowledged, this.#copied]) {
      for (const seq of settled) if (seq <= place.floor) settled.delete(seq);
    }
    const after = Math.max(place.floor, this.#ours);
    if (place.unsettled === 0 || place.position <= after || this.#knows(after + 1, buffer)) return [];
    const read = await posts.between({ after, upTo: Math.min(place.position, after + LOOK) });
    return read.kind === 'silent' ? [] : read.posts;
  }

  /** The buffer with those of the posts that nobody has, ascending. */
  join(buffer: readonly DeliveredPost[], read: readonly DeliveredPost[]): DeliveredPost[] {
    const inHand = new Set(buffer.map((post) => post.seq));
    const missing = read.filter(
      ({ seq }) => !inHand.has(seq) && !this.#copied.has(seq) && !this.#acknowledged.has(seq),
    );
    for (const { seq } of missing) this.#waiting.set(seq, undefined);
    return [...buffer, ...missing].sort((a, b) => a.seq - b.seq);
  }

  /** Whether a post was taken early and is not settled. */
  has(seq: number): boolean {
    return this.#waiting.has(seq);
  }

  #knows(seq: number, buffer: readonly DeliveredPost[]): boolean {
    return this.#acknowledged.has(seq) || this.#copied.has(seq) || buffer.some((post) => post.seq === seq);
  }

  /** A delivery came. True when its post was taken early: then it is settled here, or when its round is. */
  meets(posts: Posts, post: DeliveredPost): boolean {
    if (this.#copied.delete(post.seq)) {
      this.#acknowledged.add(post.seq);
      posts.settle({ posts: [post] });
      return true;
    }
    if (!this.#waiting.has(post.seq)) return false;
    this.#waiting.set(post.seq, post);
    return true;
  }

  /** What is acknowledged for a round that is stored: by the delivery where one came. */
  settle(round: readonly DeliveredPost[]): DeliveredPost[] {
    return round.map((post) => {
      const delivered = this.#waiting.get(post.seq);
      const isStillToCome = this.#waiting.has(post.seq) && delivered === undefined;
      this.#waiting.delete(post.seq);
      (isStillToCome ? this.#copied : this.#acknowledged).add(post.seq);
      return delivered ?? post;
    });
  }
}
