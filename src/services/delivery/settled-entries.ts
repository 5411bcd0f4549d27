/**
 * How settled entries leave INBOX (R2). One by one, each is a write of the broker's, and a sync where durability is strict. A
 * purge removes everything of the member's up to a sequence by one write, so it is taken where all of that is settled. But the
 * broker then looks at every message around: over a large backlog, whoever's it is, one by one is the faster way.
 */
import type { Entries } from '../ports.ts';
import type { Tally } from '../tally.ts';
import type { Desk } from './desk.ts';
import { memberOf } from './judge.ts';
import type { OwedCounts } from './owed.ts';

/** Messages that a purge looks at in the time that one removal by sequence takes (docs/performance.md). */
const LOOKED_AT = 500;

export interface SettledPorts {
  readonly entries: Entries;
  readonly owed: OwedCounts;
  readonly tally: Tally;
}

/**
 * Removes what the member's desk has settled; what could not be removed stays settled. `kept`: entries that are not settled,
 * though no copy of theirs waits to be confirmed.
 */
export async function removeSettled(
  ports: SettledPorts,
  of: { key: string; desk: Desk; kept?: Iterable<number> },
): Promise<'removed' | 'failed' | 'silent'> {
  const { key, desk, kept = [] } = of;
  const { entries, owed, tally } = ports;
  const upTo = desk.settledUpTo(kept);
  const low = desk.settled.filter((seq) => seq <= upTo);
  const isPurge = low.length > 1 && owed.total <= LOOKED_AT * (low.length - 1);
  const steps = isPurge
    ? [
        { seqs: low, remove: () => entries.purge({ member: memberOf(key), upTo: Math.max(...low) }) },
        ...singly(desk.settled.filter((seq) => seq > upTo)),
      ]
    : singly(desk.settled);
  function singly(seqs: number[]) {
    return seqs.length === 0 ? [] : [{ seqs, remove: () => entries.remove({ seqs }) }];
  }
  desk.settled = [];
  for (const [i, { seqs, remove }] of steps.entries()) {
    const outcome = await remove();
    if (outcome.kind !== 'removed') {
      desk.settled = [...steps.slice(i).flatMap((step) => step.seqs), ...desk.settled];
      return outcome.kind === 'silent' ? 'silent' : 'failed';
    }
    owed.add(key, -seqs.length);
    tally.add('entries.settled', '', seqs.length);
  }
  return 'removed';
}
