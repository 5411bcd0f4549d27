/**
 * One daemon serves: whatever the broker stored of a daemon (entries, copies, member rows) was stored while the lease row
 * was not another daemon's, and no daemon took the row from one whose time had not passed. Bytes that a held line, or a broker
 * that stood still, kept back were sent in time and are stored late: that is allowed (such effects are harmless by their
 * form: keyed copies, removals by sequence), and counted.
 */
import { type HistoryRecord, type RecordOf, recordsOf } from '../history.ts';
import { type Finding, finding } from './finding.ts';
import { TroubleTimes } from './trouble-times.ts';

type Lease = RecordOf<'lease'>;

/** The broker's clock is one clock, read for two streams. */
const SLACK_MS = 50;

export function doubleServing(history: readonly HistoryRecord[]): Finding[] {
  const rows = recordsOf(history, 'lease').sort((a, b) => a.seq - b.seq);
  const ttlMs = recordsOf(history, 'run')[0]?.leaseTtlMs ?? 30_000;
  const foreign = foreignEffects(history, rows).filter((each) => each !== 'late');
  return [...takings(rows, ttlMs), ...foreign].sort((a, b) => a.at - b.at);
}

/** Effects that came after their daemon's time, because they were kept back on their way. */
export const lateEffects = (history: readonly HistoryRecord[]): number =>
  foreignEffects(
    history,
    recordsOf(history, 'lease').sort((a, b) => a.seq - b.seq),
  ).filter((each) => each === 'late').length;

/** A row of another daemon over one that had time left: compare-and-set makes that impossible, unless it was not used. */
function takings(rows: readonly Lease[], ttlMs: number): Finding[] {
  return rows.flatMap((row, i) => {
    const before = rows[i - 1];
    if (before === undefined || before.incarnation === '' || row.incarnation === '') return [];
    if (before.incarnation === row.incarnation || row.seq !== before.seq + 1) return [];
    const left = before.at + ttlMs - row.at;
    return left > SLACK_MS
      ? [
          finding(
            'double-serving',
            row.at,
            `${row.incarnation} took the lease of ${before.incarnation}, ${Math.round(left)} ms early`,
          ),
        ]
      : [];
  });
}

function foreignEffects(history: readonly HistoryRecord[], rows: readonly Lease[]): (Finding | 'late')[] {
  const troubles = new TroubleTimes(history);
  const [posts, entries] = [storedAt(recordsOf(history, 'post')), storedAt(recordsOf(history, 'entry'))];
  const effects = [
    ...recordsOf(history, 'entry').map(({ seq, post, ...of }) => ({ ...of, what: `entry ${seq}`, cause: posts(post) })),
    ...recordsOf(history, 'copy').map(({ seq, entry, ...of }) => ({
      ...of,
      what: `copy ${seq}`,
      cause: entries(entry),
    })),
    // When it was asked for was not recorded here.
    ...recordsOf(history, 'membership').map(({ seq, ...of }) => ({ ...of, what: `member row ${seq}`, cause: 0 })),
  ].sort((a, b) => a.at - b.at);
  const found: (Finding | 'late')[] = [];
  let next = 0;
  let held: Lease | undefined;
  for (const { at, writer, what, cause } of effects) {
    for (; next < rows.length && (rows[next]?.at ?? 0) <= at - SLACK_MS; next++) held = rows[next];
    if (held === undefined || held.incarnation === '' || held.incarnation === writer) continue;
    const after = rows[next];
    // The row changes hands within the slack: it may be the writer's already.
    if (after?.incarnation === writer && after.at <= at + SLACK_MS) continue;
    // Rows between these two were not seen: whose lease it was is not known.
    if (after !== undefined && after.seq !== held.seq + 1) continue;
    const wasKeptBack = troubles.wasKeptBack({ writer, sent: held.at, stored: at, cause });
    const words = `${what} of ${writer} was stored while ${held.incarnation} held the lease`;
    found.push(wasKeptBack ? 'late' : finding('double-serving', at, words));
  }
  return found;
}

/** When the broker stored what has this sequence; infinite where that was not seen. */
export function storedAt(records: readonly { seq: number; at: number }[]): (seq: number) => number {
  const times = new Map(records.map(({ seq, at }) => [seq, at]));
  return (seq) => times.get(seq) ?? Number.POSITIVE_INFINITY;
}
