import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { LeaseRow } from '../../src/domain/rows.ts';
import { LEASE_KEY } from '../../src/domain/subjects.ts';
import type { LeaseRows } from '../../src/services/ports.ts';
import { until } from '../support/until.ts';
import type { Ground } from './ground.ts';

/** The lease row. */
export function leaseRowsContract(on: () => Ground): void {
  describe('the lease row', () => {
    let ground: Ground;
    let rows: LeaseRows;
    beforeAll(async () => {
      ground = on();
      rows = (await ground.ports()).leaseRows;
    });
    const rowOf = (incarnation: string, ready = false): LeaseRow => ({
      holder: 'local.delivery',
      incarnation,
      since: 1,
      acquiredAt: 1,
      ready,
      proofKey: '',
      proofAttestation: '',
    });
    const claim = async (incarnation = 'one') => {
      const written = await rows.write({ row: rowOf(incarnation), revision: 0 });
      if (written.kind !== 'stored') throw new Error(JSON.stringify(written));
      return written.revision;
    };
    /** Nobody holds it, and there is the marker of whoever did. */
    beforeEach(async () => {
      const read = await rows.read();
      if (read.kind === 'row' || read.kind === 'unreadable') await rows.remove({ revision: read.revision });
    });

    it('is created once: whoever comes second meets it, and reads who holds it', async () => {
      const revision = await claim();
      expect(await rows.write({ row: rowOf('two'), revision: 0 })).toEqual({ kind: 'conflict' });
      const read = await rows.read();
      expect(read).toMatchObject({ kind: 'row', row: { incarnation: 'one' }, revision });
      expect(read.kind === 'row' && read.ageMs >= 0 && read.ageMs < 10_000).toBe(true);
    });

    it('over the marker of one that was released gives exactly one winner', async () => {
      await rows.remove({ revision: await claim() });
      expect(await rows.read()).toEqual({ kind: 'absent' });
      const all = await Promise.all(['a', 'b', 'c', 'd'].map((each) => rows.write({ row: rowOf(each), revision: 0 })));
      expect(all.map(({ kind }) => kind).sort()).toEqual(['conflict', 'conflict', 'conflict', 'stored']);
    });

    it('is renewed at its revision only', async () => {
      const first = await claim();
      const second = await rows.write({ row: rowOf('one', true), revision: first });
      expect(second).toMatchObject({ kind: 'stored' });
      expect(await rows.write({ row: rowOf('one', true), revision: first })).toEqual({ kind: 'conflict' });
      expect(await rows.read()).toMatchObject({ kind: 'row', row: { ready: true } });
    });

    it('is removed at its revision only', async () => {
      const revision = await claim();
      expect(await rows.remove({ revision: revision - 1 })).toEqual({ kind: 'conflict' });
      expect(await rows.remove({ revision })).toEqual({ kind: 'removed' });
      expect(await rows.remove({ revision })).toEqual({ kind: 'conflict' });
      expect(await rows.read()).toEqual({ kind: 'absent' });
    });

    it('that cannot be read is somebody’s', async () => {
      const revision = await ground.putRow({ bucket: 'delivery', key: LEASE_KEY, row: { holder: 5 } });
      expect(await rows.read()).toMatchObject({ kind: 'unreadable', revision });
      expect(await rows.write({ row: rowOf('two'), revision: 0 })).toEqual({ kind: 'conflict' });
    });

    it('ends by its age; a renewal at the old revision then meets its end, and a create takes its place', async () => {
      const revision = await claim();
      await ground.elapse(ground.leaseTtlMs);
      await until(
        async () => (await rows.read()).kind === 'absent',
        () => rows.read(),
      );
      expect(await rows.write({ row: rowOf('one'), revision })).toEqual({ kind: 'conflict' });
      expect(await rows.write({ row: rowOf('two'), revision: 0 })).toMatchObject({ kind: 'stored' });
    });

    it('is watched: every write, every removal, its end by age', async () => {
      const heard: string[] = [];
      const watch = rows.watch({
        bound: () => heard.push('bound'),
        row: ({ row, revision }) => heard.push(`row ${row?.incarnation ?? 'unreadable'} ${revision}`),
        gone: ({ revision }) => heard.push(`gone ${revision}`),
        lost: (why) => heard.push(`lost ${why}`),
      });
      await until(() => heard.includes('bound'), 'the watch');
      const first = await claim('watched');
      const broken = await ground.putRow({ bucket: 'delivery', key: LEASE_KEY, row: { holder: 5 } });
      await until(
        () => heard.includes(`row unreadable ${broken}`),
        () => heard,
      );
      expect(heard).toEqual(['bound', `row watched ${first}`, `row unreadable ${broken}`]);
      await rows.remove({ revision: broken });
      await until(
        () => heard.some((line) => line.startsWith('gone')),
        () => heard,
      );
      const last = await claim('aged');
      await ground.elapse(ground.leaseTtlMs);
      await until(
        () => heard.at(-1) !== `row aged ${last}` && heard.at(-1)?.startsWith('gone'),
        () => heard,
      );
      await watch.stop();
    });
  });
}
