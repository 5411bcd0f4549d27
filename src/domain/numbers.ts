/** The numbers of the delivery plane. Times are milliseconds. Each may be set by the environment, see `config.ts`. */
export const numbers = {
  /** Lease row: lives this long after its last write … */
  leaseTtlMs: 30_000,
  /** … is written again this often … */
  leaseRenewMs: 10_000,
  /** … and stops counting for us this long after the last renewal that succeeded was sent. */
  leaseFenceMs: 25_000,
  /** A standby asks for the row this often. */
  standbyProbeMs: 1_000,
  /** The broker counts as gone after this long away, stalls of our own not counted … */
  brokerGoneMs: 15_000,
  /** … and after this long by the clock, whatever stalled: four windows unless set, never below one. */
  brokerGoneBackstopMs: 60_000,
  pingIntervalMs: 2_500,
  maxPingOut: 2,
  /** Reading and proving a renewal takes no longer, so that whoever asked for it hears the end within its own time. */
  credentialFlightMs: 4_000,
  /** A credential that was not renewed at 75 % of its life is read again after this long, doubling up to the limit … */
  credentialRetryMs: 1_000,
  credentialRetryLimitMs: 300_000,
  /** … and one that is expired after this long. */
  renewalRetryMs: 500,
  renewalRetryLimitMs: 5_000,
  /** A broker whose name does not resolve is dialled again at the start, first after this long, doubling up to the limit … */
  nameRetryMs: 500,
  nameRetryLimitMs: 5_000,
  /** … for this long in all. */
  nameWaitMs: 60_000,
  /** Longest that a dial of the broker may take, and the one question of the start that comes before the lease. */
  dialTimeoutMs: 5_000,
  /** Longest an effect on the broker may take before it counts as unanswered. */
  effectTimeoutMs: 5_000,
  /** Copies handed off to one member and not yet confirmed, at most. */
  windowSize: 256,
  /** Messages in one atomic batch, at most (the broker's own limit). */
  batchSize: 1_000,
  /** Entries owed to one member, at most; beyond it the newest is not copied. */
  quota: 100_000,
  /** First meeting and this many retries, then an entry without an ACL row, or a removal, is given up. */
  giveUpRetries: 10,
  giveUpSpacingMs: 2_000,
  /** Settled entries that are removed at once although others of the member's wait: several go by one write. */
  removalBatch: 64,
  /** Fewer are removed after this long without a confirmation. */
  removalDelayMs: 1_000,
  /** A lane without anything to do ends after this long. */
  laneRestMs: 5_000,
  /** Lanes that live at once; further members wait for their turn. */
  laneLimit: 2_000,
  /** Lanes that look for their place at a time: the broker searches a stream for each of them. */
  placingLimit: 4,
  /** So many members that wait for their place at the start have both stores read once for all; fewer read each for itself. */
  inventoryFrom: 100,
  /** Messages that the members of one such reading may have in all: some 32 MiB, if each of them had to be kept. */
  inventoryRoom: 500_000,
  /** Lanes that may rest at a time; whoever rests longest makes room. */
  restingLimit: 128,
  /** How often the reader compares what is owed with what is handed off. */
  surveyMs: 60_000,
  /** A hand-off that the broker refuses is tried again, first after this long, doubling up to the limit, for ever. */
  backOffMs: 250,
  backOffLimitMs: 30_000,
  /** A timer writer that has ended is started again after this long, doubling up to the limit. */
  timerRetryMs: 5_000,
  timerRetryLimitMs: 300_000,
  /** What a stop closes takes no longer than this; what it waits for its lease is `releaseLimit` in `lease.ts`. */
  drainMs: 2_000,
  /** A process that was sent SIGTERM gets SIGKILL after this long … */
  stopGraceMs: 15_000,
  /** … and is given up as unstoppable after this long more. */
  stopConfirmMs: 3_000,
  /** `up` warns of a daemon whose responder is not bound after this long. */
  launchPatienceMs: 20_000,
  /** A restart that failed is tried again when the lease row's own expiry allows, after this long at the latest. */
  restartWaitMs: 30_000,
} as const;

export type Numbers = { readonly [K in keyof typeof numbers]: number };
