import { beforeAll, describe, expect, it } from 'vitest';
import { type Member, memberKey, principalOf } from '../../src/domain/names.ts';
import type { MemberRow } from '../../src/domain/rows.ts';
import { memberRowKey } from '../../src/domain/subjects.ts';
import type { Rows } from '../../src/services/ports.ts';
import { entryOf, freshChannel, type Ground } from './ground.ts';

/** The rows that the reader judges by and the daemon writes. */
export function rowsContract(on: () => Ground): void {
  describe('rows', () => {
    let rows: Rows;
    let ground: Ground;
    beforeAll(async () => {
      ground = on();
      rows = (await ground.ports()).rows;
    });
    const rowOf = (member: Member, channel: string, more: Partial<MemberRow> = {}): MemberRow => ({
      channel,
      owner: principalOf(member),
      lifecycleUid: member.uid,
      state: 'pending',
      joinCursor: 4,
      generation: 1,
      writerIdentity: 'test',
      updatedAt: 1,
      ...more,
    });

    it('of an ACL are a grant, a tombstone, or unknown: absent, deleted, unreadable', async () => {
      const ann = await ground.member({ allow: ['ops', 'dev.>'] });
      const key = memberKey(ann);
      expect(await rows.acl({ member: ann })).toMatchObject({
        kind: 'read',
        acl: { kind: 'grant', allow: ['ops', 'dev.>'] },
      });
      const revision = await ground.putRow({ bucket: 'acl', key, row: { retired: true, retiredAt: 1, revision: 9 } });
      expect(await rows.acl({ member: ann })).toEqual({ kind: 'read', acl: { kind: 'retired' }, revision });
      await ground.putRow({ bucket: 'acl', key, row: { nonsense: true } });
      expect(await rows.acl({ member: ann })).toMatchObject({ acl: { kind: 'unknown', why: 'unreadable' } });
      await ground.putRow({ bucket: 'acl', key, row: undefined });
      expect(await rows.acl({ member: ann })).toMatchObject({ acl: { kind: 'unknown', why: 'deleted' } });
      const nobody = { owner: 'local', actor: 'nobody', uid: 'n'.repeat(26) };
      expect(await rows.acl({ member: nobody })).toEqual({
        kind: 'read',
        acl: { kind: 'unknown', why: 'absent' },
        revision: 0,
      });
    });

    it('asked for in one turn answer each for itself, also the same one twice', async () => {
      const [ann, bob] = [await ground.member({ allow: ['a'] }), await ground.member({ allow: ['b'] })];
      const channel = freshChannel();
      const [first, second, again, row] = await Promise.all([
        rows.acl({ member: ann }),
        rows.acl({ member: bob }),
        rows.acl({ member: ann }),
        rows.membership({ channel, member: ann }),
      ]);
      expect([first, second, again]).toMatchObject([
        { acl: { allow: ['a'] } },
        { acl: { allow: ['b'] } },
        { acl: { allow: ['a'] } },
      ]);
      expect(row).toEqual({ kind: 'absent', revision: 0 });
    });

    it('of a principal are its lifecycles with a live grant, and no others', async () => {
      const ann = await ground.member();
      const principal = principalOf(ann);
      expect(await rows.lifecycles({ principal })).toMatchObject({ kind: 'read', members: [{ member: ann }] });
      const second = { ...ann, uid: 's'.repeat(26) };
      const grant = { name: 'x', allowSubscribe: [], issuedAllowSubscribe: [], revision: 1, updatedAt: 1 };
      await ground.putRow({ bucket: 'acl', key: memberKey(second), row: grant });
      const both = await rows.lifecycles({ principal });
      expect(both.kind === 'read' ? both.members.map(({ member }) => member.uid).sort() : both).toEqual(
        [ann.uid, second.uid].sort(),
      );
      await ground.putRow({ bucket: 'acl', key: memberKey(ann), row: { retired: true, retiredAt: 1, revision: 2 } });
      await ground.putRow({ bucket: 'acl', key: memberKey(second), row: undefined });
      expect(await rows.lifecycles({ principal })).toEqual({ kind: 'read', members: [] });
      expect(await rows.lifecycles({ principal: 'local.unheard_of' })).toEqual({ kind: 'read', members: [] });
    });

    it('of a membership are written by compare-and-set: a create meets a row, an update meets another revision', async () => {
      const ann = await ground.member();
      const channel = freshChannel();
      const put = (row: MemberRow, revision: number) => rows.writeMembership({ channel, member: ann, row, revision });
      expect(await put(rowOf(ann, channel), 7)).toEqual({ kind: 'conflict' });
      const created = await put(rowOf(ann, channel), 0);
      if (created.kind !== 'stored') throw new Error(JSON.stringify(created));
      expect(await put(rowOf(ann, channel), 0)).toEqual({ kind: 'conflict' });
      const active = rowOf(ann, channel, { state: 'active' });
      const updated = await put(active, created.revision);
      expect(updated).toMatchObject({ kind: 'stored' });
      expect(await put(active, created.revision)).toEqual({ kind: 'conflict' });
      const revision = updated.kind === 'stored' ? updated.revision : 0;
      expect(await rows.membership({ channel, member: ann })).toEqual({ kind: 'row', row: active, revision });
    });

    it('of a membership are absent at a marker’s revision, which a create has to expect', async () => {
      const ann = await ground.member();
      const channel = freshChannel();
      const key = memberRowKey(channel, ann);
      await rows.writeMembership({ channel, member: ann, row: rowOf(ann, channel), revision: 0 });
      const revision = await ground.putRow({ bucket: 'members', key, row: undefined });
      expect(await rows.membership({ channel, member: ann })).toEqual({ kind: 'absent', revision });
      expect(await rows.writeMembership({ channel, member: ann, row: rowOf(ann, channel), revision: 0 })).toEqual({
        kind: 'conflict',
      });
      expect(await rows.writeMembership({ channel, member: ann, row: rowOf(ann, channel), revision })).toMatchObject({
        kind: 'stored',
      });
    });

    it('of a membership that cannot be read are told as that, with their revision', async () => {
      const ann = await ground.member();
      const channel = freshChannel();
      const revision = await ground.putRow({
        bucket: 'members',
        key: memberRowKey(channel, ann),
        row: { generation: 0 },
      });
      expect(await rows.membership({ channel, member: ann })).toEqual({ kind: 'unreadable', revision });
    });

    it('of a lane are its mark: zero where there is none, or none that can be read', async () => {
      const ann = await ground.member();
      const at = { member: ann };
      expect(await rows.mark(at)).toEqual({ kind: 'read', mark: { handedTo: 0 }, storedAt: 0 });
      const mark = { handedTo: 12, givenUp: { upTo: 12, at: 5, attempts: 11, count: 3 } };
      expect(await rows.writeMark({ ...at, mark })).toEqual({ kind: 'stored' });
      expect(await rows.mark(at)).toEqual({ kind: 'read', mark, storedAt: expect.any(Number) });
      expect(await rows.removeMark(at)).toEqual({ kind: 'removed' });
      expect(await rows.removeMark(at)).toEqual({ kind: 'removed' });
      expect(await rows.mark(at)).toEqual({ kind: 'read', mark: { handedTo: 0 }, storedAt: 0 });
      await ground.putRow({ bucket: 'lanes', key: memberKey(ann), row: { handedTo: -1 } });
      expect(await rows.mark(at)).toMatchObject({ kind: 'read', mark: { handedTo: 0 } });
    });

    it('of a lane are no older than the entries that were stored before', async () => {
      const ann = await ground.member();
      const { entries } = await ground.ports();
      await entries.storeAll({ entries: [entryOf(ground.space, ann, { channel: 'ops', seq: 1 })] });
      await rows.writeMark({ member: ann, mark: { handedTo: 1 } });
      const [page, mark] = [await entries.page({ member: ann, after: 0, limit: 1 }), await rows.mark({ member: ann })];
      if (page.kind !== 'read' || mark.kind !== 'read') throw new Error(`${page.kind} ${mark.kind}`);
      expect(mark.storedAt).toBeGreaterThan(0);
      expect(page.entries.map(({ storedAt }) => storedAt <= mark.storedAt)).toEqual([true]);
    });

    it('of many lanes are written at a time, each its own', async () => {
      const members = await Promise.all(Array.from({ length: 5 }, () => ground.member()));
      await Promise.all(members.map((member, n) => rows.writeMark({ member, mark: { handedTo: n + 1 } })));
      const marks = await Promise.all(members.map((member) => rows.mark({ member })));
      expect(marks.map((read) => (read.kind === 'read' ? read.mark.handedTo : 0))).toEqual([1, 2, 3, 4, 5]);
    });

    it('of the writer are its floor, and what retention took before it was copied', async () => {
      expect(await rows.writeFloor({ floor: 17 })).toEqual({ kind: 'stored' });
      expect(await rows.floor()).toEqual({ kind: 'read', row: { floor: 17 } });
      const discarded = { since: 1, last: 2, count: 3, firstSeq: 4, lastSeq: 6 };
      expect(await rows.writeFloor({ floor: 18, discarded })).toEqual({ kind: 'stored' });
      expect(await rows.floor()).toEqual({ kind: 'read', row: { floor: 18, discarded } });
      await ground.putRow({ bucket: 'lanes', key: '=fanout', row: { floor: 'x' } });
      expect(await rows.floor()).toEqual({ kind: 'read', row: undefined });
    });
  });
}
