/** News of channels, members and ACLs, for the writer's index. */
import { readJson, shaped } from '../../domain/message.ts';
import { readMember } from '../../domain/names.ts';
import { aclIn, channelRowSchema, isMarker, memberRowSchema } from '../../domain/rows.ts';
import { buckets, readMemberRowKey } from '../../domain/subjects.ts';
import type { RowWatch, Stoppable } from '../ports.ts';
import { type SeenRow, watchBucket } from './bucket-watch.ts';
import type { GatedBroker } from './gated-broker.ts';

export function natsRowWatch({ broker, space }: { broker: GatedBroker; space: string }): RowWatch {
  const bucket = buckets(space);
  return {
    follow(news) {
      const readers: [bucket: string, tell: (seen: SeenRow) => void][] = [
        [
          bucket.channels,
          (seen) => {
            const row = isMarker(seen.header) ? undefined : shaped(channelRowSchema, readJson(seen.data));
            news.channel(seen.key, row, seen.revision);
          },
        ],
        [
          bucket.members,
          (seen) => {
            const place = readMemberRowKey(seen.key);
            if (place === undefined) return;
            const row = isMarker(seen.header) ? undefined : shaped(memberRowSchema, readJson(seen.data));
            news.member(place.channel, place.member, row, seen.revision);
          },
        ],
        [
          bucket.acl,
          (seen) => {
            const member = readMember(seen.key);
            if (member !== undefined) news.acl(member, aclIn(seen), seen.revision);
          },
        ],
      ];
      return new Promise((resolve) => {
        const watches: Stoppable[] = [];
        let incomplete = readers.length;
        let lost = false;
        const stop = async () => {
          await Promise.all(watches.map((watch) => watch.stop()));
        };
        for (const [name, row] of readers) {
          const listener = {
            row,
            complete: () => {
              incomplete--;
              if (incomplete === 0) resolve({ kind: 'following', watch: { stop } });
            },
            lost: (why: string) => {
              if (lost) return;
              lost = true;
              void stop();
              resolve({ kind: 'silent', why });
              if (incomplete === 0) news.lost(`${name}: ${why}`);
            },
          };
          watches.push(watchBucket(broker, { bucket: name, filter: '>', from: 'all' }, listener));
        }
      });
    },
  };
}
