/** When an outage of the broker ends the daemon. All times are milliseconds since the disconnect. */
export interface Outage {
  /** Elapsed since the disconnect, by the larger of both clocks. */
  readonly elapsedMs: number;
  /** How much of it this process was itself late: the union of its own late-timer spans, at most `elapsedMs`. */
  readonly stalledMs: number;
}

/** What is still missing until the broker counts as gone; 0 or less: it is gone. A stall of our own is not counted (B2). */
export const windowLeft = ({ elapsedMs, stalledMs }: Outage, windowMs: number): number =>
  windowMs - (elapsedMs - Math.min(stalledMs, elapsedMs));

/** What is still missing until the backstop, which ignores stalls (B3). */
export const backstopLeft = ({ elapsedMs }: Outage, backstopMs: number): number => backstopMs - elapsedMs;

/** Length of the union of the spans, inside [from, to]. */
export function unionWithin(spans: readonly { from: number; to: number }[], from: number, to: number): number {
  let covered = 0;
  let end = from;
  for (const span of [...spans].sort((a, b) => a.from - b.from)) {
    const start = Math.max(span.from, end);
    const stop = Math.min(span.to, to);
    if (stop <= start) continue;
    covered += stop - start;
    end = stop;
  }
  return covered;
}
