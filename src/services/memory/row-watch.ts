/** News of channels, members and ACLs in memory. */
import { readJson, shaped } from '../../domain/message.ts';
import { readMember } from '../../domain/names.ts';
import { aclIn, channelRowSchema, isMarker, memberRowSchema } from '../../domain/rows.ts';
import { buckets, keySubject, readMemberRowKey } from '../../domain/subjects.ts';
import type { RowNews, RowWatch, Silent } from '../ports.ts';
import type { Kept, MemoryStream } from './stream.ts';
import type { Wire } from './wire.ts';

export function memoryRowWatch(wire: Wire): RowWatch {
  const { broker } = wire;
  const bucket = buckets(broker.space);
  const readers = (news: RowNews): [MemoryStream, string, (key: string, kept: Kept) => void][] => [
    [
      broker.channels,
      bucket.channels,
      (key, { data, header, seq }) =>
        news.channel(key, isMarker(header) ? undefined : shaped(channelRowSchema, readJson(data)), seq),
    ],
    [
      broker.members,
      bucket.members,
      (key, { data, header, seq }) => {
        const place = readMemberRowKey(key);
        const row = isMarker(header) ? undefined : shaped(memberRowSchema, readJson(data));
        if (place !== undefined) news.member(place.channel, place.member, row, seq);
      },
    ],
    [
      broker.acl,
      bucket.acl,
      (key, kept) => {
        const member = readMember(key);
        if (member !== undefined) news.acl(member, aclIn(kept), kept.seq);
      },
    ],
  ];
  return {
    async follow(news) {
      let stopped = false;
      const arrives = wire.newsOf('rowWatch.follow');
      const deaf: (() => void)[] = [];
      const stop = () => {
        stopped = true;
        for (const each of deaf) each();
      };
      const following = await wire.look('rowWatch.follow', () => {
        for (const [stream, name, read] of readers(news)) {
          const head = keySubject(name, '');
          const tell = (kept: Kept) => {
            arrives(() => {
              if (!stopped) read(kept.subject.slice(head.length), kept);
            });
          };
          deaf.push(stream.listen(tell));
          for (const kept of stream.all()) tell(kept);
        }
        const lose = (isUp: boolean) => {
          if (isUp || stopped) return;
          stop();
          news.lost('the watch was lost');
        };
        deaf.push(broker.listen(lose));
        const caughtUp = async () => {
          // What was written before is on its way before the answer is.
          const asked = await wire.look('rowWatch.caughtUp', () => ({ kind: 'told' as const }));
          if (asked.kind === 'silent') return asked;
          return new Promise<typeof asked | Silent>((resolve) => {
            arrives(() => resolve(stopped ? { kind: 'silent', why: 'the watch was lost' } : asked));
          });
        };
        return { kind: 'following' as const, watch: { stop: async () => stop(), caughtUp } };
      });
      if (following.kind === 'silent') {
        stop();
        return following;
      }
      // Everything that existed was put on its way before: it is told before this is.
      return new Promise((resolve) => {
        arrives(() => resolve(stopped ? { kind: 'silent', why: 'the watch was lost' } : following));
        deaf.push(broker.listen((isUp) => isUp || resolve({ kind: 'silent', why: 'the watch was lost' })));
      });
    },
  };
}
