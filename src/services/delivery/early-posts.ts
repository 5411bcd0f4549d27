/**
 * Posts that a daemon before this one was delivered and did not settle. The broker delivers them again only after their ack
 * deadline; they are read from CHAT at once instead, and their delivery is acknowledged when it comes, without copying
 * them a second time.
 */
import type { DeliveredPost, OpenedPosts, Posts, Silent } from '../ports.ts';

/** A post without a receipt: nothing can be acknowledged for it yet. */
const NO_RECEIPT = '';
export const hasReceipt = (post: DeliveredPost): boolean => post.receipt !== NO_RECEIPT;

export class EarlyPosts {
  readonly #waiting = new Set<number>();
  readonly #settled = new Set<number>();
  /** Deliveries of posts that are still waiting here. */
  readonly #receipts = new Map<number, DeliveredPost>();

  /**
   * The buffer with everything that was delivered and not settled, ascending. Where some of what was delivered above the
   * floor is settled, it is not told which: then the broker's own deliveries are waited for.
   */
  async take(
    posts: Posts,
    { floor, position, unsettled }: OpenedPosts,
    buffer: readonly DeliveredPost[],
  ): Promise<{ kind: 'read'; posts: DeliveredPost[] } | Silent> {
    if (unsettled === 0) return { kind: 'read', posts: [...buffer] };
    const read = await posts.between({ after: floor, upTo: position });
    if (read.kind === 'silent') return read;
    if (read.posts.length !== unsettled) return { kind: 'read', posts: [...buffer] };
    const inHand = new Set(buffer.map((post) => post.seq));
    const missing = read.posts.filter(({ seq }) => !inHand.has(seq) && !this.#settled.has(seq));
    for (const { seq } of missing) this.#waiting.add(seq);
    const all = [...buffer, ...missing.map((post) => ({ ...post, receipt: NO_RECEIPT }))];
    return { kind: 'read', posts: all.sort((a, b) => a.seq - b.seq) };
  }

  /** A delivery came. True when its post was taken early: then it is settled here, or when its round is. */
  meets(posts: Posts, post: DeliveredPost): boolean {
    if (this.#settled.delete(post.seq)) {
      posts.settle({ posts: [post] });
      return true;
    }
    if (!this.#waiting.has(post.seq)) return false;
    this.#receipts.set(post.seq, post);
    return true;
  }

  /** What can be acknowledged of a round that is stored. */
  settle(round: readonly DeliveredPost[]): DeliveredPost[] {
    return round.flatMap((post) => {
      if (!this.#waiting.delete(post.seq)) return [post];
      const delivered = this.#receipts.get(post.seq);
      this.#receipts.delete(post.seq);
      if (delivered !== undefined) return [delivered];
      this.#settled.add(post.seq);
      return [];
    });
  }
}
