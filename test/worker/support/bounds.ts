/**
 * The bounds of the tests. `divided`: the usual ones, about eighteen times shorter, where the bounds themselves are under
 * test; long enough that a machine busy with other things does not let a healthy peer look silent. `roomy`: where they
 * are not, so that nothing is reaped.
 */
export const divided = {
  HOSTED_ATTACH_MS: '2000',
  HOSTED_REAP_MS: '2600',
  HOSTED_UNBOUND_MS: '1500',
  HOSTED_REGISTER_MS: '2500',
  HOSTED_STORAGE_MS: '3000',
  HOSTED_AGAIN_MS: '200',
  HOSTED_PROJECT_MS: '1000',
  HOSTED_RETRY_MS: '700',
  HOSTED_GUIDANCE_LEAST_MS: '10',
  HOSTED_ALARM_LEAST_MS: '20',
} as const;

export const roomy = {
  ...divided,
  HOSTED_ATTACH_MS: '50000',
  HOSTED_REAP_MS: '60000',
  HOSTED_UNBOUND_MS: '30000',
} as const;

/**
 * Where a life is cut while it stands parked: a peer that waits there beats no heart, and may do so for as long as the
 * machine likes. What wakes the node after the cut is another of its bounds.
 */
export const parkable = { ...divided, HOSTED_ATTACH_MS: '20000', HOSTED_REAP_MS: '25000' } as const;

export const ATTACH_MS = Number(divided.HOSTED_ATTACH_MS);
export const REAP_MS = Number(divided.HOSTED_REAP_MS);
/** How often a healthy peer is heard. */
export const HEARTBEAT_MS = 200;
