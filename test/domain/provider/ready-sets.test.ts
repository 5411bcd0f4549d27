import { DatabaseSync } from 'node:sqlite';
import { expect, it } from 'vitest';
import { notReady } from '../../../src/domain/provider/delivery.ts';
import { ReadySets } from '../../../src/provider/registry/ready-sets.ts';
import { NodeRecords } from '../../../src/provider/registry/records.ts';
import { sqliteObjectStore } from '../../../src/provider/server/object-store.ts';

const certificate = { agent: 'a', cursor: 3, skipped: 0 };
const setsOver = (database: DatabaseSync) =>
  new ReadySets(new NodeRecords(sqliteObjectStore(database), 'workspace', 'node'));

it('nothing is kept of a connection that is gone, however often it is asked about afterwards', () => {
  const ready = setsOver(new DatabaseSync(':memory:'));
  for (let nth = 0; nth < 100; nth++) {
    const connection = `c${nth}`;
    expect(ready.agents(connection)).toEqual([]);
    ready.certify(connection, [certificate]);
    expect(ready.agents(connection)).toEqual(['a']);
    ready.clear(connection);
    // A pump that was in the queue, a frame that was under way, a registration that failed.
    expect(ready.wanting(connection)).toEqual([]);
    expect(ready.of(connection, 'a')).toBe(notReady);
    expect(ready.agents(connection)).toEqual([]);
    ready.mark(connection, ['a']);
    ready.forget(connection, 'a');
    ready.keep(connection, []);
    ready.clear(connection);
  }
  expect(ready.size).toBe(0);
});

it('a connection whose last identity was released is kept no more, and has what is declared afterwards', () => {
  const ready = setsOver(new DatabaseSync(':memory:'));
  ready.certify('c', [certificate]);
  expect(ready.size).toBe(1);
  ready.forget('c', 'a');
  expect(ready.size).toBe(0);
  ready.certify('c', [{ ...certificate, agent: 'b' }]);
  expect(ready.agents('c')).toEqual(['b']);
  expect(ready.wanting('c').map(([agent]) => agent)).toEqual(['b']);
});

it('what a node had declared is read again after it lost its memory', () => {
  const database = new DatabaseSync(':memory:');
  setsOver(database).certify('c', [certificate]);
  const ready = setsOver(database);
  expect(ready.of('c', 'a')).toMatchObject({ base: 3, dirty: true });
  expect(ready.wanting('c').map(([agent]) => agent)).toEqual(['a']);
});
