import { expect, it } from 'vitest';
import { memberKey } from '../../src/domain/names.ts';
import type { ServingPeriod } from '../../src/services/delivery/period.ts';
import { bench, memberNamed } from '../support/period.ts';
import { until } from '../support/until.ts';

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

/** Two posts to her, of which the second is stored, and not acknowledged yet. */
async function unacknowledged() {
  const world = bench();
  world.grant(ann);
  const serving = await world.period();
  const store = (seq: number) => serving.copier.store([world.entry(ann, { channel: 'ops', seq, id: `p${seq}` })]);
  await store(1);
  await serving.lanes.recover(key);
  const acknowledge = world.faults.hold('entries.storeAll', 1);
  const storing = store(2);
  await until(
    () => world.broker.inbox.size === 2,
    () => 'not stored',
  );
  const told = async () => {
    acknowledge();
    await storing;
  };
  /** Both are handed off, confirmed and removed. */
  const deliver = async () => {
    await serving.lanes.handOff(key);
    await serving.lanes.markHandedOff(key);
    for (const { seq } of world.broker.dlv.page({ filter: '>', after: 0, limit: 9 }).kept) {
      world.broker.dlv.remove(seq);
      serving.lanes.settled({ key, copySeq: seq, how: 'confirmed' });
    }
    await serving.withdrawals.removeSettled(key, 2);
    expect(world.broker.inbox.size).toBe(0);
  };
  return { ...world, serving, told, deliver };
}

it('an entry that is acknowledged while it is judged already is not handed off again', async () => {
  const { serving, faults, told, deliver } = await unacknowledged();
  const judged = faults.hold('rows.acl', 1);
  const authorized = serving.lanes.authorize(key, 1);
  await until(
    () => serving.desks.of(key).upcoming.isAll,
    () => 'the page is not read',
  );
  await told();
  judged();
  expect(await authorized).toMatchObject({ release: 2 });
  await deliver();
  expect(await serving.lanes.authorize(key, 1)).toEqual({ type: 'batch.empty', met: 1 });
});

it('an entry that is acknowledged when its lane rests already is not handed off again', async () => {
  const { serving, told, deliver } = await unacknowledged();
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ release: 2 });
  await deliver();
  serving.desks.rest(key);
  await told();
  await serving.lanes.recover(key);
  expect(await serving.lanes.authorize(key, 1)).toEqual({ type: 'batch.empty', met: 1 });
});

it('a batch of the period before that arrives late is found by the lane, though what came after it was handed over directly', async () => {
  const { period, grant, entry } = bench();
  grant(ann);
  const before = await period();
  const serving = await period();
  await serving.lanes.recover(key);
  await serving.copier.store([entry(ann, { channel: 'ops', seq: 1, id: 'one' })]);
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ release: 1 });
  await serving.lanes.handOff(key);
  await serving.lanes.markHandedOff(key);
  expect(await serving.lanes.authorize(key, 1)).toEqual({ type: 'batch.empty', met: 1 });
  await before.copier.store([entry(ann, { channel: 'ops', seq: 2, id: 'two' })]);
  await serving.copier.store([entry(ann, { channel: 'ops', seq: 3, id: 'three' })]);
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ type: 'batch.authorized', release: 2 });
  await serving.lanes.handOff(key);
  await serving.lanes.markHandedOff(key);
  expect(await (await period()).lanes.recover(key)).toMatchObject({ settled: 0, outstanding: 3 });
});

it('nor is one missed that arrives while the lane asks the store', async () => {
  const { period, grant, entry, faults } = bench();
  grant(ann);
  const before = await period();
  const serving = await period();
  await serving.lanes.recover(key);
  await serving.copier.store([entry(ann, { channel: 'ops', seq: 1, id: 'one' })]);
  const release = faults.hold('entries.page', 1);
  const asked = serving.lanes.authorize(key, 1);
  await before.copier.store([entry(ann, { channel: 'ops', seq: 2, id: 'two' })]);
  await serving.copier.store([entry(ann, { channel: 'ops', seq: 3, id: 'three' })]);
  release();
  expect(await asked).toMatchObject({ release: 1 });
  await serving.lanes.handOff(key);
  await serving.lanes.markHandedOff(key);
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ release: 2 });
});

/** Two entries of ann's were handed off, confirmed and removed; then INBOX lost its end, and a new period begins. */
async function rewound() {
  const world = bench();
  world.grant(ann);
  const before = await world.period();
  await before.lanes.recover(key);
  await before.copier.store(['one', 'two'].map((id, n) => world.entry(ann, { channel: 'ops', seq: n + 1, id })));
  await handOff(before);
  for (const { seq } of world.broker.deliveries.take(ann, 2)) {
    world.broker.deliveries.confirm(ann, seq);
    before.lanes.settled({ key, copySeq: seq, how: 'confirmed' });
  }
  await before.withdrawals.removeSettled(key, 2);
  expect([world.broker.inbox.size, world.broker.inbox.lastSeq]).toEqual([0, 2]);
  world.broker.inbox.rewind(0);
  world.clock.advance(1_000);
  const serving = await world.period();
  const arrive = (id: string) => serving.copier.store([world.entry(ann, { channel: 'ops', seq: 3, id })]);
  return { ...world, serving, arrive };
}

async function handOff({ lanes }: ServingPeriod) {
  const batch = await lanes.authorize(key, 1);
  await lanes.handOff(key);
  await lanes.markHandedOff(key);
  return batch;
}

it('an entry on a sequence that INBOX gave out again is handed off, though its mark is ahead of it', async () => {
  const { serving, arrive, journal, period } = await rewound();
  await arrive('three');
  await arrive('four');
  expect(await serving.lanes.recover(key)).toMatchObject({ waiting: 1, outstanding: 0, settled: 0 });
  expect(journal.told('lane.mark-ahead')).toEqual([{ member: key, seq: 1 }]);
  expect(await handOff(serving)).toMatchObject({ release: 2 });
  expect(await serving.ports.rows.mark({ member: ann })).toMatchObject({ mark: { handedTo: 2 } });
  expect(await (await period()).lanes.recover(key)).toMatchObject({ outstanding: 2, settled: 0 });
});

it('so is one that comes after the lane found its place, and those behind it are still owed after the next stop', async () => {
  const { serving, arrive, period } = await rewound();
  expect(await serving.lanes.recover(key)).toMatchObject({ waiting: 0, settled: 0 });
  await arrive('three');
  expect(await handOff(serving)).toMatchObject({ release: 1 });
  await arrive('four');
  expect(await (await period()).lanes.recover(key)).toMatchObject({ waiting: 1, outstanding: 1, settled: 0 });
});

it.each([
  ['looks for its place later when DLV is silent', 'silent', 'broker.silent'],
  ['finds its place though DLV is full', 'refuse', 'place.recovered'],
  ['finds its place though it may not write to DLV', 'deny', 'place.recovered'],
] as const)('a lane %s', async (_what, fault, answer) => {
  const { period, grant, faults } = bench();
  grant(ann);
  const { lanes } = await period();
  if (fault === 'refuse') faults.refuse('copies.barrier', '10077', 1);
  else faults[fault]('copies.barrier', 1);
  expect(await lanes.recover(key)).toMatchObject({ type: answer });
});
