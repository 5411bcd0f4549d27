/** News of channels, members and ACLs, for the writer's index. */
import { readJson, shaped } from '../../domain/message.ts';
import { readMember } from '../../domain/names.ts';
import { aclIn, channelRowSchema, isMarker, memberRowSchema } from '../../domain/rows.ts';
import { buckets, readMemberRowKey } from '../../domain/subjects.ts';
import type { RowNews, RowWatch } from '../ports.ts';
import type { SeenRow } from './bucket-watch.ts';
import { followBucket } from './followed-bucket.ts';
import type { GatedBroker } from './gated-broker.ts';

export function natsRowWatch({ broker, space }: { broker: GatedBroker; space: string }): RowWatch {
  const bucket = buckets(space);
  return {
    async follow(news) {
      const tells = tellsOf(news);
      let gone: string | undefined;
      let tellLost = (why: string) => {
        gone ??= why;
      };
      const follow = (name: string, row: (seen: SeenRow) => void) =>
        followBucket(broker, name, { row, lost: (why) => tellLost(why) });
      const acls = follow(bucket.acl, tells.acl);
      const all = [follow(bucket.channels, tells.channel), follow(bucket.members, tells.member), acls];
      const stop = async () => {
        for (const each of all) each.stop();
      };
      // Whoever is behind at the start may lack rows that were there before.
      const told = await Promise.all(all.map((each) => each.caughtUp()));
      const why = told.find((each) => each.kind === 'silent')?.why ?? gone;
      if (why !== undefined) {
        await stop();
        return { kind: 'silent', why };
      }
      tellLost = (why) => {
        tellLost = () => {};
        void stop();
        news.lost(why);
      };
      return { kind: 'following', watch: { stop, caughtUp: acls.caughtUp } };
    },
  };
}

/** What each bucket's rows say. */
function tellsOf(news: RowNews) {
  return {
    channel: (seen: SeenRow) => {
      const row = isMarker(seen.header) ? undefined : shaped(channelRowSchema, readJson(seen.data));
      news.channel(seen.key, row, seen.revision);
    },
    member: (seen: SeenRow) => {
      const place = readMemberRowKey(seen.key);
      if (place === undefined) return;
      const row = isMarker(seen.header) ? undefined : shaped(memberRowSchema, readJson(seen.data));
      news.member(place.channel, place.member, row, seen.revision);
    },
    acl: (seen: SeenRow) => {
      const member = readMember(seen.key);
      if (member !== undefined) news.acl(member, aclIn(seen), seen.revision);
    },
  };
}
