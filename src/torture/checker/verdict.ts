/** The verdict over the histories of a run: a pure function of them. */
import { type HistoryRecord, recordsOf } from '../history.ts';
import { duplicates, type Reason } from './duplicates.ts';
import { unexplained } from './explained.ts';
import { type Charge, type Finding, finding } from './finding.ts';
import { lost } from './lost.ts';
import { doubleServing, lateEffects } from './serving.ts';
import { unauthorized } from './unauthorized.ts';

export interface Verdict {
  readonly clean: boolean;
  readonly findings: readonly Finding[];
  /** Findings by charge. */
  readonly charges: Readonly<Record<Charge, number>>;
  readonly duplicates: number;
  readonly reasons: Readonly<Partial<Record<Reason, number>>>;
  /** Effects of a daemon that were kept back on their way until another one had the lease. */
  readonly late: number;
  readonly posts: number;
  readonly surfaced: number;
  readonly faults: number;
  readonly refusals: number;
  /** Stored by the broker while the recorder was away, and gone before it could read them. */
  readonly missed: number;
}

export function judge(history: readonly HistoryRecord[]): Verdict {
  const again = duplicates(history);
  const findings = [
    ...lost(history),
    ...unauthorized(history),
    ...doubleServing(history),
    ...again.findings,
    ...unexplained(history),
    ...unsettled(history),
  ].sort((a, b) => a.at - b.at);
  const count = (charge: Charge) => findings.filter((each) => each.charge === charge).length;
  return {
    clean: findings.length === 0,
    findings,
    charges: {
      lost: count('lost'),
      unauthorized: count('unauthorized'),
      'double-serving': count('double-serving'),
      duplicate: count('duplicate'),
      unexplained: count('unexplained'),
      unsettled: count('unsettled'),
    },
    duplicates: again.count,
    reasons: again.reasons,
    late: lateEffects(history),
    posts: recordsOf(history, 'post').length,
    surfaced: recordsOf(history, 'surfaced').length,
    faults: recordsOf(history, 'fault').length,
    refusals: recordsOf(history, 'refused').length,
    missed: recordsOf(history, 'missed').reduce((sum, { from, to }) => sum + to - from + 1, 0),
  };
}

/** Once everything is well, everything is confirmed and removed. */
function unsettled(history: readonly HistoryRecord[]): Finding[] {
  const end = recordsOf(history, 'drained').at(-1);
  if (end === undefined) return [finding('unsettled', Number.MAX_SAFE_INTEGER, 'the run did not come to its end')];
  const { at, entries, copies, owed } = end;
  if (entries + copies === 0) return [];
  return [finding('unsettled', at, `${entries} entries and ${copies} copies are left, of ${owed.join(', ')}`)];
}
