import { beforeAll, describe, expect, it } from 'vitest';
import { copySchema, encodeCopy } from '../../src/domain/copy.ts';
import { readJson } from '../../src/domain/message.ts';
import { type Member, memberKey } from '../../src/domain/names.ts';
import { copiesOf } from '../../src/domain/subjects.ts';
import type { Copies, CopyToStore } from '../../src/services/ports.ts';
import { until } from '../support/until.ts';
import { type Ground, json, message, text } from './ground.ts';

/** The handed-off copies. */
export function copiesContract(on: () => Ground): void {
  describe('copies', () => {
    let copies: Copies;
    let ground: Ground;
    beforeAll(async () => {
      ground = on();
      copies = (await ground.ports()).copies;
    });
    const copyOf = (entrySeq: number, channel = 'ops', body?: string): CopyToStore => {
      const post = json(
        message(ground.space, { from: 'local.sender', channel, ...(body === undefined ? {} : { body }) }),
      );
      return { entrySeq, channel, data: encodeCopy(post, { channel, seq: entrySeq + 100, generation: 3 }) };
    };
    const store = async (member: Member, ...all: CopyToStore[]) => {
      const outcome = await copies.storeAll({ member, copies: all });
      if (outcome.kind !== 'stored') throw new Error(JSON.stringify(outcome));
      return outcome.lastSeq;
    };
    const held = async (member: Member) => {
      const read = await copies.held({ member });
      if (read.kind !== 'read') throw new Error(JSON.stringify(read));
      return read.copies;
    };

    /** The broker tells a durable of what was stored a moment after it has stored it. */
    const placeWith = (member: Member, pending: number) =>
      until(
        async () => {
          const place = await copies.place({ member });
          return place.kind === 'read' && place.pending === pending && place;
        },
        () => copies.place({ member }),
      );

    it('are stored together and held until they are confirmed, each with its entry and its post', async () => {
      const ann = await ground.member();
      const last = await store(ann, copyOf(7), copyOf(8, 'dev'));
      expect(await held(ann)).toEqual([
        { seq: last - 1, channel: 'ops', generation: 3, post: 107, entrySeq: 7 },
        { seq: last, channel: 'dev', generation: 3, post: 108, entrySeq: 8 },
      ]);
      const [first] = await ground.take(ann, 1);
      expect(first?.seq).toBe(last - 1);
      expect(copySchema.parse(readJson(first?.data ?? new Uint8Array()))).toMatchObject({ channel: 'ops', seq: 107 });
      await ground.confirm(ann, last - 1);
      expect((await held(ann)).map(({ seq }) => seq)).toEqual([last]);
    });

    it('are read page by page of everybody, each with its member, as far as is told; a barrier is none of them', async () => {
      const [ann, bob] = [await ground.member(), await ground.member()];
      const before = await store(ann, copyOf(6));
      await copies.barrier();
      await store(ann, copyOf(7));
      const last = await store(bob, copyOf(8));
      const page = await copies.pageOfAll({ after: before, limit: 1_000 });
      if (page.kind !== 'read') throw new Error(JSON.stringify(page));
      expect(page).toMatchObject({ upTo: last, more: false });
      expect(page.held.map(({ key, held }) => [key, held])).toEqual([
        [memberKey(ann), { seq: last - 1, channel: 'ops', generation: 3, post: 107, entrySeq: 7 }],
        [memberKey(bob), { seq: last, channel: 'ops', generation: 3, post: 108, entrySeq: 8 }],
      ]);
    });

    it('of several members that are stored in one turn go whole, each group right below its own sequence', async () => {
      const members = await Promise.all([ground.member(), ground.member(), ground.member()]);
      const lasts = await Promise.all(
        members.map((member, n) => store(member, ...Array.from({ length: n + 1 }, (_, i) => copyOf(i + 1)))),
      );
      for (const [n, member] of members.entries()) {
        const seqs = (await held(member)).map(({ seq }) => seq);
        expect(seqs).toEqual(Array.from({ length: n + 1 }, (_, i) => (lasts[n] ?? 0) - n + i));
      }
    });

    it('that are too large are refused alone: what is stored in the same turn is stored', async () => {
      const [ann, bob] = [await ground.member(), await ground.member()];
      const limit = (await ground.ports()).maxPayload();
      const [large, good] = await Promise.all([
        copies.storeAll({ member: ann, copies: [copyOf(1), copyOf(2, 'ops', 'x'.repeat(limit))] }),
        copies.storeAll({ member: bob, copies: [copyOf(1)] }),
      ]);
      expect(large).toMatchObject({ kind: 'refused', code: '10054' });
      expect(good).toMatchObject({ kind: 'stored' });
      expect(await held(ann)).toEqual([]);
    });

    it('are all held, however many', async () => {
      const ann = await ground.member();
      await store(ann, ...Array.from({ length: 300 }, (_, n) => copyOf(n + 1)));
      expect(await held(ann)).toHaveLength(300);
      expect(await copies.counts({ member: ann })).toMatchObject({ counts: new Map([[memberKey(ann), 300]]) });
    });

    it('are told from what their durable still delivers: delivered, pending, unconfirmed, and passed over', async () => {
      const ann = await ground.member();
      expect(await copies.place({ member: ann })).toMatchObject({ kind: 'read', pending: 0, unconfirmed: 0 });
      const last = await store(ann, copyOf(1), copyOf(2));
      expect(await placeWith(ann, 2)).toMatchObject({ unconfirmed: 0 });
      await ground.take(ann, 2);
      const place = await copies.place({ member: ann });
      expect(place).toMatchObject({ kind: 'read', pending: 0, unconfirmed: 2 });
      expect(place.kind === 'read' && place.floor < last - 1).toBe(true);
      await ground.confirm(ann, last - 1);
      await ground.passOver(ann, [last]);
      const next = await store(ann, copyOf(3));
      expect(await placeWith(ann, 1)).toEqual({ kind: 'read', floor: last, pending: 1, unconfirmed: 0 });
      expect((await held(ann)).map(({ seq }) => seq)).toEqual([last, next]);
      expect(await copies.place({ member: { ...ann, uid: 'nobody'.padEnd(26, 'u') } })).toEqual({ kind: 'absent' });
    });

    it('that are none of ours are held without an entry, so that they are withdrawn', async () => {
      const [ann, bob] = [await ground.member(), await ground.member()];
      const subject = copiesOf(ground.space, ann).replace('>', 'ops');
      const own = { 'Plane3-Member': memberKey(ann), 'Plane3-Entry': '4', 'Cotal-Delivery-Frame': '1' };
      const good = copyOf(4);
      await ground.steer({ subject, data: text('') });
      await ground.steer({ subject, data: json({ type: 'io.nats.jetstream.api.v1' }), headers: own });
      await ground.steer({ subject, data: good.data, headers: { ...own, 'Plane3-Member': memberKey(bob) } });
      await ground.steer({ subject, data: good.data, headers: { ...own, 'Plane3-Entry': '0' } });
      const all = await held(ann);
      expect(all.map(({ entrySeq, channel }) => [entrySeq, channel])).toEqual([
        [0, 'ops'],
        [0, 'ops'],
        [0, 'ops'],
        [0, 'ops'],
      ]);
      expect(await copies.remove({ seqs: all.map(({ seq }) => seq) })).toEqual({ kind: 'removed' });
      expect(await held(ann)).toEqual([]);
    });

    it('are removed by sequence, also in flight and also when they are gone; the member’s confirmation then changes nothing', async () => {
      const ann = await ground.member();
      const last = await store(ann, copyOf(1), copyOf(2), copyOf(3));
      await ground.take(ann, 2);
      expect(await copies.remove({ seqs: [last - 2, last] })).toEqual({ kind: 'removed' });
      expect(await copies.remove({ seqs: [last - 2, last, 999_999_999] })).toEqual({ kind: 'removed' });
      await ground.confirm(ann, last - 2);
      expect((await held(ann)).map(({ seq }) => seq)).toEqual([last - 1]);
      await ground.confirm(ann, last - 1);
      expect(await copies.remove({ seqs: [last - 1] })).toEqual({ kind: 'removed' });
    });

    it('are purged by channel up to a sequence, those in flight too, and not by a purge up to 0', async () => {
      const ann = await ground.member();
      const last = await store(ann, copyOf(1), copyOf(2, 'dev'), copyOf(3), copyOf(4));
      await ground.take(ann, 4);
      expect(await copies.purge({ member: ann, upTo: 0 })).toEqual({ kind: 'removed', count: 0 });
      expect(await copies.purge({ member: ann, channel: 'ops', upTo: last - 1 })).toEqual({
        kind: 'removed',
        count: 2,
      });
      expect((await held(ann)).map(({ seq }) => seq)).toEqual([last - 2, last]);
      expect(await copies.purge({ member: ann, upTo: last })).toEqual({ kind: 'removed', count: 2 });
    });

    it('on subjects that name no member are counted apart and removed', async () => {
      const subject = `cotal.${ground.space}.dlv.local.x`;
      await ground.steer({ subject, data: json({}) });
      const counts = await copies.counts({});
      if (counts.kind !== 'read') throw new Error(JSON.stringify(counts));
      expect(counts.foreign).toContain(subject);
      expect(await copies.removeForeign({ subjects: counts.foreign, upTo: counts.lastSeq })).toEqual({
        kind: 'removed',
      });
      expect(await copies.counts({})).toMatchObject({ foreign: [] });
    });

    it('tell each confirmation and each termination by sequence; what was purged at most once', async () => {
      const [ann, bob] = [await ground.member(), await ground.member()];
      const heard: string[] = [];
      let bound = false;
      const hearing = copies.hearSettled({
        bound: () => {
          bound = true;
        },
        settled: ({ member, seq, how }) => heard.push(`${memberKey(member)} ${seq} ${how}`),
        lost: (why) => heard.push(`lost: ${why}`),
      });
      await until(() => bound, 'the subscription');
      const last = await store(ann, copyOf(1), copyOf(2), copyOf(3));
      const his = await store(bob, copyOf(1));
      await ground.take(ann, 3);
      await ground.take(bob, 1);
      await ground.confirm(ann, last - 2);
      const purge = { member: ann, channel: 'ops', upTo: last - 1 };
      expect(await copies.purge(purge)).toEqual({ kind: 'removed', count: 1 });
      await ground.confirm(ann, last - 1);
      await ground.terminate(ann, last);
      await ground.confirm(bob, his);
      const wanted = [
        `${memberKey(ann)} ${last - 2} confirmed`,
        `${memberKey(ann)} ${last} terminated`,
        `${memberKey(bob)} ${his} confirmed`,
      ];
      await until(
        () => wanted.every((each) => heard.includes(each)),
        () => heard,
      );
      // What was in flight and purged the broker may call terminated, or confirmed when the answer overtook the purge:
      // whoever purges must not count on either.
      const purged = (each: string) => each.startsWith(`${memberKey(ann)} ${last - 1} `);
      expect(heard.filter((each) => !purged(each)).sort()).toEqual(wanted.sort());
      expect(heard.filter(purged).length).toBeLessThanOrEqual(1);
      await hearing.stop();
    });
  });
}
