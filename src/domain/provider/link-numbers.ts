/**
 * The bounds of a provider link, every one of them configurable. Times are milliseconds.
 *
 * Source of the numbers: design of the provider plane, "The provider link".
 */
import { z } from 'zod';
import { Plane3Error } from '../errors/catalogue.ts';

export interface LinkNumbers {
  /** From asking for the token to the open socket. */
  readonly connectMs: number;
  /** From the open socket to the accepted register: its write and its reply. */
  readonly registerMs: number;
  /** Until a frame that was written has left this process. */
  readonly writeMs: number;
  /** Between two heartbeats; the first goes out at once. */
  readonly heartbeatMs: number;
  /** Between two inventories; the first goes out right after the register. */
  readonly inventoryMs: number;
  /** After an inventory that was refused. */
  readonly inventoryAgainMs: number;
  /** Without a correlated reply for so long, the peer is gone, whatever the socket says. */
  readonly deadMs: number;
  /** Least and greatest back-off where nobody said how long to wait. */
  readonly backOffMs: number;
  readonly backOffLimitMs: number;
  /** Greatest addition to a wait that the peer asked for, and the greatest wait that is believed. */
  readonly jitterMs: number;
  readonly guidanceMostMs: number;
  /** How often the token is read anew after a 401 before the link is refused. */
  readonly tokenRereads: number;
  /** One call of the HTTP table. */
  readonly httpMs: number;
}

const entries = {
  connectMs: ['COTAL_PROVIDER_CONNECT_MS', 15_000],
  registerMs: ['COTAL_PROVIDER_REGISTER_MS', 10_000],
  writeMs: ['COTAL_PROVIDER_WRITE_MS', 10_000],
  heartbeatMs: ['COTAL_PROVIDER_HEARTBEAT_MS', 12_000],
  inventoryMs: ['COTAL_PROVIDER_INVENTORY_MS', 60_000],
  inventoryAgainMs: ['COTAL_PROVIDER_INVENTORY_AGAIN_MS', 5_000],
  deadMs: ['COTAL_PROVIDER_DEAD_MS', 120_000],
  backOffMs: ['COTAL_PROVIDER_BACKOFF_MS', 1_000],
  backOffLimitMs: ['COTAL_PROVIDER_BACKOFF_LIMIT_MS', 30_000],
  jitterMs: ['COTAL_PROVIDER_JITTER_MS', 250],
  guidanceMostMs: ['COTAL_PROVIDER_GUIDANCE_MOST_MS', 60_000],
  tokenRereads: ['COTAL_PROVIDER_TOKEN_REREADS', 5],
  httpMs: ['COTAL_PROVIDER_HTTP_MS', 10_000],
} as const satisfies Record<keyof LinkNumbers, readonly [variable: string, usual: number]>;

const bound = z.coerce.number().int().min(1).max(2_147_483_647);

export const linkVariables: readonly string[] = Object.values(entries).map(([variable]) => variable);

/**
 * Reads the bounds from an environment. Unset and empty variables have their usual value.
 * @throws Plane3Error `link.number` naming the variable: outside its range, or a `COTAL_PROVIDER_` name nobody knows.
 */
export function readLinkNumbers(env: Readonly<Record<string, string | undefined>>): LinkNumbers {
  for (const variable of Object.keys(env)) {
    if (variable.startsWith('COTAL_PROVIDER_') && variable.endsWith('_MS') && !linkVariables.includes(variable))
      throw new Plane3Error('link.number', { variable, input: String(env[variable]) });
  }
  const read = (variable: string, usual: number): number => {
    const given = env[variable];
    if (given === undefined || given === '') return usual;
    const parsed = bound.safeParse(given);
    if (!parsed.success) throw new Plane3Error('link.number', { variable, input: given });
    return parsed.data;
  };
  return Object.fromEntries(
    Object.entries(entries).map(([name, [variable, usual]]) => [name, read(variable, usual)]),
  ) as unknown as LinkNumbers;
}
