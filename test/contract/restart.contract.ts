import { beforeAll, describe, expect, it } from 'vitest';
import { encodeCopy } from '../../src/domain/copy.ts';
import { memberKey } from '../../src/domain/names.ts';
import { until } from '../support/until.ts';
import type { Ports } from './ground.ts';
import { entryOf, freshChannel, type Ground, json, message } from './ground.ts';

/** What holds when the broker was restarted, twice, under connections that come back by themselves. */
export function restartContract(on: () => Ground): void {
  describe('a broker that was restarted', () => {
    let ground: Ground;
    let ports: Ports;
    beforeAll(async () => {
      ground = on();
      ports = await ground.ports();
    });
    const put = (channel: string) =>
      ground.putRow({ bucket: 'channels', key: channel, row: { deliveryClass: 'live' } });
    const restartTwice = async () => {
      await ground.restart();
      await ground.restart();
      await until(
        async () => (await ports.posts.frontier()).kind === 'frontier',
        () => ports.posts.frontier(),
      );
      await until(() => put(freshChannel()), 'the other connections');
    };
    const post = async (channel: string) => {
      const data = json(message(ground.space, { from: 'local.ann', channel }));
      return until(() => ground.post({ from: 'local.ann', channel, data }), 'the poster');
    };
    const news = () => {
      const heard = new Set<string>();
      const lost: string[] = [];
      return { heard, lost, channel: (key: string) => void heard.add(key), member() {}, acl() {} };
    };

    it('is followed again: a watch goes on or is told to be lost, and the next one tells what was written meanwhile (REG-08)', async () => {
      const first = news();
      const following = await ports.rowWatch.follow({ ...first, lost: (why) => first.lost.push(why) });
      expect(following.kind).toBe('following');
      await restartTwice();
      const channel = freshChannel();
      await put(channel);
      await until(
        () => first.heard.has(channel) || first.lost.length > 0,
        () => [...first.lost],
        30_000,
      );
      const second = news();
      const again = await until(
        async () => {
          const next = await ports.rowWatch.follow({ ...second, lost: (why) => second.lost.push(why) });
          return next.kind === 'following' && next;
        },
        () => second.lost,
      );
      expect(second.heard.has(channel)).toBe(true);
      const later = freshChannel();
      await put(later);
      await until(
        () => second.heard.has(later),
        () => second.lost,
      );
      await again.watch.stop();
      if (following.kind === 'following') await following.watch.stop();
    });

    it('delivers posts again: a pull goes on, or is told to be lost and the next one gets them (RDR-09)', async () => {
      const got: number[] = [];
      const lost: string[] = [];
      let pulling = ports.posts.pull({ post: ({ seq }) => got.push(seq), lost: (why) => lost.push(why) });
      await restartTwice();
      const seq = await post(freshChannel());
      await until(
        () => got.includes(seq) || lost.length > 0,
        () => lost,
        30_000,
      );
      if (!got.includes(seq)) {
        await pulling.stop();
        pulling = ports.posts.pull({ post: (each) => got.push(each.seq), lost: (why) => lost.push(why) });
        await until(
          () => got.includes(seq),
          () => ({ got, lost }),
          30_000,
        );
      }
      await pulling.stop();
    });

    it('tells confirmations again, or that they were missed', async () => {
      const ann = await ground.member();
      const heard: number[] = [];
      const lost: string[] = [];
      const hearing = ports.copies.hearSettled({
        bound() {},
        settled: ({ seq }) => heard.push(seq),
        lost: (why) => lost.push(why),
      });
      const data = encodeCopy(json(message(ground.space, { from: 'local.x', channel: 'ops' })), {
        channel: 'ops',
        seq: 1,
        generation: 1,
      });
      await restartTwice();
      const stored = await ports.copies.storeAll({ member: ann, copies: [{ entrySeq: 1, channel: 'ops', data }] });
      if (stored.kind !== 'stored') throw new Error(JSON.stringify(stored));
      await until(async () => (await ground.take(ann, 1)).length > 0, 'the copy');
      await ground.confirm(ann, stored.lastSeq);
      await until(
        () => heard.includes(stored.lastSeq) || lost.length > 0,
        () => ({ heard, lost }),
      );
      await hearing.stop();
    });

    it('still holds entries, marks and the lease row, and knows the ids of what it holds and of nothing else', async () => {
      const ann = await ground.member();
      const entry = (id: string) =>
        entryOf(ground.space, ann, { channel: 'ops', seq: 1, id: `${memberKey(ann)}/${id}` });
      const stored = await ports.entries.storeAll({ entries: [entry('held'), entry('removed')] });
      if (stored.kind !== 'stored') throw new Error(JSON.stringify(stored));
      await ports.entries.remove({ seqs: [stored.lastSeq] });
      await ports.rows.writeMark({ member: ann, mark: { handedTo: 5 } });
      await restartTwice();
      expect(await ports.rows.mark({ member: ann })).toMatchObject({ kind: 'read', mark: { handedTo: 5 } });
      expect(await ports.entries.storeAll({ entries: [entry('held')] })).toEqual({ kind: 'duplicate' });
      expect(await ports.entries.storeAll({ entries: [entry('removed')] })).toMatchObject({ kind: 'stored' });
      expect(await ports.entries.counts({ member: ann })).toMatchObject({ counts: new Map([[memberKey(ann), 2]]) });
    });
  });
}
