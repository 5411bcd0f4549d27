/**
 * Posts that the broker counts as delivered and that nobody here has: they were delivered to a daemon before this one, to a
 * paused one, or into a connection that is dead. The broker delivers them again only after their ack deadline; they are read
 * from CHAT at once instead, and their delivery is acknowledged when it comes, without copying them a second time.
 */
import type { DeliveredPost, Place, Posts, Silent, StoredPost } from '../ports.ts';

/** A post without a receipt: nothing can be acknowledged for it yet. */
const NO_RECEIPT = '';
export const hasReceipt = (post: DeliveredPost): boolean => post.receipt !== NO_RECEIPT;

/** Posts that one look reads at the most. */
const LOOK = 1_000;

export class EarlyPosts {
  /** Taken early and not copied yet; with their delivery, where it came meanwhile. */
  readonly #waiting = new Map<number, DeliveredPost | undefined>();
  /** Taken early and copied; their delivery is still to come. */
  readonly #copied = new Set<number>();
  /** Acknowledged by us and not yet below the durable's floor. */
  readonly #acknowledged = new Set<number>();
  /** Above this sequence every acknowledgement is ours, so what is missing is known exactly. */
  #ours = 0;

  /** At the opening: what was delivered and not settled, if it can be told which. */
  async open(posts: Posts, place: Place): Promise<{ kind: 'read'; posts: StoredPost[] } | Silent> {
    this.#ours = place.position;
    if (place.unsettled === 0) return { kind: 'read', posts: [] };
    const read = await posts.between({ after: place.floor, upTo: place.position });
    if (read.kind === 'silent') return read;
    // Where some of them are settled, it is not told which: then the broker's own deliveries are waited for.
    return { kind: 'read', posts: read.posts.length === place.unsettled ? read.posts : [] };
  }

  /** Later: what may have gone astray since. `buffer`: what is in hand. */
  async look(posts: Posts, place: Place, buffer: readonly DeliveredPost[]): Promise<StoredPost[]> {
    for (const seq of this.#acknowledged) if (seq <= place.floor) this.#acknowledged.delete(seq);
    const after = Math.max(place.floor, this.#ours);
    if (place.unsettled === 0 || place.position <= after || this.#knows(after + 1, buffer)) return [];
    const read = await posts.between({ after, upTo: Math.min(place.position, after + LOOK) });
    return read.kind === 'silent' ? [] : read.posts;
  }

  /** The buffer with those of the posts that nobody has, ascending. */
  join(buffer: readonly DeliveredPost[], read: readonly StoredPost[]): DeliveredPost[] {
    const inHand = new Set(buffer.map((post) => post.seq));
    const missing = read.filter(
      ({ seq }) => !inHand.has(seq) && !this.#copied.has(seq) && !this.#acknowledged.has(seq),
    );
    for (const { seq } of missing) this.#waiting.set(seq, undefined);
    return [...buffer, ...missing.map((post) => ({ ...post, receipt: NO_RECEIPT }))].sort((a, b) => a.seq - b.seq);
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

  /** What can be acknowledged of a round that is stored. */
  settle(round: readonly DeliveredPost[]): DeliveredPost[] {
    return round.flatMap((post) => {
      const early = this.#waiting.has(post.seq);
      const delivered = early ? this.#waiting.get(post.seq) : post;
      this.#waiting.delete(post.seq);
      if (delivered === undefined) this.#copied.add(post.seq);
      else this.#acknowledged.add(post.seq);
      return delivered === undefined ? [] : [delivered];
    });
  }
}
