/** The contract of the storage port, for every realization of it. */
import { describe, expect, it } from 'vitest';
import { type Storage, sql } from '../../src/provider/storage/port.ts';

const now = 1_700_000_000;
const workspace = (id: string, key = id) =>
  sql('INSERT INTO workspaces (id, name, key_hash, created_at) VALUES (?, ?, ?, ?)', id, id, key, now);
const ids = sql('SELECT id FROM workspaces ORDER BY id');

/** `open` gives an empty, migrated database. */
export function storageContract(name: string, open: () => Promise<Storage>): void {
  describe(`storage over ${name}`, () => {
    it('answers with the rows of each statement of a batch, in order', async () => {
      const storage = await open();
      const [, rows] = await storage.batch([workspace('a'), ids]);
      expect(rows).toEqual([{ id: 'a' }]);
      expect(await storage.query(ids)).toEqual([{ id: 'a' }]);
    });

    it('stores nothing of a batch whose last statement fails, and tells a conflict from a failure', async () => {
      const storage = await open();
      await expect(storage.batch([workspace('a'), workspace('b'), workspace('a')])).rejects.toMatchObject({
        code: 'storage.conflict',
      });
      await expect(storage.batch([workspace('a'), sql('INSERT INTO nowhere VALUES (1)')])).rejects.toMatchObject({
        code: 'storage.failed',
      });
      expect(await storage.query(ids)).toEqual([]);
    });

    it('takes 100 parameters and refuses 101 before anything is stored', async () => {
      const storage = await open();
      const many = (count: number) =>
        sql(`SELECT ${Array.from({ length: count }, () => '?').join(' + ')} AS n`, ...Array<number>(count).fill(1));
      expect(await storage.query(many(100))).toEqual([{ n: 100 }]);
      await expect(storage.batch([workspace('a'), many(101)])).rejects.toMatchObject({ code: 'storage.parameters' });
      expect(await storage.query(ids)).toEqual([]);
    });

    it('takes a long list as one parameter', async () => {
      const storage = await open();
      const list = JSON.stringify(Array.from({ length: 5_000 }, (_, index) => `agent_${index}`));
      expect(await storage.query(sql('SELECT count(*) AS n FROM json_each(?)', list))).toEqual([{ n: 5_000 }]);
    });

    it('gives back what was changed by RETURNING, and whole numbers up to 2^53', async () => {
      const storage = await open();
      await storage.batch([workspace('a'), workspace('b')]);
      const [rows] = await storage.batch([
        sql('UPDATE workspaces SET created_at = ? WHERE id = ? RETURNING id, created_at', Number.MAX_SAFE_INTEGER, 'b'),
      ]);
      expect(rows).toEqual([{ id: 'b', created_at: Number.MAX_SAFE_INTEGER }]);
    });

    it('keeps texts as they are: NULL, quotes, umlauts and emoji', async () => {
      const storage = await open();
      for (const text of ["it's", 'ä€😀', '']) {
        expect(await storage.query(sql('SELECT ? AS text, ? AS nought', text, null))).toEqual([{ text, nought: null }]);
      }
    });

    it('holds foreign keys', async () => {
      const storage = await open();
      const orphan = sql(
        'INSERT INTO channels (id, workspace_id, name, created_at) VALUES (?, ?, ?, ?)',
        'ch',
        'nobody',
        'x',
        now,
      );
      await expect(storage.batch([orphan])).rejects.toMatchObject({ code: 'storage.failed' });
    });

    it('runs batches of two callers one after the other, never mixed', async () => {
      const storage = await open();
      await storage.batch([workspace('a')]);
      const raise = sql('UPDATE workspaces SET created_at = created_at + 1 WHERE id = ?', 'a');
      await Promise.all(Array.from({ length: 20 }, () => storage.batch([raise, raise])));
      expect(await storage.query(sql('SELECT created_at FROM workspaces'))).toEqual([{ created_at: now + 40 }]);
    });
  });
}
