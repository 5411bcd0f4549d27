/**
 * Cursor arithmetic (rule 7). A cursor is the sequence up to which an agent has everything; it never moves back. Numbers
 * come from a durable high-water and are never reused; every number has a row.
 */

export interface Position {
  readonly cursor: number;
  /** Lowest active row above the cursor, if there is one. */
  readonly lowestActive: number | undefined;
  /** Highest number ever given out. */
  readonly highWater: number;
}

/** The cursor moved over the contiguous prefix of terminal rows, and how many rows it passed. */
export function settled({ cursor, lowestActive, highWater }: Position): { cursor: number; skipped: number } {
  const end = Math.max(cursor, lowestActive === undefined ? highWater : lowestActive - 1);
  return { cursor: end, skipped: end - cursor };
}

export type AckVerdict = 'forward' | 'repeat' | 'beyond';

/** `highest`: the highest row marked delivered, or written on this connection, whichever is higher. */
export function judgeAck({ cursor, upTo, highest }: { cursor: number; upTo: number; highest: number }): AckVerdict {
  if (upTo <= cursor) return 'repeat';
  return upTo > highest ? 'beyond' : 'forward';
}
