import { beforeAll, describe, expect, it } from 'vitest';
import { MEMBER_HEADER, WRITER_HEADER } from '../../src/domain/entry.ts';
import { type Member, memberKey } from '../../src/domain/names.ts';
import { entriesOf } from '../../src/domain/subjects.ts';
import type { Entries } from '../../src/services/ports.ts';
import { entryOf, freshChannel, type Ground, json, text } from './ground.ts';

/** The pending entries. */
export function entriesContract(on: () => Ground): void {
  describe('entries', () => {
    let entries: Entries;
    let ground: Ground;
    beforeAll(async () => {
      ground = on();
      entries = (await ground.ports()).entries;
    });
    const of = (member: Member, seq: number, more: Partial<Parameters<typeof entryOf>[2]> = {}) =>
      entryOf(ground.space, member, { channel: 'ops', seq, ...more });
    const store = async (...all: ReturnType<typeof of>[]) => {
      const outcome = await entries.storeAll({ entries: all });
      if (outcome.kind !== 'stored') throw new Error(JSON.stringify(outcome));
      return outcome.lastSeq;
    };
    const seqsOf = async (member: Member, after = 0, limit = 100) => {
      const page = await entries.page({ member, after, limit });
      if (page.kind !== 'read') throw new Error(JSON.stringify(page));
      return page.entries.map(({ seq }) => seq);
    };

    it('are stored together, in their order, right below the sequence that is told', async () => {
      const [ann, bob] = [await ground.member(), await ground.member()];
      const last = await store(of(ann, 1), of(bob, 1), of(ann, 2));
      expect(await seqsOf(ann)).toEqual([last - 2, last]);
      expect(await seqsOf(bob)).toEqual([last - 1]);
    });

    it('are stored whole or not at all: one id that is known stores nothing of a batch', async () => {
      const ann = await ground.member();
      await store(of(ann, 1, { id: `${memberKey(ann)}/1` }));
      const again = [of(ann, 2), of(ann, 1, { id: `${memberKey(ann)}/1` })];
      expect(await entries.storeAll({ entries: again })).toEqual({ kind: 'duplicate' });
      expect(await seqsOf(ann)).toHaveLength(1);
      expect(await entries.storeEach({ entries: again })).toEqual({ kind: 'stored', known: [1], refused: [] });
      expect(await seqsOf(ann)).toHaveLength(2);
      expect(await entries.storeEach({ entries: again })).toEqual({ kind: 'stored', known: [0, 1], refused: [] });
      expect(await seqsOf(ann)).toHaveLength(2);
    });

    it('with one id twice in a batch are duplicates, too', async () => {
      const ann = await ground.member();
      const twice = () => of(ann, 1, { id: `${memberKey(ann)}/twice` });
      expect(await entries.storeAll({ entries: [twice(), twice()] })).toEqual({ kind: 'duplicate' });
      expect(await seqsOf(ann)).toEqual([]);
    });

    it('without an id suppress nothing (FAN-01)', async () => {
      const ann = await ground.member();
      await store(of(ann, 1, { id: null }), of(ann, 2, { id: null }));
      await store(of(ann, 1, { id: null }));
      expect(await seqsOf(ann)).toHaveLength(3);
    });

    it('whose id is known are still known after their removal', async () => {
      const ann = await ground.member();
      const seq = await store(of(ann, 1, { id: `${memberKey(ann)}/gone` }));
      await entries.remove({ seqs: [seq] });
      expect(await entries.storeAll({ entries: [of(ann, 1, { id: `${memberKey(ann)}/gone` })] })).toEqual({
        kind: 'duplicate',
      });
    });

    it('that are too large are refused by number: a batch whole, singly the one', async () => {
      const ann = await ground.member();
      const large = of(ann, 2, { body: 'x'.repeat((await ground.ports()).maxPayload()) });
      expect(await entries.storeAll({ entries: [of(ann, 1), large] })).toMatchObject({
        kind: 'refused',
        code: '10054',
      });
      expect(await seqsOf(ann)).toEqual([]);
      expect(await entries.storeEach({ entries: [of(ann, 1), large, of(ann, 3)] })).toEqual({
        kind: 'stored',
        known: [],
        refused: [{ index: 1, code: '10054' }],
      });
      expect(await seqsOf(ann)).toHaveLength(2);
      expect(await entries.storeEach({ entries: [large] })).toEqual({
        kind: 'stored',
        known: [],
        refused: [{ index: 0, code: '10054' }],
      });
    });

    it('are read page by page of everybody, each with its member, as far as is told', async () => {
      const [ann, bob] = [await ground.member(), await ground.member()];
      const last = await store(of(ann, 1), of(bob, 2), of(ann, 3), of(bob, 4));
      const page = await entries.pageOfAll({ after: last - 4, limit: 3 });
      expect(page).toMatchObject({ kind: 'read', more: true, upTo: last - 1 });
      if (page.kind !== 'read') return;
      expect(page.held.map(({ key, held }) => [key, held.seq, held.entry?.seq])).toEqual([
        [memberKey(ann), last - 3, 1],
        [memberKey(bob), last - 2, 2],
        [memberKey(ann), last - 1, 3],
      ]);
      expect(await entries.pageOfAll({ after: last - 1, limit: 3 })).toMatchObject({ upTo: last, more: false });
      expect(await entries.pageOfAll({ after: last, limit: 3 })).toEqual({
        ...{ kind: 'read', held: [], upTo: last, more: false },
      });
    });

    it('are read page by page, ascending, above a sequence, with the post as it came', async () => {
      const ann = await ground.member();
      const all = Array.from({ length: 7 }, (_, n) => of(ann, n + 1));
      const last = await store(...all);
      const first = last - 6;
      const page = await entries.page({ member: ann, after: first, limit: 3 });
      expect(page).toMatchObject({ kind: 'read', more: true });
      if (page.kind !== 'read') return;
      expect(page.entries.map(({ seq }) => seq)).toEqual([first + 1, first + 2, first + 3]);
      expect(page.entries[0]?.entry).toEqual({ channel: 'ops', seq: 2, reason: 'durable-channel', generation: 1 });
      expect(Buffer.from(page.entries[0]?.post ?? []).toString()).toBe(Buffer.from(all[1]?.post ?? []).toString());
      expect(page.entries[0]?.storedAt).toBeGreaterThan(1_700_000_000_000);
      expect(await entries.page({ member: ann, after: first + 3, limit: 3 })).toMatchObject({ more: false });
      expect(await entries.page({ member: ann, after: last, limit: 3 })).toEqual({
        kind: 'read',
        entries: [],
        more: false,
      });
    });

    it.each<[how: string, between: number]>([
      ['close together', 1],
      ['far apart', 250],
    ])('are read where they lie, %s, without those that were removed', async (_how, between) => {
      const [ann, bob] = [await ground.member(), await ground.member()];
      const others = () => Array.from({ length: between }, (_, n) => of(bob, n + 1));
      const first = await store(of(ann, 1));
      await store(...others());
      const second = await store(of(ann, 2));
      await store(...others());
      const third = await store(of(ann, 3));
      const last = await store(...others(), of(ann, 4));
      await entries.remove({ seqs: [second] });
      const seqs = [first, second, third];
      const read = await entries.at({ member: ann, seqs });
      expect(read).toMatchObject({ kind: 'read', readTo: third });
      if (read.kind !== 'read') return;
      expect(read.entries.map(({ seq, entry }) => [seq, entry?.seq])).toEqual([
        [first, 1],
        [third, 3],
      ]);
      expect(await entries.at({ member: ann, seqs: [second] })).toEqual({ kind: 'read', entries: [], readTo: second });
      expect(await entries.at({ member: ann, seqs: [last + 5] })).toMatchObject({ entries: [], readTo: last + 5 });
    });

    it('of another member that lie far apart where they are looked for are told', async () => {
      const [ann, bob] = [await ground.member(), await ground.member()];
      const first = await store(of(ann, 1));
      const last = await store(...Array.from({ length: 250 }, (_, n) => of(bob, n + 1)));
      expect(await entries.at({ member: ann, seqs: [first, last] })).toEqual({ kind: 'given-anew' });
    });

    it('that are none of ours are read as foreign, each by its kind, and hold up no page', async () => {
      const [ann, bob] = [await ground.member(), await ground.member()];
      const { space } = ground;
      const subject = entriesOf(space, ann).replace('>', 'ops');
      const ours = { [WRITER_HEADER]: 'i1', [MEMBER_HEADER]: memberKey(ann) };
      const good = of(ann, 5);
      await ground.steer({ subject, data: good.data });
      await ground.steer({
        subject,
        data: good.data,
        headers: { [WRITER_HEADER]: 'i1', [MEMBER_HEADER]: memberKey(bob) },
      });
      await ground.steer({ subject, data: text('{"error":{"code":404}}'), headers: ours });
      await ground.steer({ subject, data: text(''), headers: ours });
      await ground.steer({ subject, data: text(''), headers: {} });
      await ground.steer({ subject: `${subject}.x`, data: good.data, headers: ours });
      await ground.steer({ subject: `${subject}$`, data: good.data, headers: ours });
      const last = await store(good);
      const page = await entries.page({ member: ann, after: 0, limit: 100 });
      if (page.kind !== 'read') throw new Error(JSON.stringify(page));
      expect(page.entries.map(({ entry, why }) => why ?? entry?.seq)).toEqual([
        'no-writer',
        'foreign-member',
        'not-an-entry',
        'not-an-entry',
        'no-writer',
        'foreign-channel',
        'foreign-subject',
        5,
      ]);
      expect(page.entries.at(-1)?.seq).toBe(last);
      expect(await entries.remove({ seqs: page.entries.map(({ seq }) => seq) })).toEqual({ kind: 'removed' });
      expect(await seqsOf(ann)).toEqual([]);
    });

    it('are removed by sequence; what is not there any more, or never was, counts as removed', async () => {
      const ann = await ground.member();
      const last = await store(of(ann, 1), of(ann, 2), of(ann, 3));
      expect(await entries.remove({ seqs: [last - 1] })).toEqual({ kind: 'removed' });
      expect(await entries.remove({ seqs: [last - 1, last - 2, 999_999_999] })).toEqual({ kind: 'removed' });
      expect(await entries.remove({ seqs: [] })).toEqual({ kind: 'removed' });
      expect(await seqsOf(ann)).toEqual([last]);
      expect(await entries.remove({ seqs: [last] })).toEqual({ kind: 'removed' });
      expect(await entries.remove({ seqs: [last] })).toEqual({ kind: 'removed' });
    });

    it('are removed many at a time', async () => {
      const ann = await ground.member();
      const last = await store(...Array.from({ length: 400 }, (_, n) => of(ann, n + 1)));
      const seqs = Array.from({ length: 400 }, (_, n) => last - n);
      expect(await entries.remove({ seqs })).toEqual({ kind: 'removed' });
      expect(await entries.counts({ member: ann })).toMatchObject({ counts: new Map() });
    });

    it('are purged by member and by channel, up to a sequence, with their number', async () => {
      const [ann, bob] = [await ground.member(), await ground.member()];
      const last = await store(of(ann, 1), of(ann, 2, { channel: 'dev' }), of(bob, 1), of(ann, 3), of(ann, 4));
      expect(await entries.purge({ member: ann, channel: 'ops', upTo: last - 1 })).toEqual({
        kind: 'removed',
        count: 2,
      });
      expect(await seqsOf(ann)).toEqual([last - 3, last]);
      expect(await entries.purge({ member: ann, upTo: last })).toEqual({ kind: 'removed', count: 2 });
      expect(await entries.purge({ member: ann, upTo: last })).toEqual({ kind: 'removed', count: 0 });
      expect(await seqsOf(bob)).toHaveLength(1);
    });

    it('are not purged by a purge up to 0', async () => {
      const ann = await ground.member();
      await store(of(ann, 1), of(ann, 2));
      expect(await entries.purge({ member: ann, upTo: 0 })).toEqual({ kind: 'removed', count: 0 });
      expect(await seqsOf(ann)).toHaveLength(2);
    });

    it('of a channel are purged without those of the channels below it', async () => {
      const ann = await ground.member();
      const last = await store(of(ann, 1), of(ann, 2, { channel: 'ops.night' }));
      expect(await entries.purge({ member: ann, channel: 'ops', upTo: last })).toEqual({ kind: 'removed', count: 1 });
      expect(await seqsOf(ann)).toEqual([last]);
    });

    it('are counted by member, over all channels, with the foreign subjects apart', async () => {
      const [ann, bob] = [await ground.member(), await ground.member()];
      const last = await store(of(ann, 1), of(ann, 2, { channel: freshChannel() }), of(bob, 1));
      const mine = await entries.counts({ member: ann });
      expect(mine).toEqual({ kind: 'read', counts: new Map([[memberKey(ann), 2]]), foreign: [], lastSeq: last });
      const subject = `cotal.${ground.space}.dinbox.nobody`;
      const foreignSeq = await ground.steer({ subject, data: json({}) });
      const all = await entries.counts({});
      if (all.kind !== 'read') throw new Error(JSON.stringify(all));
      expect([all.counts.get(memberKey(ann)), all.counts.get(memberKey(bob)), all.lastSeq]).toEqual([2, 1, foreignSeq]);
      expect(all.foreign).toEqual([subject]);
      expect(await entries.removeForeign({ subjects: all.foreign, upTo: all.lastSeq })).toEqual({ kind: 'removed' });
      expect(await entries.counts({})).toMatchObject({ foreign: [] });
    });

    it('of a member without any are none', async () => {
      const ann = await ground.member();
      expect(await entries.counts({ member: ann })).toMatchObject({ kind: 'read', counts: new Map() });
      expect(await seqsOf(ann)).toEqual([]);
    });
  });
}
