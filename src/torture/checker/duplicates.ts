/**
 * Posts that surfaced to one lifecycle again. At-least-once allows that, for a reason; each gets its reason, and one
 * without any is a finding.
 */
import { type HistoryRecord, type RecordOf, recordsOf } from '../history.ts';
import { type Finding, finding } from './finding.ts';
import { keyOf } from './posts.ts';
import { TroubleTimes } from './trouble-times.ts';

export type Reason =
  /** It was not confirmed before. */
  | 'unconfirmed'
  /** Its confirmation was not answered: it may have got lost. */
  | 'unanswered'
  /** It came live or as history, and its copy to a later process of the agent, which does not know of that. */
  | 'another-life'
  /**
   * Its sender sent it again, and it came to a later process of the agent, which does not know it: live, or as a copy after a
   * server had ended, which forgets the ids of what was removed.
   */
  | 'sent-again'
  /** A post without an id, which nobody can recognize. */
  | 'empty-id'
  /** Its entry was handed off more than once, around a fault: nobody knew that the first one was stored. */
  | 'handed-off-again'
  /** The broker was killed after it had acknowledged the confirmation. */
  | 'broker-killed';

export interface Duplicates {
  readonly count: number;
  readonly reasons: Readonly<Partial<Record<Reason, number>>>;
  readonly findings: readonly Finding[];
}

const RECOVERY_MS = 15_000;

export function duplicates(history: readonly HistoryRecord[]): Duplicates {
  const troubles = new TroubleTimes(history);
  const copies = new Map<string, RecordOf<'copy'>[]>();
  for (const copy of recordsOf(history, 'copy')) {
    const key = `${copy.member.slice(copy.member.lastIndexOf('.') + 1)} ${copy.channel}#${copy.post}`;
    copies.set(key, [...(copies.get(key) ?? []), copy]);
  }
  const reasons: Partial<Record<Reason, number>> = {};
  const findings: Finding[] = [];
  let count = 0;
  for (const [, times] of groupBy(history)) {
    let before: RecordOf<'surfaced'> | undefined;
    let answers: RecordOf<'confirmed'>[] = [];
    for (const again of times) {
      if (again.kind === 'confirmed') {
        answers.push(again);
        continue;
      }
      const since = before;
      const answered = answers;
      before = again;
      answers = [];
      // A live post without an id has nothing to be known by.
      if (since === undefined || (again.id === '' && again.seq === null)) continue;
      count++;
      const handed = copies.get(`${again.uid} ${again.channel}#${again.seq}`) ?? [];
      const reason = reasonOf({ before: since, again, answers: answered, handed, troubles });
      if (reason !== undefined) reasons[reason] = (reasons[reason] ?? 0) + 1;
      else {
        const what = `${again.agent} saw ${again.channel}#${again.seq} "${again.id}" (${again.source}) again`;
        findings.push(
          finding('duplicate', again.at, `${what}, ${Math.round(again.at - since.at)} ms after (${since.source})`),
        );
      }
    }
  }
  return { count, reasons, findings };
}

function reasonOf(of: {
  before: RecordOf<'surfaced'>;
  again: RecordOf<'surfaced'>;
  answers: readonly RecordOf<'confirmed'>[];
  handed: readonly RecordOf<'copy'>[];
  troubles: TroubleTimes;
}): Reason | undefined {
  const { before, again, answers, handed, troubles } = of;
  if (answers.length === 0) return 'unconfirmed';
  if (answers.every(({ how }) => how === 'unanswered')) return 'unanswered';
  if (again.id === '') return 'empty-id';
  if (answers.every(({ how }) => how !== 'confirmed') && before.life !== again.life) return 'another-life';
  if (again.source === 'live' && before.life !== again.life) return 'sent-again';
  const [first, last] = [handed[0], handed.at(-1)];
  if (first !== undefined && last !== undefined && first !== last && before.life !== again.life) {
    const around = troubles.between(first.at, last.at, RECOVERY_MS);
    if (first.writer !== last.writer || around.length > 0) return 'handed-off-again';
  }
  const ends = troubles
    .between(before.at, again.at)
    .filter(({ verb, target }) => ['kill', 'restart'].includes(verb) && target.startsWith('broker'));
  if (again.seq !== before.seq && before.life !== again.life && ends.length > 0) return 'sent-again';
  return ends.some(({ verb }) => verb === 'kill') ? 'broker-killed' : undefined;
}

/** What each lifecycle saw and confirmed of each post, in the order in which it did. */
function groupBy(history: readonly HistoryRecord[]): Map<string, RecordOf<'surfaced' | 'confirmed'>[]> {
  const groups = new Map<string, RecordOf<'surfaced' | 'confirmed'>[]>();
  for (const record of history) {
    if (record.kind !== 'surfaced' && record.kind !== 'confirmed') continue;
    const key = `${record.uid} ${keyOf(record)}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [record]);
    else group.push(record);
  }
  return groups;
}
