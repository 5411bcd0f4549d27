/** What both stores hold for a member: what its lane finds its place by (`src/domain/lane-plan.ts`). */
import type { PlannedEntry } from '../../domain/lane-plan.ts';
import type { Member } from '../../domain/names.ts';
import type { LaneMark } from '../../domain/rows.ts';
import type { Copies, Entries, HeldCopy, HeldEntry, Rows } from '../ports.ts';

export interface Found {
  readonly copies: readonly HeldCopy[];
  readonly mark: LaneMark;
  /** When the broker stored the mark. */
  readonly markedAt: number;
  /** Entries up to the last that was handed off; those whose post is that of every copy of theirs may be missing. */
  readonly entries: readonly PlannedEntry[];
  /** Those of them that are none of ours. */
  readonly foreign: readonly HeldEntry[];
  /** Everything of the member's up to here was looked at … */
  readonly lookedTo: number;
  /** … and there was something above it. */
  readonly more: boolean;
}

/** Up to where entries were handed off, by the mark and by the copies. */
export const handedUpTo = (mark: LaneMark, copies: readonly HeldCopy[]): number =>
  copies.reduce((last, { entrySeq }) => Math.max(last, entrySeq), mark.handedTo);

/** Asks the stores for one member; undefined: silence. */
export async function askFor(
  ports: { entries: Entries; copies: Copies; rows: Rows; window: number },
  member: Member,
): Promise<Found | undefined> {
  const { copies, rows } = ports;
  // A hand-off whose outcome nobody knows is among the copies now, or never will be. A store that is full takes neither.
  if ((await copies.barrier()).kind === 'silent') return undefined;
  const [held, marked] = await Promise.all([copies.held({ member }), rows.mark({ member })]);
  if (held.kind === 'silent' || marked.kind === 'silent') return undefined;
  const upTo = handedUpTo(marked.mark, held.copies);
  const entries: PlannedEntry[] = [];
  const foreign: HeldEntry[] = [];
  for (let lookedTo = 0; ; ) {
    const limit = lookedTo < upTo ? ports.window : 1;
    const page = await ports.entries.page({ member, after: lookedTo, limit });
    if (page.kind === 'silent') return undefined;
    const met = page.entries.filter(({ seq }) => seq <= upTo);
    for (const held of met) {
      entries.push({ seq: held.seq, storedAt: held.storedAt, post: held.entry?.seq });
      if (held.entry === undefined) foreign.push(held);
    }
    lookedTo = met.at(-1)?.seq ?? lookedTo;
    const more = met.length < page.entries.length;
    if (more || !page.more)
      return { copies: held.copies, mark: marked.mark, markedAt: marked.storedAt, entries, foreign, lookedTo, more };
  }
}
