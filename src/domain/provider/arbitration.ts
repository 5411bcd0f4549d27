/**
 * Arbitration by (node, provider name) (rule 3): who may hold a provider. Distinct names never conflict; the same
 * instance always takes over from its own older connection; another instance waits while the incumbent's `lastSeen` is
 * younger than the attach bound, and is told for how long.
 */
import type { ProviderLimits } from './limits.ts';

export interface Incumbent {
  readonly connection: string;
  readonly instance: string;
  /** Milliseconds; of the incumbent's last accepted frame. */
  readonly lastSeen: number;
}

export type Arbitration =
  | { readonly outcome: 'accepted'; readonly supersedes?: string }
  | { readonly outcome: 'conflict'; readonly retryAfterMs: number };

export interface Contest {
  /** The bound, open connection of that name; undefined when there is none. */
  readonly incumbent: Incumbent | undefined;
  readonly challenger: { readonly connection: string; readonly instance: string };
  readonly now: number;
  readonly limits: Pick<ProviderLimits, 'attachMs' | 'guidanceLeastMs'>;
}

export function arbitrate({ incumbent, challenger, now, limits }: Contest): Arbitration {
  if (incumbent === undefined || incumbent.connection === challenger.connection) return { outcome: 'accepted' };
  const age = now - incumbent.lastSeen;
  if (incumbent.instance === challenger.instance || age >= limits.attachMs)
    return { outcome: 'accepted', supersedes: incumbent.connection };
  return {
    outcome: 'conflict',
    retryAfterMs: Math.min(limits.attachMs, Math.max(limits.guidanceLeastMs, Math.ceil(limits.attachMs - age))),
  };
}
