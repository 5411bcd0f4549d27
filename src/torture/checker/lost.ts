/**
 * Nothing is lost for a current member within retention: a post above the join cursor of a membership that is still open
 * at the end surfaced, if the member's ACL covered the channel all the time; so did a post on a live channel that mentions
 * somebody who could read it. And what the broker acknowledged to a sender is on the channel.
 */
import { type HistoryRecord, type RecordOf, recordsOf } from '../history.ts';
import { LIVE_CHANNEL } from '../schedule.ts';
import { AclTimes } from './acl-times.ts';
import { type Finding, finding } from './finding.ts';
import { keyOf, type Post, Posts } from './posts.ts';

/** Clocks of broker and parties are one clock, read at slightly different moments. */
const SLACK_MS = 250;

export function lost(history: readonly HistoryRecord[]): Finding[] {
  const posts = new Posts(history);
  const acls = new AclTimes(history);
  const end = recordsOf(history, 'drained').at(-1)?.at ?? Number.POSITIVE_INFINITY;
  const retired = new Set(recordsOf(history, 'retiring').map(({ uid }) => uid));
  const members = recordsOf(history, 'added').filter(({ uid }) => !retired.has(uid));
  const seen = new Set(recordsOf(history, 'surfaced').map((record) => `${record.uid} ${keyOf(record)}`));
  const found: Finding[] = [];
  for (const { agent, uid, principal } of members) {
    const open = openMemberships(history, uid);
    for (const post of posts.all) {
      if (post.from === principal || seen.has(`${uid} ${keyOf(post)}`)) continue;
      const promise = promised(post, { agent, uid, open, posts, acls, end });
      if (promise !== undefined) {
        found.push(
          finding('lost', post.at, `${agent} never saw ${post.channel}#${post.seq} of ${post.from}: ${promise}`),
        );
      }
    }
  }
  return [...found, ...unkept(history, posts)];
}

interface Promised {
  readonly agent: string;
  readonly uid: string;
  readonly open: ReadonlyMap<string, RecordOf<'standing'>>;
  readonly posts: Posts;
  readonly acls: AclTimes;
  readonly end: number;
}

/** Why the member may count on the post, or undefined. */
function promised(post: Post, { agent, uid, open, posts, acls, end }: Promised): string | undefined {
  // A second post with the same id is the same post: where the first was refused or dropped, so is this one.
  const first = posts.like(post)[0] ?? post;
  if (!acls.coveredThroughout(uid, post.channel, first.at - SLACK_MS, end)) return undefined;
  const membership = open.get(post.channel);
  if (membership !== undefined) {
    return first.seq > membership.joinCursor
      ? `joined durably at ${membership.joinCursor}, generation ${membership.generation}`
      : undefined;
  }
  return post.mentions.includes(agent) && post.channel === LIVE_CHANNEL ? 'mentioned on a live channel' : undefined;
}

/** Memberships that the agent was told are durable, and never asked to leave afterwards; by channel. */
function openMemberships(history: readonly HistoryRecord[], uid: string): Map<string, RecordOf<'standing'>> {
  const open = new Map<string, RecordOf<'standing'>>();
  const news = [...recordsOf(history, 'standing'), ...recordsOf(history, 'leaving')].filter((each) => each.uid === uid);
  for (const record of news.sort((a, b) => a.at - b.at)) {
    if (record.kind === 'leaving') open.delete(record.channel);
    else if (record.state === 'durable') {
      const known = open.get(record.channel);
      if (known?.generation !== record.generation) open.set(record.channel, record);
    }
  }
  return open;
}

/** Posts that the broker acknowledged and does not have. */
function unkept(history: readonly HistoryRecord[], posts: Posts): Finding[] {
  const kept = new Map(posts.all.map((post) => [post.seq, post]));
  return recordsOf(history, 'posted').flatMap(({ at, agent, channel, id, seq, duplicate }) => {
    const post = kept.get(seq);
    const same = post?.channel === channel && post.id === id;
    return same || (duplicate && post === undefined)
      ? []
      : [finding('lost', at, `${channel}#${seq} "${id}" of ${agent} was acknowledged and is not there`)];
  });
}
