import type { MemberRow } from './rows.ts';

/** The membership interval: the rule that decides on which side of a join or a leave a post falls. */

type Interval = Pick<MemberRow, 'joinCursor' | 'leaveCursor'>;

/** joinCursor no, joinCursor + 1 yes, leaveCursor yes, leaveCursor + 1 no. The row's state decides nothing here. */
export const inInterval = (row: Interval, seq: number): boolean =>
  row.joinCursor < seq && (row.leaveCursor === undefined || seq <= row.leaveCursor);

/** A closed generation is never surfaced, whatever its interval says. */
export const isOpen = (row: Pick<MemberRow, 'state'>): boolean => row.state !== 'left';
