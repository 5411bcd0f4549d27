/**
 * Every refusal has a reason that stands in the histories, every silence a fault or a time without a daemon, and every
 * daemon that ended was killed, was asked to, or met what the contract lets it end for.
 */
import { coveredByAny } from '../../domain/names.ts';
import { type HistoryRecord, type RecordOf, recordsOf } from '../history.ts';
import { AclTimes } from './acl-times.ts';
import { type Finding, finding } from './finding.ts';
import { TroubleTimes } from './trouble-times.ts';

/** After a fault ended connections come back, daemons start again and claims are made. */
const RECOVERY_MS = 20_000;
const SLACK_MS = 1_000;

type Refused = RecordOf<'refused'>;

export function unexplained(history: readonly HistoryRecord[]): Finding[] {
  const troubles = new TroubleTimes(history);
  const acls = new AclTimes(history);
  const added = new Map(recordsOf(history, 'added').map((record) => [record.uid, record]));
  const retiring = new Map(recordsOf(history, 'retiring').map((record) => [record.uid, record.at]));
  const refusals = recordsOf(history, 'refused').filter(
    (record) => !isExplained(record, { troubles, acls, added, retiring }),
  );
  return [
    ...refusals.map(({ at, agent, op, channel, code, reason }) =>
      finding('unexplained', at, `${agent} ${op} ${channel}: ${code} (${reason})`),
    ),
    ...ends(history, troubles),
  ];
}

interface Facts {
  readonly troubles: TroubleTimes;
  readonly acls: AclTimes;
  readonly added: ReadonlyMap<string, RecordOf<'added'>>;
  readonly retiring: ReadonlyMap<string, number>;
}

function isExplained(refused: Refused, { troubles, acls, added, retiring }: Facts): boolean {
  const { at, since, uid, channel, code, reason } = refused;
  const grants = added.get(uid);
  const gone = retiring.get(uid);
  if (gone !== undefined && at >= gone) return true;
  const trouble = () =>
    troubles.between(since, at, RECOVERY_MS).length > 0 || troubles.wasUnserved(since - SLACK_MS, at);
  const uncovered = () => acls.mayBeUncovered(uid, channel, since - SLACK_MS, at);
  switch (code) {
    case 'post.denied':
      return grants !== undefined && !coveredByAny(grants.post, channel);
    case 'join.refused':
      return grants !== undefined && !coveredByAny(grants.read, channel);
    case 'post.refused':
      return troubles.between(since, at, RECOVERY_MS).some(({ verb }) => verb === 'fill');
    case 'not-durable':
      return uncovered() || trouble() || reason.includes('live');
    case 'rail.refused':
      return uncovered() || trouble();
    case 'post.unanswered':
    case 'rail.silent':
    case 'client.pull-lost':
    case 'client.closed':
    case 'broker.unreachable':
    case 'client.no-durable':
    case 'not-left':
      return trouble();
    default:
      return false;
  }
}

function ends(history: readonly HistoryRecord[], troubles: TroubleTimes): Finding[] {
  // After the end the run itself takes them away.
  const over = recordsOf(history, 'drained').at(-1)?.at ?? Number.POSITIVE_INFINITY;
  const ended = recordsOf(history, 'daemon-ended').filter(({ at }) => at <= over);
  return ended.flatMap(({ at, daemon, code, signal, said }) => {
    const around = troubles.between(at - SLACK_MS, at, RECOVERY_MS);
    const met = (...verbs: string[]) => around.some(({ verb }) => verbs.includes(verb));
    const fine =
      (signal === 'SIGKILL' && met('kill')) ||
      // A process that has just been started has no handler yet.
      ((code === 0 || signal === 'SIGTERM') && met('stop', 'restart', 'deny', 'expire', 'skew')) ||
      // It met what its contract lets it end for: the broker gone, its lease another's, its credential expired, its start refused.
      (code === 1 && around.length > 0 && END_WORDS.some((words) => said.includes(words)));
    return fine ? [] : [finding('unexplained', at, `${daemon} ended: code ${code}, signal ${signal}: ${said}`)];
  });
}

const END_WORDS: readonly string[] = ['broker', 'lease', 'credential', 'cannot be used'];
