/**
 * Rules of a verified eviction: what a daemon's answer proves, and the cursor that keeps what was proved. An answer counts
 * only if it speaks of the same principals in the same order; anything else proves nothing.
 */
import { z } from 'zod';
import { shaped } from './message.ts';
import { principalSchema } from './names.ts';
import { adminOps, type EvictionResult } from './rail.ts';

/** Key of the cursor of one endpoint's instance. */
export const cursorKey = (endpoint: string, instance: string): string => `eprepair.${endpoint}.${instance}`;

/** The family of one lifecycle's credentials, where an endpoint's instance would stand; its instance is the uid. */
export const AGENT_FAMILY = 'agent';

const sortedUnique = (names: readonly string[]): boolean =>
  names.every((name, at) => at === 0 || (names[at - 1] ?? '') < name);

/**
 * The cursor of one freeze: whom it has to evict and who is verified gone. `freezeToken`: the gate's revision while it is
 * frozen, so that a cursor of another freeze is never taken for this one's.
 */
export const cursorSchema = z
  .looseObject({
    v: z.literal(1),
    opId: z.string().min(1),
    freezeToken: z.string().min(1),
    holders: z.array(principalSchema).refine(sortedUnique, 'not sorted, or not unique'),
    verified: z.array(principalSchema),
  })
  .refine(({ holders, verified }) => {
    const known = new Set(holders);
    return verified.every((name) => known.has(name)) && new Set(verified).size === verified.length;
  }, 'verified has somebody who is no holder, or somebody twice');
export type RepairCursor = z.infer<typeof cursorSchema>;

/** Holders as the cursor and the requests have them. */
export const holderSet = (names: Iterable<string>): string[] => [...new Set(names)].sort();

export const remainingOf = ({ holders, verified }: Pick<RepairCursor, 'holders' | 'verified'>): string[] => {
  const gone = new Set(verified);
  return holders.filter((holder) => !gone.has(holder));
};

export interface EvictionJudgement {
  /** Proved gone by this answer. */
  readonly verified: readonly string[];
  /** Why not everybody is; absent when everybody is. */
  readonly why?: string;
}

/** What an answer proves of those who were asked for; one of another shape proves nothing. */
export function readEviction(asked: readonly string[], answer: unknown): EvictionJudgement {
  const data = shaped(adminOps.evictPrincipals.data, answer);
  return data === undefined
    ? { verified: [], why: 'the answer to evictPrincipals has another shape' }
    : judgeEviction(asked, data.results);
}

export function judgeEviction(asked: readonly string[], results: readonly EvictionResult[]): EvictionJudgement {
  if (results.length !== asked.length) {
    return { verified: [], why: `${asked.length} principals were asked for, ${results.length} were answered` };
  }
  const strange = results.findIndex(({ principal }, at) => principal !== asked[at]);
  if (strange >= 0)
    return { verified: [], why: `${asked[strange]} was asked for, ${results[strange]?.principal} was answered` };
  const proved = results.filter((result) => result.verifiedGone && result.scanComplete && result.remaining === 0);
  const verified = proved.map(({ principal }) => principal);
  const contrary = results.find((result) => result.verifiedGone && !proved.includes(result));
  if (contrary !== undefined) {
    return { verified: [], why: `the answer contradicts itself about ${contrary.principal}` };
  }
  const left = results.find(({ verifiedGone }) => !verifiedGone);
  if (left === undefined) return { verified };
  const { principal, remaining, scanComplete, note } = left;
  const words = scanComplete ? `${remaining} of its connections are there` : 'the sweep was incomplete';
  const others = results.length - verified.length - 1;
  return {
    verified,
    why: `${principal} is not verified gone${others > 0 ? ` (nor are ${others} more)` : ''}: ${words}${note === undefined ? '' : `; ${note}`}`,
  };
}
