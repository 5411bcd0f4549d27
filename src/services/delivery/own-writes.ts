/**
 * Whether everything that comes into INBOX comes from this period. Sequences are given out without holes, so that a batch
 * which does not lie right behind the last one that was acknowledged had something else before it: a batch of the daemon before
 * this one that arrived late, one whose acknowledgement was lost, or what nobody of ours wrote.
 */
export class OwnWrites {
  #last = 0;

  /** Takes on what was acknowledged. False when something that was not lies before it. */
  follow({ first, count }: { first: number; count: number }): boolean {
    const follows = first === this.#last + 1;
    this.#last = first + count - 1;
    return follows;
  }
}
