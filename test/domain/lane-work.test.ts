import { expect, it } from 'vitest';
import { memberKey } from '../../src/domain/names.ts';
import { bench, memberNamed } from '../support/period.ts';

const ann = memberNamed('ann');
const key = memberKey(ann);

it('two stores for one member at a time lose nothing, whichever is answered first and whenever the daemon dies', async () => {
  const { period, grant, entry, faults, broker } = bench();
  grant(ann);
  const serving = await period();
  await serving.lanes.recover(key);
  expect(await serving.lanes.authorize(key, 1)).toEqual({ type: 'batch.empty', met: 1 });
  const release = faults.hold('entries.storeAll', 1);
  const first = serving.copier.store([entry(ann, { channel: 'ops', seq: 1, id: 'one' })]);
  await serving.copier.store([entry(ann, { channel: 'ops', seq: 2, id: 'two' })]);
  expect(broker.inbox.size).toBe(2);
  await serving.lanes.authorize(key, 1);
  await serving.lanes.handOff(key);
  await serving.lanes.markHandedOff(key);
  // The daemon dies here. What was handed off or not is known from the store alone.
  const next = await period();
  expect(await next.lanes.recover(key)).toMatchObject({ type: 'place.recovered', settled: 0, outstanding: 2 });
  release();
  await first;
});

it('a store whose answer was lost is found by the lane, though later entries were handed to it directly', async () => {
  const { period, grant, entry, faults } = bench();
  grant(ann);
  const serving = await period();
  await serving.lanes.recover(key);
  await serving.lanes.authorize(key, 1);
  faults.loseAnswer('entries.storeAll', 1);
  expect(await serving.copier.store([entry(ann, { channel: 'ops', seq: 1, id: 'one' })])).toMatchObject({
    kind: 'silent',
  });
  await serving.copier.store([entry(ann, { channel: 'ops', seq: 2, id: 'two' })]);
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ type: 'batch.authorized', release: 2 });
});
