/** The numbers of the manager's side. Times are milliseconds. Each may be set by the environment: `COTAL_MANAGER_<NAME>`. */
export const managerNumbers = {
  /** The manager's own lease: lives this long after its last write, is written again this often, counts for us this long. */
  leaseTtlMs: 10_000,
  leaseRenewMs: 3_000,
  leaseFenceMs: 8_000,
  /** Longest that a start waits for the rail to answer. */
  railWaitMs: 60_000,
  /** Gaps between its attempts: first this long, doubling … */
  railFirstGapMs: 1_000,
  /** … to this at most, never more than half of what is left … */
  railGapLimitMs: 5_000,
  /** … and never less than this, which is also what the last attempt has left to be answered. */
  railGapFloorMs: 50,
  /** One attempt takes at most this long, and never goes past the end. */
  railAttemptMs: 15_000,
  /** The same wait for a command that somebody is waiting for. */
  commandWaitMs: 10_000,
  /** Holders in one request, at most (the rail's own limit). */
  evictionBatch: 256,
  /** Ledger rows that are marked as revoked at a time. */
  revokeAtOnce: 16,
  /** One attempt at a registration takes at most this long; what it achieved is kept. */
  executorWindowMs: 300_000,
  /** What the store did not answer is asked again after this long. */
  askAgainMs: 500,
  /** Longest rest before a renewal that did not come to its end is tried again; the first is 2 s. */
  renewalRetryMs: 60_000,
  /** A broker whose name does not resolve is dialled again at the start, first after this long, doubling up to the limit … */
  nameRetryMs: 500,
  nameRetryLimitMs: 5_000,
  /** … for this long in all. */
  nameWaitMs: 60_000,
  /** Longest that a request to the broker may take before it counts as unanswered. */
  effectTimeoutMs: 5_000,
  /** Pings of the connection that its rail is bound on, and how many of them may stay unanswered. */
  pingIntervalMs: 2_500,
  maxPingOut: 2,
  /** A stop that takes longer than this is cut short. */
  drainMs: 2_000,
} as const;

export type ManagerNumbers = { readonly [K in keyof typeof managerNumbers]: number };

/** Bounds of one wait for the rail. */
export interface RailWaitBounds {
  readonly waitMs: number;
  readonly firstGapMs: number;
  readonly gapLimitMs: number;
  readonly gapFloorMs: number;
  readonly attemptMs: number;
}

export const railWaitBounds = (numbers: ManagerNumbers, waitMs: number = numbers.railWaitMs): RailWaitBounds => ({
  waitMs,
  firstGapMs: numbers.railFirstGapMs,
  gapLimitMs: numbers.railGapLimitMs,
  gapFloorMs: numbers.railGapFloorMs,
  attemptMs: numbers.railAttemptMs,
});
