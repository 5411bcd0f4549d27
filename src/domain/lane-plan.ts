/**
 * How a lane finds its place after a restart (R1), from three durable facts: the entries that INBOX holds, the copies
 * that DLV holds, and the lane's mark (entries up to `handedTo` were handed off, before the mark was stored).
 *
 *   with a copy                    → awaiting confirmation
 *   without, above the mark        → still to hand off
 *   without, at or below the mark  → settled: confirmed, terminated or withdrawn; to be removed
 *
 * A crash between storing a hand-off and its mark leaves copies above the mark: they are awaiting, not handed off again.
 * An entry without a copy that is newer than the mark was never handed off, wherever it lies: a broker that lost the end of
 * INBOX (full disk, failed machine) gives its sequences out again. From there on the mark says nothing.
 */
export interface LanePlan {
  readonly settled: number[];
  readonly awaiting: number[];
  readonly waiting: number[];
  /** Up to where the mark holds: its `handedTo`, or less. */
  readonly handedTo: number;
}

/** `storedAt`: milliseconds of the broker's clock. */
export interface PlannedEntry {
  readonly seq: number;
  readonly storedAt: number;
  /** CHAT sequence of its post; undefined where it is none of ours. */
  readonly post?: number | undefined;
}

export function planLane(
  entries: readonly PlannedEntry[],
  copied: ReadonlySet<number>,
  mark: { handedTo: number; storedAt: number },
): LanePlan {
  const newer = entries.find(
    ({ seq, storedAt }) => seq <= mark.handedTo && storedAt > mark.storedAt && !copied.has(seq),
  );
  const handedTo = newer === undefined ? mark.handedTo : newer.seq - 1;
  const plan: LanePlan = { settled: [], awaiting: [], waiting: [], handedTo };
  for (const { seq } of entries) {
    if (copied.has(seq)) plan.awaiting.push(seq);
    else if (seq > handedTo) plan.waiting.push(seq);
    else plan.settled.push(seq);
  }
  return plan;
}
