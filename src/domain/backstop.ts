/**
 * What an agent knows of the durable backstop of one of its memberships. Generations and cursors only move forward: an
 * answer that is older than what is known changes nothing.
 */
import type { Shortfall } from './rows.ts';

/** What the registry granted: the membership's generation, and the post after which its copies begin. */
export interface Grant {
  readonly generation: number;
  readonly joinCursor: number;
  /** Posts that were not copied because the member's quota was full. */
  readonly shortfall?: Shortfall;
}

export interface Backstop {
  /** Generation last granted; 0 before the first. */
  readonly generation: number;
  readonly joinCursor: number;
  /** Generation that is known to be closed; 0 where none is. */
  readonly closed: number;
  /** A leave that was asked for and not answered: the generation that it names, 0 for whichever is open; null where none is. */
  readonly owedLeave: number | null;
  readonly shortfall: Shortfall | null;
  /** Why the backstop is not established; empty while it is. */
  readonly reason: string;
  /** Wall clock since when it is not established, milliseconds; 0 while it is. */
  readonly since: number;
}

export const noBackstop: Backstop = {
  generation: 0,
  joinCursor: 0,
  closed: 0,
  owedLeave: null,
  shortfall: null,
  reason: '',
  since: 0,
};

/** Whether a grant is news, or the same again: never one of a closed or an older generation, or with an older cursor. */
export const isForward = (known: Backstop, { generation, joinCursor }: Grant): boolean =>
  generation > known.closed &&
  (generation > known.generation || (generation === known.generation && joinCursor >= known.joinCursor));

/** The generation that is known and not known to be closed; 0 where there is none. */
export const openGeneration = ({ generation, closed }: Backstop): number => (generation > closed ? generation : 0);

export const established = (known: Backstop, { generation, joinCursor, shortfall }: Grant): Backstop => ({
  generation,
  joinCursor,
  closed: known.closed,
  owedLeave: null,
  shortfall: shortfall ?? null,
  reason: '',
  since: 0,
});

/** Not established: the cause is the latest, the age counts from the first. */
export const unestablished = (known: Backstop, { reason, at }: { reason: string; at: number }): Backstop => ({
  ...known,
  reason,
  since: known.since === 0 ? at : known.since,
});

export const closedAt = (known: Backstop, { generation }: { generation: number }): Backstop => ({
  ...known,
  closed: Math.max(known.closed, generation),
  owedLeave: null,
  reason: '',
  since: 0,
});

/**
 * The member joins again before its leave was answered. The leave may be carried out at any time: what it names is closed
 * for good, whatever the registry says of it, and it is asked for once more before the registry is asked for a new generation.
 */
export const rejoining = (known: Backstop): Backstop => ({
  ...known,
  closed: Math.max(known.closed, known.generation),
  owedLeave: known.generation,
});

/** The registry has nothing to leave, or refused: nothing is owed. */
export const leaveSettled = (known: Backstop): Backstop => ({ ...known, owedLeave: null });

/**
 * Whether a copy of this generation may still be surfaced. `leaving`: the member left, or is leaving: then nothing of what
 * it was granted is. Generation 0 is a mention, which belongs to no membership.
 */
export const isSurfaceable = (known: Backstop, generation: number, leaving: boolean): boolean =>
  generation === 0 || generation > (leaving ? Math.max(known.closed, known.generation) : known.closed);
