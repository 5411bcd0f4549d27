/**
 * The reader's decision on one entry: may this member read this post now? Taken on every entry, from rows that were read
 * after the entry was chosen (R3). Unknown is an answer of its own: it releases nothing and removes nothing.
 */
import type { Entry } from './entry.ts';
import { inInterval, isOpen } from './interval.ts';
import { type AclState, type MemberRow, mayRead } from './rows.ts';

/** What is known of a membership row; `unknown` when it could not be read. */
export type MembershipState = { kind: 'row'; row: MemberRow } | { kind: 'absent' } | { kind: 'unknown' };

export type RefusalReason =
  /** The read ACL, or what the credential was issued for, does not cover the channel. */
  | 'acl'
  /** The member left: this generation is closed. */
  | 'left'
  /** The post lies outside the membership's interval. */
  | 'outside-interval'
  /** There is no membership of this channel (any more). */
  | 'no-membership';

export type Disposition =
  | { kind: 'release' }
  | { kind: 'refuse'; why: RefusalReason }
  | { kind: 'retired' }
  | { kind: 'unknown' };

type Judged = Pick<Entry, 'channel' | 'seq' | 'generation'>;
/** Generation 0 marks a mention, which no membership is needed for. */
export const isMention = (entry: Pick<Entry, 'generation'>): boolean => entry.generation === 0;

export function disposition(entry: Judged, acl: AclState, membership: MembershipState): Disposition {
  if (acl.kind === 'retired') return { kind: 'retired' };
  if (acl.kind === 'unknown') return { kind: 'unknown' };
  if (!mayRead(acl, entry.channel)) return { kind: 'refuse', why: 'acl' };
  if (isMention(entry)) return { kind: 'release' };
  if (membership.kind === 'unknown') return { kind: 'unknown' };
  if (membership.kind === 'absent') return { kind: 'refuse', why: 'no-membership' };
  const { row } = membership;
  if (entry.generation < row.generation || !isOpen(row)) return { kind: 'refuse', why: 'left' };
  // A generation that the row does not know yet was written by somebody who knew more than this reading.
  if (entry.generation > row.generation) return { kind: 'unknown' };
  return inInterval(row, entry.seq) ? { kind: 'release' } : { kind: 'refuse', why: 'outside-interval' };
}
