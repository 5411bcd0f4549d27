import { expect, it } from 'vitest';
import { memberKey } from '../../src/domain/names.ts';
import { bench, memberNamed } from '../support/period.ts';

const ann = memberNamed('ann');
const key = memberKey(ann);

/** Two copies handed off and taken; the durable passed over as many of them as told. */
async function passedOver(count: number) {
  const world = bench();
  world.grant(ann);
  const serving = await world.period();
  await serving.lanes.recover(key);
  const entries = [1, 2].map((seq) => world.entry(ann, { channel: 'lobby', seq, id: `m${seq}` }));
  await serving.copier.store(entries);
  await serving.lanes.authorize(key, 1);
  await serving.lanes.handOff(key);
  await serving.lanes.markHandedOff(key);
  const taken = world.broker.deliveries.take(ann, 2);
  for (const [i, { seq }] of taken.entries()) {
    if (i < count) world.broker.deliveries.passOver(ann, seq);
    else world.broker.deliveries.confirm(ann, seq);
  }
  const copies = () => world.broker.dlv.page({ filter: '>', after: 0, limit: 9 }).kept.map(({ seq }) => seq);
  const asked = () => world.news.filter((each) => each.type === 'review.asked').length;
  const survey = async () => {
    await serving.survey.make({ all: false });
    return asked();
  };
  return { ...world, serving, copies, survey };
}

it('copies that their durable passed over are handed off again once two surveys saw them, and then surface', async () => {
  const { serving, broker, copies, survey, journal, tally } = await passedOver(2);
  expect([await survey(), await survey()]).toEqual([0, 1]);
  expect(await serving.withdrawals.review(key, 1)).toMatchObject({ copies: 0, settled: 0 });
  expect(copies()).toEqual([3, 4]);
  expect(journal.told('copies.passed-over')).toEqual([{ member: key, count: 2, again: 2 }]);
  expect(tally.get('copies.passed-over')).toBe(2);
  for (const { seq } of broker.deliveries.take(ann, 9)) {
    broker.deliveries.confirm(ann, seq);
    expect(serving.lanes.settled({ key, copySeq: seq, how: 'confirmed' })).toBe(true);
  }
  expect(await serving.withdrawals.removeSettled(key, 2)).toMatchObject({ type: 'entries.removed' });
  expect([broker.inbox.size, copies()]).toEqual([0, []]);
  expect([await survey(), await survey()]).toEqual([1, 1]);
});

it('a copy that is there at one survey and confirmed at the next is nobody’s suspicion', async () => {
  const { broker, copies, survey } = await passedOver(1);
  expect(await survey()).toBe(0);
  broker.dlv.remove(copies()[0] ?? 0);
  expect([await survey(), await survey(), copies()]).toEqual([0, 0, []]);
});

it('a durable that waits for confirmations, or still has to deliver, is left alone', async () => {
  const world = bench();
  world.grant(ann);
  const serving = await world.period();
  await serving.lanes.recover(key);
  await serving.copier.store([1, 2].map((seq) => world.entry(ann, { channel: 'lobby', seq, id: `m${seq}` })));
  await serving.lanes.authorize(key, 1);
  await serving.lanes.handOff(key);
  const asked = () => world.news.filter((each) => each.type === 'review.asked').length;
  for (let i = 0; i < 3; i++) await serving.survey.make({ all: false });
  expect(asked()).toBe(0);
  world.broker.deliveries.take(ann, 1);
  for (let i = 0; i < 3; i++) await serving.survey.make({ all: false });
  expect(asked()).toBe(0);
});

it('whoever stops between the new copy and the end of the old one leaves two of one post, and the next look ends the old one', async () => {
  const { serving, broker, copies, survey, faults } = await passedOver(1);
  await survey();
  await survey();
  faults.silent('copies.remove', 1);
  expect(await serving.withdrawals.review(key, 1)).toEqual({ type: 'broker.silent' });
  expect(copies()).toEqual([1, 3]);
  expect(await serving.lanes.recover(key)).toMatchObject({ outstanding: 2 });
  expect(await serving.withdrawals.review(key, 1)).toMatchObject({ copies: 1 });
  expect(copies()).toEqual([3]);
  expect(broker.deliveries.take(ann, 9).map(({ seq }) => seq)).toEqual([3]);
});

it('a copy that was passed over and whose entry is gone is removed, and nothing is made of it', async () => {
  const { serving, broker, copies, survey } = await passedOver(1);
  broker.inbox.purge({ filter: '>', upTo: 99 });
  await survey();
  await survey();
  // The other one was confirmed, which nobody told.
  expect(await serving.withdrawals.review(key, 1)).toMatchObject({ copies: 2 });
  expect(copies()).toEqual([]);
});

it('a member without a durable, or a broker that does not answer, is no reason to act', async () => {
  const { serving, broker, survey, faults } = await passedOver(2);
  faults.silent('copies.place', 2);
  expect([await survey(), await survey()]).toEqual([0, 0]);
  broker.deliveries.remove(ann);
  expect([await survey(), await survey()]).toEqual([0, 0]);
  expect(await serving.withdrawals.review(key, 1)).toMatchObject({ copies: 0 });
});
