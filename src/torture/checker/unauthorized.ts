/**
 * Nothing surfaces outside of interval or ACL. Two kinds of evidence: what an agent saw, which may have been in its hands
 * for a moment, and what the broker stored for it (a copy handed off), which is exact.
 */
import { coveredByAny } from '../../domain/names.ts';
import { type HistoryRecord, type RecordOf, recordsOf } from '../history.ts';
import { LIVE_CHANNEL } from '../schedule.ts';
import { AclTimes } from './acl-times.ts';
import { type Finding, finding } from './finding.ts';
import { type Post, Posts } from './posts.ts';
import { storedAt } from './serving.ts';
import { TroubleTimes } from './trouble-times.ts';

/** Clocks of broker and parties are one clock, read at slightly different moments. */
const SLACK_MS = 250;
/** What was pulled before a withdrawal surfaces within this long, on a busy machine. */
const IN_HAND_MS = 3_000;

interface Case {
  readonly history: readonly HistoryRecord[];
  readonly posts: Posts;
  readonly acls: AclTimes;
  readonly troubles: TroubleTimes;
  readonly effectMs: number;
  /** Whether somebody sent such a post: what is live may come to subscribers though the broker could not store it. */
  wasSent(record: RecordOf<'surfaced'>): boolean;
  /** The recorder may not know every row of a membership. */
  readonly missedRows: boolean;
}

export function unauthorized(history: readonly HistoryRecord[]): Finding[] {
  const principals = new Map(recordsOf(history, 'added').map(({ uid, principal }) => [uid, principal]));
  const sent = new Set(
    recordsOf(history, 'posting').map(({ uid, channel, id }) => sentKey(principals.get(uid) ?? '', channel, id)),
  );
  const of: Case = {
    history,
    posts: new Posts(history),
    acls: new AclTimes(history),
    troubles: new TroubleTimes(history),
    effectMs: recordsOf(history, 'run')[0]?.effectMs ?? 5_000,
    wasSent: ({ from, channel, id }) => sent.has(sentKey(from, channel, id)),
    missedRows: recordsOf(history, 'missed').some(({ stream }) => stream === 'members'),
  };
  return recordsOf(history, 'added').flatMap((added) => [...surfacings(added, of), ...handOffs(added, of)]);
}

function surfacings({ agent, uid, principal, read }: RecordOf<'added'>, of: Case): Finding[] {
  const retired = recordsOf(of.history, 'retired').find((record) => record.uid === uid)?.at;
  const lefts = answeredLeaves(of.history, uid);
  const memberships = recordsOf(of.history, 'membership').filter(({ member }) => member === `${principal}.${uid}`);
  return recordsOf(of.history, 'surfaced')
    .filter((record) => record.uid === uid)
    .flatMap((record) => {
      const { at, channel, seq, source } = record;
      const fault = (why: string) => [finding('unauthorized', at, `${agent} ← ${channel}#${seq} (${source}): ${why}`)];
      const posts = of.posts.like(record);
      if (record.from === principal) return fault('it is its own post');
      if (source === 'live' ? !of.wasSent(record) : posts.length === 0) return fault('nobody posted it');
      if (retired !== undefined && at > retired + inHand(record, of)) return fault('its lifecycle was retired');
      if (source === 'live')
        return coveredByAny(read, channel) ? [] : fault('its credential does not cover the channel');
      const closed = of.acls.closedSince(uid, channel, at);
      if (closed !== undefined && at > closed + inHand(record, of)) return fault('its ACL does not cover the channel');
      if (source === 'backfill' || channel === LIVE_CHANNEL) return [];
      return outside(record, { posts, lefts, memberships, of }).flatMap(fault);
    });
}

const sentKey = (from: string, channel: string, id: string): string => JSON.stringify([from, channel, id]);

/** Whether what surfaced lies outside of every interval that was open at the time. */
function outside(
  record: RecordOf<'surfaced'>,
  {
    posts,
    lefts,
    memberships,
    of,
  }: {
    posts: readonly Post[];
    lefts: readonly AnsweredLeave[];
    memberships: readonly RecordOf<'membership'>[];
    of: Case;
  },
): string[] {
  const seqs = record.seq === null ? posts.map(({ seq }) => seq) : [record.seq];
  const rows = memberships.filter(({ channel }) => channel === record.channel);
  const graceMs = of.effectMs + inHand(record, of);
  const generations = new Set(rows.map(({ generation }) => generation));
  const within = [...generations].filter((generation) =>
    seqs.some((seq) => contains(rows, { generation, seq, at: record.at, graceMs })),
  );
  if (within.length === 0) return of.missedRows ? [] : ['it lies in no interval of its membership'];
  const stillOpen = within.some((generation) => {
    const closed = closedAt(rows, lefts, record.channel, generation);
    return closed === undefined || record.at <= closed + inHand(record, of);
  });
  return stillOpen ? [] : [`generation ${within.join(', ')} was left, and that was answered`];
}

/**
 * Whether a post lies in a generation. One above the leave cursor may still have been authorized by the row as it was a moment
 * before it was closed; what was handed off then is taken back before the leave is answered.
 */
function contains(
  rows: readonly RecordOf<'membership'>[],
  { generation, seq, at, graceMs }: { generation: number; seq: number; at: number; graceMs: number },
): boolean {
  const last = rows.filter((row) => row.generation === generation).at(-1);
  if (last === undefined || last.joinCursor >= seq) return false;
  return last.leaveCursor === undefined || seq <= last.leaveCursor || at <= last.at + graceMs;
}

interface AnsweredLeave {
  readonly channel: string;
  readonly asked: number;
  readonly at: number;
}

/** Leaves that were answered, with when the agent had asked for them. */
function answeredLeaves(history: readonly HistoryRecord[], uid: string): AnsweredLeave[] {
  const asked = recordsOf(history, 'leaving').filter((record) => record.uid === uid);
  return recordsOf(history, 'left')
    .filter((record) => record.uid === uid)
    .map(({ at, channel }) => {
      const before = asked.filter((leaving) => leaving.channel === channel && leaving.at <= at).at(-1);
      return { at, channel, asked: before?.at ?? at };
    });
}

/**
 * When the leave of a generation was answered: the first answer after its row was closed; where its row never was, the first
 * answer to a leave that was asked for after the row was there.
 */
function closedAt(
  rows: readonly RecordOf<'membership'>[],
  lefts: readonly AnsweredLeave[],
  channel: string,
  generation: number,
): number | undefined {
  const own = rows.filter((each) => each.generation === generation);
  const closed = own.find((each) => each.state === 'left');
  const opened = own[0]?.at ?? 0;
  return lefts.find((left) => {
    if (left.channel !== channel) return false;
    return closed === undefined ? left.asked > opened + SLACK_MS : left.at >= closed.at - SLACK_MS;
  })?.at;
}

/** How long a copy may have been in the agent's hands before it surfaced. */
function inHand({ at, asked, agent, limit }: RecordOf<'surfaced'>, { troubles }: Case): number {
  const held = troubles.between(asked, at, 1_000).filter(({ target }) => target === agent || target === 'broker');
  const since = Math.min(at, ...held.map(({ from }) => from));
  // What one call pulled together surfaces one after the other.
  return IN_HAND_MS + (limit > 1 ? at - asked : 0) + (at - since);
}

function handOffs({ agent, uid, principal }: RecordOf<'added'>, of: Case): Finding[] {
  const { history, acls, effectMs } = of;
  const member = `${principal}.${uid}`;
  const tombstone = recordsOf(history, 'tombstone').find((record) => record.member === member)?.at;
  const lefts = answeredLeaves(history, uid);
  const memberships = recordsOf(history, 'membership').filter((record) => record.member === member);
  const posts = new Map(of.posts.all.map((post) => [post.seq, post]));
  const entries = storedAt(recordsOf(history, 'entry'));
  return recordsOf(history, 'copy')
    .filter((copy) => copy.member === member)
    .flatMap((copy) => {
      const { at, channel, generation, post, writer, entry } = copy;
      /** A copy that was authorized before this was not possible any more may be stored for so long. */
      const isLate = (since: number, graceMs = effectMs + SLACK_MS) =>
        at > since + graceMs && !of.troubles.wasKeptBack({ writer, sent: since, stored: at, cause: entries(entry) });
      const fault = (why: string) => [
        finding('unauthorized', at, `${agent} was handed ${channel}#${post} generation ${generation}: ${why}`),
      ];
      const original = posts.get(post);
      if (original === undefined || original.channel !== channel) return fault('nobody posted it');
      if (original.from === principal) return fault('it is its own post');
      if (tombstone !== undefined && isLate(tombstone)) return fault('its lifecycle was retired');
      const closed = acls.closedSince(uid, channel, at);
      if (closed !== undefined && at > closed + SLACK_MS) return fault('its ACL does not cover the channel');
      const uncovered = acls.uncoveredSince(uid, channel, at);
      if (uncovered !== undefined && isLate(uncovered)) return fault('its ACL was narrowed before');
      if (generation === 0) return original.mentions.includes(agent) ? [] : fault('it does not mention it');
      const rows = memberships.filter((row) => row.channel === channel);
      if (!rows.some((row) => row.generation === generation)) {
        return of.missedRows ? [] : fault('it has no such generation');
      }
      if (!contains(rows, { generation, seq: post, at, graceMs: effectMs + SLACK_MS }))
        return fault('the post lies outside of the interval');
      const left = closedAt(rows, lefts, channel, generation);
      return left !== undefined && at > left + SLACK_MS ? fault('the leave of it was answered before') : [];
    });
}
