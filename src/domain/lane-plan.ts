/**
 * How a lane finds its place after a restart (R1), from three durable facts: the entries that INBOX holds, the copies
 * that DLV holds, and the lane's mark (entries up to `handedTo` were handed off).
 *
 *   with a copy                    → awaiting confirmation
 *   without, above the mark        → still to hand off
 *   without, at or below the mark  → settled: confirmed, terminated or withdrawn; to be removed
 *
 * A crash between storing a hand-off and its mark leaves copies above the mark: they are awaiting, not handed off again.
 */
export interface LanePlan {
  readonly settled: number[];
  readonly awaiting: number[];
  readonly waiting: number[];
}

export function planLane(
  entrySeqs: readonly number[],
  copiedEntrySeqs: ReadonlySet<number>,
  handedTo: number,
): LanePlan {
  const plan: LanePlan = { settled: [], awaiting: [], waiting: [] };
  for (const seq of entrySeqs) {
    if (copiedEntrySeqs.has(seq)) plan.awaiting.push(seq);
    else if (seq > handedTo) plan.waiting.push(seq);
    else plan.settled.push(seq);
  }
  return plan;
}
