/**
 * The bounds of the provider plane, every one of them configurable. Times are milliseconds unless the name says seconds.
 *
 * Source of the numbers: the provider plane's rules 2, 3, 6, 7 and 8. A challenger may attach after `attach`, which must
 * be below `reap`: otherwise an incumbent would be gone before anybody could be told how long to wait for it.
 */
import { z } from 'zod';
import { Plane3Error } from '../errors/catalogue.ts';

export interface ProviderLimits {
  /** Age of an incumbent's `lastSeen` from which another instance may take its place. */
  readonly attachMs: number;
  /** Age of `lastSeen` from which a bound socket is reaped. */
  readonly reapMs: number;
  /** Time that a socket may stay open without being bound. */
  readonly unboundMs: number;
  /** How long a register may be under way before its socket counts as unbound again. */
  readonly registerMs: number;
  /** Wait after a step that failed and is owed. */
  readonly againMs: number;
  /** Database work of one frame. */
  readonly storageMs: number;
  /** Least time between two projections of liveness into the database. */
  readonly projectMs: number;
  /** Time between two tries of queued rows of live identities. */
  readonly retryMs: number;
  /** Least and greatest guidance on a conflict; `attachMs` is the greatest. */
  readonly guidanceLeastMs: number;
  /** Least time between now and the next alarm. */
  readonly alarmLeastMs: number;
  readonly queueFrames: number;
  readonly queueBytes: number;
  readonly frameBytes: number;
  /** Frames and bytes written to one socket and not acknowledged. */
  readonly windowFrames: number;
  readonly windowBytes: number;
  /** Rows of a page, and pages of one wake. */
  readonly pageRows: number;
  readonly pagesPerWake: number;
}

const entries = {
  attachMs: ['HOSTED_ATTACH_MS', 35_000],
  reapMs: ['HOSTED_REAP_MS', 45_000],
  unboundMs: ['HOSTED_UNBOUND_MS', 15_000],
  registerMs: ['HOSTED_REGISTER_MS', 10_000],
  againMs: ['HOSTED_AGAIN_MS', 5_000],
  storageMs: ['HOSTED_STORAGE_MS', 8_000],
  projectMs: ['HOSTED_PROJECT_MS', 20_000],
  retryMs: ['HOSTED_RETRY_MS', 30_000],
  guidanceLeastMs: ['HOSTED_GUIDANCE_LEAST_MS', 250],
  alarmLeastMs: ['HOSTED_ALARM_LEAST_MS', 250],
  queueFrames: ['HOSTED_QUEUE_FRAMES', 256],
  queueBytes: ['HOSTED_QUEUE_BYTES', 4 * 1024 * 1024],
  frameBytes: ['HOSTED_FRAME_BYTES', 1024 * 1024],
  windowFrames: ['HOSTED_WINDOW_FRAMES', 1_000],
  windowBytes: ['HOSTED_WINDOW_BYTES', 8 * 1024 * 1024],
  pageRows: ['HOSTED_PAGE_ROWS', 50],
  pagesPerWake: ['HOSTED_PAGES_PER_WAKE', 200],
} as const satisfies Record<keyof ProviderLimits, readonly [variable: string, usual: number]>;

const bound = z.coerce.number().int().min(1).max(2_147_483_647);

/** The names of the variables, for the documentation and the usage. */
export const limitVariables: readonly string[] = Object.values(entries).map(([variable]) => variable);

/**
 * Reads the bounds from an environment. Unset and empty variables have their usual value.
 * @throws Plane3Error `hosted.limit` naming the variable, `hosted.limits-crossed` when attach is not below reap.
 */
export function parseLimits(env: Readonly<Record<string, unknown>>): ProviderLimits {
  const read = (variable: string, usual: number): number => {
    const given = env[variable];
    if (given === undefined || given === '') return usual;
    const parsed = bound.safeParse(given);
    if (!parsed.success) throw new Plane3Error('hosted.limit', { variable, input: String(given) });
    return parsed.data;
  };
  const limits = Object.fromEntries(
    Object.entries(entries).map(([name, [variable, usual]]) => [name, read(variable, usual)]),
  ) as unknown as ProviderLimits;
  if (limits.attachMs >= limits.reapMs)
    throw new Plane3Error('hosted.limits-crossed', { attach: limits.attachMs, reap: limits.reapMs });
  return limits;
}
