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

/** Whom a cursor keeps by name behind the first one that is not verified; who is more than these is verified again. */
const BEYOND = 1_024;

/**
 * The cursor of one freeze: up to whom of the sorted holders everybody is verified gone. It does not grow with the holders, so
 * that it fits whatever the broker takes. `freezeToken`: the gate's revision while it is frozen, so that a cursor of another
 * freeze is never taken for this one's.
 */
export const cursorSchema = z
  .looseObject({
    v: z.literal(2),
    opId: z.string().min(1),
    freezeToken: z.string().min(1),
    /** The last one of those; empty while there is none. */
    through: z.union([principalSchema, z.literal('')]),
    count: z.int().min(0),
    /** Of exactly those, so that a set that has changed among them is noticed. */
    digest: z.string(),
    /** Verified gone too, further on. */
    beyond: z.array(principalSchema).max(BEYOND).refine(sortedUnique, 'not sorted, or not unique'),
  })
  .refine(({ through, count }) => (through === '') === (count === 0), 'through and count contradict each other')
  .refine(({ through, beyond }) => beyond.every((name) => name > through), 'beyond is not beyond');
export type RepairCursor = z.infer<typeof cursorSchema>;

/** The digest of a sequence of names from that of the names before the last one. */
export type Link = (digest: string, name: string) => string;

/** Where an eviction of these sorted holders stands. */
export interface Standing {
  readonly holders: readonly string[];
  readonly cursor: RepairCursor;
}

/**
 * An eviction that begins where its cursor says; from the first holder where the holders up to there are not those that were
 * verified.
 */
export function standingAt(
  of: { opId: string; freezeToken: string; holders: readonly string[]; cursor?: RepairCursor | undefined },
  link: Link,
): Standing {
  const { opId, freezeToken, holders, cursor } = of;
  const start: RepairCursor = { v: 2, opId, freezeToken, through: '', count: 0, digest: '', beyond: [] };
  if (cursor === undefined) return { holders, cursor: start };
  const verified = holders.filter((name) => name <= cursor.through);
  const isSame = verified.length === cursor.count && verified.reduce(link, '') === cursor.digest;
  if (isSame) return { holders, cursor };
  const known = new Set(holders);
  return { holders, cursor: { ...start, beyond: cursor.beyond.filter((name) => known.has(name)) } };
}

/** The same eviction when these are verified gone too. */
export function withVerified({ holders, cursor }: Standing, names: readonly string[], link: Link): Standing {
  const gone = new Set([...cursor.beyond, ...names]);
  let { count, digest, through } = cursor;
  for (let next = holders[count]; next !== undefined && gone.delete(next); next = holders[count]) {
    count++;
    digest = link(digest, next);
    through = next;
  }
  const beyond = holderSet(gone).slice(0, BEYOND);
  return { holders, cursor: { ...cursor, through, count, digest, beyond } };
}

/** Holders as the cursor and the requests have them. */
export const holderSet = (names: Iterable<string>): string[] => [...new Set(names)].sort();

/** Who is not verified yet. */
export const remainingOf = ({ holders, cursor }: Standing): string[] => {
  const beyond = new Set(cursor.beyond);
  return holders.slice(cursor.count).filter((holder) => !beyond.has(holder));
};

/** Key of what is known of the family of an endpoint's instance when the gate was repaired. **Ours**. */
export const clearedKey = (endpoint: string, instance: string): string => `epclear.${endpoint}.${instance}`;

/**
 * Holders of whom every ledger row says revoked, at this revision at most, were verified gone after it did: nobody has a
 * credential of theirs that the broker takes. Kept from the repair to the registration that follows it, so that a restart that
 * was cut short goes on and does not begin again.
 */
export const clearedSchema = z.looseObject({ v: z.literal(1), upTo: z.int().min(1) });

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
