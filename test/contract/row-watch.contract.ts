import { beforeAll, describe, expect, it } from 'vitest';
import { type Member, memberKey, principalOf } from '../../src/domain/names.ts';
import { memberRowKey } from '../../src/domain/subjects.ts';
import type { RowNews } from '../../src/services/ports.ts';
import { until } from '../support/until.ts';
import { freshChannel, type Ground } from './ground.ts';

class News implements RowNews {
  readonly heard: string[] = [];
  readonly lostBy: string[] = [];
  channel(key: string, row: { deliveryClass?: string | undefined } | undefined): void {
    this.heard.push(`channel ${key} ${row?.deliveryClass ?? 'none'}`);
  }
  member(channel: string, member: Member, row: { state: string } | undefined): void {
    this.heard.push(`member ${channel} ${memberKey(member)} ${row?.state ?? 'none'}`);
  }
  acl(member: Member, acl: { kind: string }): void {
    this.heard.push(`acl ${memberKey(member)} ${acl.kind}`);
  }
  lost(why: string): void {
    this.lostBy.push(why);
  }
}

/** News of the rows that routing goes by. */
export function rowWatchContract(on: () => Ground): void {
  describe('the row watch', () => {
    let ground: Ground;
    beforeAll(() => {
      ground = on();
    });
    const follow = async (news: News) => {
      const { rowWatch } = await ground.ports();
      const following = await rowWatch.follow(news);
      if (following.kind !== 'following') throw new Error(JSON.stringify(following));
      return following.watch;
    };
    const put = (key: string, row: unknown) => ground.putRow({ bucket: 'channels', key, row });

    it('tells rows that are more than one stretch of the broker’s flow control, and misses none', async () => {
      // A megabyte and a half, in rows that know a field of a later version.
      const channels = Array.from({ length: 192 }, freshChannel);
      const row = { deliveryClass: 'live', note: 'x'.repeat(8_192) };
      await Promise.all(channels.map((channel) => put(channel, row)));
      const news = new News();
      const watch = await follow(news);
      expect(news.lostBy).toEqual([]);
      expect(channels.filter((channel) => !news.heard.includes(`channel ${channel} live`))).toEqual([]);
      await Promise.all(channels.map((channel) => put(channel, undefined)));
      await watch.stop();
    });

    it('tells every row that existed before it says so, and then every change, deletions too', async () => {
      const ann = await ground.member();
      const channel = freshChannel();
      await put(channel, { deliveryClass: 'live' });
      const key = memberRowKey(channel, ann);
      const row = {
        channel,
        owner: principalOf(ann),
        lifecycleUid: ann.uid,
        state: 'active',
        joinCursor: 0,
        generation: 1,
        writerIdentity: 't',
        updatedAt: 1,
      };
      await ground.putRow({ bucket: 'members', key, row });
      const news = new News();
      const watch = await follow(news);
      expect(news.heard).toContain(`channel ${channel} live`);
      expect(news.heard).toContain(`member ${channel} ${memberKey(ann)} active`);
      expect(news.heard).toContain(`acl ${memberKey(ann)} grant`);
      await put(channel, undefined);
      await put('=defaults', { deliveryClass: 'durable' });
      await ground.putRow({ bucket: 'members', key, row: { broken: true } });
      await ground.putRow({ bucket: 'acl', key: memberKey(ann), row: { retired: true, retiredAt: 1, revision: 2 } });
      const wanted = [
        `channel ${channel} none`,
        'channel =defaults durable',
        `member ${channel} ${memberKey(ann)} none`,
        `acl ${memberKey(ann)} retired`,
      ];
      await until(
        () => wanted.every((each) => news.heard.includes(each)),
        () => news.heard.slice(-8),
      );
      await watch.stop();
    });

    it('is complete also while rows are written all the time (REG-06)', async () => {
      const channels = Array.from({ length: 200 }, () => freshChannel());
      await Promise.all(channels.map((channel) => put(channel, { deliveryClass: 'live' })));
      let writing = true;
      const writer = (async () => {
        for (let n = 0; writing; n++) await put(channels[n % 20] ?? '', { deliveryClass: 'durable', n });
      })();
      try {
        for (let round = 0; round < 5; round++) {
          const news = new News();
          const watch = await follow(news);
          const told = new Set(news.heard.map((line) => line.split(' ')[1]));
          expect(channels.filter((channel) => !told.has(channel))).toEqual([]);
          await watch.stop();
        }
      } finally {
        writing = false;
        await writer;
      }
    });

    it('says when every grant that was written before has been told, and that it does not know when it is over', async () => {
      const news = new News();
      const watch = await follow(news);
      for (let i = 0; i < 20; i++) {
        const ann = await ground.member();
        expect(await watch.caughtUp()).toEqual({ kind: 'told' });
        expect(news.heard).toContain(`acl ${memberKey(ann)} grant`);
      }
      await watch.stop();
      expect(await watch.caughtUp()).toMatchObject({ kind: 'silent' });
    });

    it('tells nothing more after a stop', async () => {
      const news = new News();
      const watch = await follow(news);
      await watch.stop();
      const before = news.heard.length;
      const other = new News();
      const another = await follow(other);
      const channel = freshChannel();
      await put(channel, { deliveryClass: 'live' });
      await until(() => other.heard.includes(`channel ${channel} live`), 'the other watch');
      expect([news.heard.length, news.lostBy]).toEqual([before, []]);
      await another.stop();
    });

    it('told apart from others by key: what is no row of ours is passed over', async () => {
      await ground.putRow({ bucket: 'members', key: 'not-a-member-key', row: { x: 1 } });
      await ground.putRow({ bucket: 'acl', key: 'no-member', row: { x: 1 } });
      const news = new News();
      await (await follow(news)).stop();
      expect(news.heard.filter((line) => /not-a-member-key|no-member/.test(line))).toEqual([]);
    });
  });
}
