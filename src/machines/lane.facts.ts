/** What a lane hears and says: the facts of its effects, the nudges of its reader, its report, its input. */
import type { EffectFailed } from './effects.ts';

export type RecoverFact =
  /** `waiting`: entries to hand off (or, beyond the first page, perhaps more). `refused`: copies no longer allowed. */
  { type: 'place.recovered'; waiting: number; outstanding: number; settled: number; refused: number } | VerdictFact;
/** The verdict of an earlier run stands: no ACL row then, none now. */
export type VerdictFact = { type: 'verdict.stands' };
/** `met`: how many of the waiting nudges this batch has met; 0 while the store holds more than was read. */
export type AuthorizeFact =
  | { type: 'batch.authorized'; release: number; refuse: number; met: number }
  | { type: 'batch.empty'; met: number };
export type RetiredFact = { type: 'lifecycle.retired' };
export type RowFact = RetiredFact | { type: 'lifecycle.unknown' };
/** `confirmed`: copies of this hand-off whose confirmation was seen before the broker's answer. */
export type StoreFact =
  | { type: 'copies.stored'; count: number; confirmed: number }
  | { type: 'store.refused'; code: string };
export type RemoveFact = { type: 'entries.removed'; met: number } | { type: 'removal.failed' };
/** `copies`: taken off the outstanding ones, withdrawn or found settled. `settled`: entries that are still to be removed. */
export type ReviewFact = { type: 'copies.withdrawn'; copies: number; settled: number; met: number };
export type MarkFact = { type: 'mark.stored' };
export type Silence = { type: 'broker.silent' };

/** What the reader tells a lane; each is counted as one nudge. */
export type LaneNudge =
  | { type: 'entries.arrived' }
  | { type: 'copies.confirmed'; count: number }
  /** A leave or a changed grant: handed-off copies must be looked at again. */
  | { type: 'review.asked' }
  /** The member's ACL row changed. */
  | { type: 'row.changed' };

export type LaneEvent =
  | RecoverFact
  | AuthorizeFact
  | RowFact
  | StoreFact
  | RemoveFact
  | ReviewFact
  | MarkFact
  | Silence
  | LaneNudge
  | EffectFailed;

export type LaneEnd = 'rested' | 'retired' | 'given-up';
export type LaneReport =
  /**
   * It has found its place and waits for somebody else: the member, the broker, a row. `rests`: it has nothing to do, so that
   * its place can be kept without it; how many nudges it has met.
   */
  | { type: 'lane.placed'; member: string; rests?: number }
  /** It has nothing to do. `nudges` is how many it has met: a reader that sent more lets it go on. */
  | { type: 'lane.quiet'; member: string; end: LaneEnd; nudges: number };

export interface LaneInput {
  /** `owner.actor.uid`. */
  readonly member: string;
  readonly window: number;
  /** So many settled entries are removed at once, though others wait. */
  readonly removalBatch: number;
  readonly retries: number;
  readonly backOffMs: number;
  readonly backOffLimitMs: number;
}
