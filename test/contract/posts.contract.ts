import { beforeAll, describe, expect, it } from 'vitest';
import { chatSubject } from '../../src/domain/subjects.ts';
import type { DeliveredPost, Posts, StoredPost } from '../../src/services/ports.ts';
import { until } from '../support/until.ts';
import { freshChannel, type Ground, json, message, text } from './ground.ts';

/** The posts, and the writer's place in them. */
export function postsContract(on: () => Ground): void {
  describe('posts', () => {
    let posts: Posts;
    let ground: Ground;
    beforeAll(async () => {
      ground = on();
      posts = (await ground.ports()).posts;
    });
    const post = (channel: string, from = 'local.ann', id?: string) =>
      ground.post({
        from,
        channel,
        data: json(message(ground.space, { from, channel, ...(id === undefined ? {} : { id }) })),
      });
    const listen = (over: Posts = posts) => {
      const got: DeliveredPost[] = [];
      const lost: string[] = [];
      const pulling = over.pull({ post: (each) => got.push(each), lost: (why) => lost.push(why) });
      return { got, lost, stop: () => pulling.stop() };
    };
    const frontier = async () => {
      const read = await posts.frontier();
      return read.kind === 'frontier' ? read.seq : -1;
    };
    const open = async (floor = 0) => {
      const opened = await posts.open({ floor });
      if (opened.kind !== 'opened') throw new Error(JSON.stringify(opened));
      return opened;
    };

    it('have a frontier that every post moves', async () => {
      const before = await frontier();
      const seq = await post(freshChannel());
      expect([seq, await frontier()]).toEqual([before + 1, before + 1]);
    });

    it('are pulled in their order and as they came, are settled, and then the floor is known', async () => {
      const pull = listen();
      await until(async () => pull.got.at(-1)?.seq === (await frontier()), 'what is there');
      posts.settle({ posts: pull.got });
      const channel = freshChannel();
      const data = text('{"not":"a post"}');
      const first = await ground.post({ from: 'local.ann', channel, data });
      const second = await post(channel);
      await until(
        () => pull.got.at(-1)?.seq === second,
        () => pull.got.map(({ seq }) => seq),
      );
      const [one, two] = pull.got.slice(-2);
      expect([one?.seq, two?.seq]).toEqual([first, second]);
      expect(Buffer.from(one?.data ?? []).toString()).toBe('{"not":"a post"}');
      expect(one?.subject).toBe(chatSubject(ground.space, 'local.ann', channel));
      const floor = async () => {
        const read = await posts.place();
        return read.kind === 'place' ? read.floor : -1;
      };
      expect(await floor()).toBeLessThan(first);
      if (two !== undefined) posts.settle({ posts: [two] });
      if (one !== undefined) posts.settle({ posts: [one] });
      await until(async () => (await floor()) === second, floor);
      expect(await open()).toEqual({ kind: 'opened', position: second, floor: second, unsettled: 0, made: false });
      await pull.stop();
    });

    it('are not delivered again by a next pull, and one that was not settled is still owed', async () => {
      const pull = listen();
      const owed = await post(freshChannel());
      await until(() => pull.got.some(({ seq }) => seq === owed), 'the post');
      await pull.stop();
      const again = listen();
      const next = await post(freshChannel());
      await until(() => again.got.some(({ seq }) => seq === next), 'the next post');
      expect(again.got.map(({ seq }) => seq)).toEqual([next]);
      expect(await open()).toMatchObject({ position: next, floor: owed - 1, unsettled: 2 });
      const held = await posts.between({ after: owed - 1, upTo: next });
      expect(held.kind === 'read' && held.posts.map(({ seq }) => seq)).toEqual([owed, next]);
      expect(await posts.between({ after: next, upTo: next })).toEqual({ kind: 'read', posts: [] });
      // Settled without the delivery, and by the one that came.
      posts.settle({ posts: [...(held.kind === 'read' ? held.posts.slice(0, 1) : []), ...again.got] });
      await until(
        async () => {
          const place = await posts.place();
          return place.kind === 'place' && place.floor === next;
        },
        () => posts.place(),
      );
      await again.stop();
    });

    it('tell nothing more after a stop', async () => {
      const pull = listen();
      await pull.stop();
      const other = listen();
      const seq = await post(freshChannel());
      await until(() => other.got.some((each) => each.seq === seq), 'the other pull');
      expect([pull.got, pull.lost]).toEqual([[], []]);
      posts.settle({ posts: other.got });
      await other.stop();
    });

    it('are lost track of when somebody deletes the durable, which is then made again from the floor', async () => {
      const pull = listen();
      await until(async () => (await open()).position === (await frontier()), 'the pull');
      await ground.deleteFanout();
      await until(
        () => pull.lost.length > 0,
        () => pull.got.length,
      );
      expect(pull.lost).toHaveLength(1);
      const channel = freshChannel();
      const kept = await post(channel);
      const later = await post(channel);
      expect(await open(kept)).toEqual({ kind: 'opened', position: kept, floor: kept, unsettled: 0, made: true });
      expect(await open(0)).toEqual({ kind: 'opened', position: kept, floor: kept, unsettled: 0, made: false });
      const again = listen();
      await until(
        () => again.got.some(({ seq }) => seq === later),
        () => again.got,
      );
      expect(again.got.map(({ seq }) => seq)).toEqual([later]);
      posts.settle({ posts: again.got });
      await again.stop();
      await pull.stop();
    });

    it('are lost track of at once by a pull that finds no durable', async () => {
      const floor = await frontier();
      await ground.deleteFanout();
      const pull = listen();
      await until(() => pull.lost.length > 0, 'the loss');
      expect(pull.got).toEqual([]);
      expect((await open(floor)).made).toBe(true);
    });

    it('of one channel are read between two sequences, whoever posted them, in pages', async () => {
      const channel = freshChannel();
      const before = await post(channel);
      const wanted: number[] = [];
      for (let n = 0; n < 300; n++) wanted.push(await post(channel, n % 2 === 0 ? 'local.ann' : 'local.bob'));
      await post(`${channel}.below`);
      await post(freshChannel());
      const after = await post(channel);
      const pages: StoredPost[][] = [];
      const read = await posts.range({ channel, after: before, upTo: after - 1 }, async (page) => {
        pages.push(page);
        return true;
      });
      expect(read).toEqual({ kind: 'read', first: 0 });
      expect(pages.length).toBeGreaterThan(1);
      expect(pages.flat().map(({ seq }) => seq)).toEqual(wanted);
      expect(await posts.range({ channel, after, upTo: after + 10 }, async () => true)).toEqual({
        kind: 'read',
        first: 0,
      });
      expect(await posts.range({ channel, after: 5, upTo: 5 }, async () => true)).toMatchObject({ kind: 'read' });
    });

    it('without a body, or that are none, come among the others', async () => {
      const channel = freshChannel();
      const first = await post(channel);
      const empty = await ground.post({ from: 'local.bob', channel, data: text('') });
      const last = await post(channel);
      const seqs: number[] = [];
      const read = await posts.range({ channel, after: first - 1, upTo: last }, async (page) => {
        seqs.push(...page.map(({ seq }) => seq));
        return true;
      });
      expect([read, seqs]).toEqual([{ kind: 'read', first: 0 }, [first, empty, last]]);
    });

    it('are not read on when the reader gives up', async () => {
      const channel = freshChannel();
      for (let n = 0; n < 3; n++) await post(channel);
      let pages = 0;
      const read = await posts.range({ channel, after: 0, upTo: await frontier() }, async () => {
        pages++;
        return false;
      });
      expect([read.kind, pages]).toEqual(['silent', 1]);
    });

    it('that retention took are told by the first sequence from which on none can be missing', async () => {
      const channel = freshChannel();
      const seqs: number[] = [];
      for (let n = 0; n < ground.history + 2; n++) seqs.push(await post(channel, 'local.loud'));
      const quiet = await post(channel, 'local.quiet');
      const got: number[] = [];
      const read = await posts.range({ channel, after: 0, upTo: quiet }, async (page) => {
        got.push(...page.map(({ seq }) => seq));
        return true;
      });
      expect(read).toEqual({ kind: 'read', first: seqs[2] });
      expect(got).toEqual([...seqs.slice(2), quiet]);
      const full = await posts.fullSubjects();
      expect(full.kind === 'read' && full.subjects).toContain(chatSubject(ground.space, 'local.loud', channel));
      expect(full.kind === 'read' && full.subjects).not.toContain(chatSubject(ground.space, 'local.quiet', channel));
    });

    it.each([
      [1, 1],
      [2, 1],
      [7, 3],
      [7, 7],
      [7, 8],
      [40, 25],
    ])('of a channel with %i posts: the last %i, oldest first, and whether that is all', async (many, limit) => {
      const channel = freshChannel();
      const seqs: number[] = [];
      for (let n = 0; n < many; n++) {
        await post(freshChannel(), 'local.other');
        seqs.push(await post(channel, `local.p${n % 3}`));
        if (n % 5 === 0) await post(`${channel}.x`, 'local.other');
      }
      const read = await posts.last({ channel, limit });
      if (read.kind !== 'read') throw new Error(JSON.stringify(read));
      expect(read.posts.map(({ seq }) => seq)).toEqual(seqs.slice(-limit));
      expect(read.complete).toBe(many <= limit);
    });

    it('of a channel without any are none', async () => {
      expect(await posts.last({ channel: freshChannel(), limit: 5 })).toEqual({
        kind: 'read',
        posts: [],
        complete: true,
      });
    });
  });
}
