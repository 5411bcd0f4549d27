/** The bounds of the tests: the usual ones divided by 25, but for the database's own deadline. */
export const bounds = {
  HOSTED_ATTACH_MS: '1400',
  HOSTED_REAP_MS: '1800',
  HOSTED_UNBOUND_MS: '1000',
  HOSTED_REGISTER_MS: '1500',
  HOSTED_STORAGE_MS: '1500',
  HOSTED_AGAIN_MS: '150',
  HOSTED_PROJECT_MS: '800',
  HOSTED_RETRY_MS: '600',
  HOSTED_GUIDANCE_LEAST_MS: '10',
  HOSTED_ALARM_LEAST_MS: '20',
} as const;

export const ATTACH_MS = Number(bounds.HOSTED_ATTACH_MS);
export const REAP_MS = Number(bounds.HOSTED_REAP_MS);
export const UNBOUND_MS = Number(bounds.HOSTED_UNBOUND_MS);
/** How often a healthy peer is heard. */
export const HEARTBEAT_MS = 150;
