/** What somebody found who looked for ways to lose an entry, to count it wrongly, or to surface it when it may not be. */
import { expect, it } from 'vitest';
import { memberKey } from '../../src/domain/names.ts';
import { buckets, chatSubject, keySubject } from '../../src/domain/subjects.ts';
import { Copier } from '../../src/services/delivery/copier.ts';
import { Desks } from '../../src/services/delivery/desks.ts';
import { OwedCounts } from '../../src/services/delivery/owed.ts';
import type { ServingPeriod } from '../../src/services/delivery/period.ts';
import { Reviews } from '../../src/services/delivery/reviews.ts';
import { Upcoming } from '../../src/services/delivery/upcoming.ts';
import { Withdrawals } from '../../src/services/delivery/withdrawals.ts';
import { type Bench, bench, memberNamed, SPACE } from '../support/period.ts';

const [ann, bob] = [memberNamed('ann'), memberNamed('bob')];
const key = memberKey(ann);

async function handOff({ lanes }: Pick<ServingPeriod, 'lanes'>) {
  const batch = await lanes.authorize(key, 1);
  await lanes.handOff(key);
  await lanes.markHandedOff(key);
  return batch;
}
/** A period in which ann was handed so many copies. */
async function handed(world: Bench, copies: number) {
  world.grant(ann);
  const serving = await world.period();
  await serving.lanes.recover(key);
  await serving.copier.store(
    Array.from({ length: copies }, (_, n) => world.entry(ann, { channel: 'ops', seq: n + 1, id: `p${n + 1}` })),
  );
  await handOff(serving);
  return serving;
}
/** Ann confirms so many copies, and the lane hears of it. */
function confirm({ broker }: Bench, { lanes }: ServingPeriod, count: number) {
  for (const { seq } of broker.deliveries.take(ann, count)) {
    broker.deliveries.confirm(ann, seq);
    lanes.settled({ key, copySeq: seq, how: 'confirmed' });
  }
}
async function owedPosts(serving: ServingPeriod) {
  const page = await serving.ports.entries.page({ member: ann, after: 0, limit: 100 });
  return page.kind === 'read' ? page.entries.map(({ entry }) => entry?.seq) : page;
}

it('an entry on a reused sequence is not taken for the one that an unconfirmed copy is of', async () => {
  const world = bench();
  await handed(world, 1);
  world.broker.inbox.rewind(0);
  world.clock.advance(1_000);
  const serving = await world.period();
  await serving.copier.store([world.entry(ann, { channel: 'ops', seq: 2, id: 'two' })]);
  const place = await serving.lanes.recover(key);
  confirm(world, serving, 1);
  await serving.withdrawals.removeSettled(key, 1);
  expect(await owedPosts(serving)).toEqual([2]);
  expect(place).toMatchObject({ waiting: 1 });
});

it('nor does a leave of the channel of the old copy take it', async () => {
  const world = bench();
  await handed(world, 1);
  world.broker.inbox.rewind(0);
  world.clock.advance(1_000);
  const serving = await world.period();
  await serving.copier.store([world.entry(ann, { channel: 'dev', seq: 2, id: 'two' })]);
  await serving.lanes.recover(key);
  const answer = serving.memberships.withdraw(`ops/${key}`, 1);
  await serving.withdrawals.review(key, 1);
  await answer;
  expect(await owedPosts(serving)).toEqual([2]);
});

it('a verdict that is extended does not make the mark newer than an entry on a reused sequence', async () => {
  const world = bench();
  const before = await handed(world, 2);
  confirm(world, before, 2);
  await before.withdrawals.removeSettled(key, 2);
  const subject = keySubject(buckets(SPACE).acl, key);
  world.broker.acl.publish({ subject, data: new Uint8Array(), headers: { 'KV-Operation': 'DEL' } });
  await before.lanes.markGivenUp(key, 10);
  world.broker.inbox.rewind(0);
  world.clock.advance(1_000);
  const serving = await world.period();
  expect(await serving.lanes.recover(key)).toMatchObject({ type: 'place.recovered', waiting: 0 });
  await serving.copier.store([world.entry(ann, { channel: 'ops', seq: 3, id: 'three' })]);
  world.clock.advance(1_000);
  expect(await serving.lanes.authorize(key, 1)).toEqual({ type: 'verdict.stands' });
  world.grant(ann);
  expect(await serving.lanes.recover(key)).toMatchObject({ settled: 0, waiting: 1 });
});

it('a mention that a leave dropped does not surface, though the lane was offered it before', async () => {
  const { period, grant, entry, broker } = bench();
  grant(ann);
  const serving = await period();
  await serving.lanes.recover(key);
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ type: 'batch.empty' });
  await serving.copier.store([entry(ann, { channel: 'ops', seq: 1, id: 'mention' })]);
  const answer = serving.memberships.withdraw(`ops/${key}`, 1);
  await serving.withdrawals.review(key, 1);
  expect(await answer).toMatchObject({ dropped: 1 });
  expect(await handOff(serving)).toMatchObject({ type: 'batch.empty' });
  expect([broker.inbox.size, broker.dlv.size]).toEqual([0, 0]);
});

it.each([
  ['entries.counts', 'silent'],
  ['entries.purge', 'silent'],
  ['copies.purge', 'lost'],
  ['entries.purge', 'lost'],
] as const)('a leave counts what it dropped, though %s is %s once', async (port, how) => {
  const world = bench();
  const serving = await handed(world, 4);
  const answer = serving.memberships.withdraw(`ops/${key}`, 0);
  if (how === 'silent') world.faults.silent(port, 1);
  else world.faults.loseAnswer(port, 1);
  expect(await serving.withdrawals.review(key, 1)).toEqual({ type: 'broker.silent' });
  await serving.lanes.recover(key);
  await serving.withdrawals.review(key, 1);
  expect(await answer).toMatchObject({ dropped: 4 });
});

it('a changed grant answers how many entries it took, though an answer was lost in between', async () => {
  const world = bench();
  const { ports, desks, lanes } = await handed(world, 2);
  const reviews = new Reviews();
  const withdrawals = new Withdrawals({ ...world, ...ports, owed: new OwedCounts(), reviews }, desks);
  world.grant(ann, ['dev']);
  const answer = reviews.ask(key, {});
  world.faults.loseAnswer('copies.purge', 1);
  expect(await withdrawals.review(key, 1)).toEqual({ type: 'broker.silent' });
  await lanes.recover(key);
  await withdrawals.review(key, 1);
  expect(await answer).toMatchObject({ removed: 2 });
});

it('an entry that the lane has read and handed off is not handed off again when its store is answered', async () => {
  const world = bench();
  world.grant(ann);
  const serving = await world.period();
  await serving.lanes.recover(key);
  const release = world.faults.hold('entries.storeAll', 1);
  const stored = serving.copier.store([world.entry(ann, { channel: 'ops', seq: 1, id: 'one' })]);
  expect(await handOff(serving)).toMatchObject({ release: 1 });
  confirm(world, serving, 1);
  await serving.withdrawals.removeSettled(key, 1);
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ type: 'batch.empty' });
  release();
  await stored;
  expect(await handOff(serving)).toMatchObject({ type: 'batch.empty' });
  expect(world.broker.dlv.size).toBe(0);
});

it('an entry whose copy was confirmed after the place was found is not handed off again', async () => {
  const { period, grant, entry, broker } = bench();
  grant(ann);
  const before = await period();
  await before.lanes.recover(key);
  await before.copier.store([1, 2, 3].map((n) => entry(ann, { channel: 'ops', seq: n, id: `p${n}` })));
  await before.lanes.authorize(key, 1);
  await before.lanes.handOff(key);
  // The daemon dies before the mark is written; the first copy is confirmed meanwhile, the second one a little later.
  const copies = broker.deliveries.take(ann, 3);
  broker.deliveries.confirm(ann, copies[0]?.seq ?? 0);
  const serving = await period();
  expect(await serving.lanes.recover(key)).toMatchObject({ waiting: 1, outstanding: 2, settled: 0 });
  const copySeq = copies[1]?.seq ?? 0;
  broker.deliveries.confirm(ann, copySeq);
  serving.lanes.settled({ key, copySeq, how: 'confirmed' });
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ release: 1 });
});

it('what a leave removes is taken off the counts once', async () => {
  const world = bench();
  world.grant(ann);
  const { ports, desks, lanes } = await world.period();
  const [owed, reviews] = [new OwedCounts(), new Reviews()];
  const copier = new Copier({ ...world, ...ports, lanes, owed, batchSize: 100 });
  const withdrawals = new Withdrawals({ ...world, ...ports, owed, reviews }, desks);
  await lanes.recover(key);
  await copier.store([
    ...[1, 2].map((n) => world.entry(ann, { channel: 'ops', seq: n, id: `o${n}` })),
    ...[3, 4].map((n) => world.entry(ann, { channel: 'dev', seq: n, id: `d${n}` })),
  ]);
  await handOff({ lanes });
  void reviews.ask(key, { channel: 'ops', generation: 0 });
  await withdrawals.review(key, 1);
  expect(world.broker.inbox.size).toBe(2);
  expect(owed.of(key)).toBe(2);
});

it('entries that a repeated catch-up finds stored are not counted again', async () => {
  const world = bench();
  const { ports, lanes } = await world.period();
  const owed = new OwedCounts();
  const copier = new Copier({ ...world, ...ports, lanes, owed, batchSize: 100 });
  const entries = [1, 2, 3].map((n) => world.entry(ann, { channel: 'ops', seq: n, id: `p${n}` }));
  for (let attempt = 0; attempt < 3; attempt++) expect(await copier.store(entries)).toEqual({ kind: 'stored' });
  expect(world.broker.inbox.size).toBe(3);
  expect(owed.of(key)).toBe(3);
});

it('posts that resting lanes are offered do not keep what they were received with', () => {
  const desks = new Desks({ restingBytes: 1_000 });
  desks.renew(key).upcoming = new Upcoming([], Number.POSITIVE_INFINITY);
  desks.rest(key);
  const post = new Uint8Array(new ArrayBuffer(65_536), 0, 100);
  const entry = { channel: 'ops', seq: 1, reason: 'durable-channel', generation: 1 } as const;
  desks.offer(key, { seq: 1, storedAt: 0, post, entry }, 4);
  const offered = desks.resume(key)?.upcoming.first(1);
  const [kept] = offered !== undefined && 'posts' in offered ? offered.posts : [];
  expect(kept?.post).toHaveLength(100);
  expect(kept?.post.buffer.byteLength).toBeLessThanOrEqual(1_000);
});

it('the mark of a retired lifecycle is removed in the end, though the broker was silent once', async () => {
  const world = bench();
  const serving = await handed(world, 1);
  world.faults.silent('rows.removeMark', 1);
  expect(await serving.withdrawals.removeEverything(key)).toMatchObject({ type: 'broker.silent' });
});

it('after sequences were given out again, a late batch is noticed', async () => {
  const { period, grant, entry, broker } = bench();
  grant(ann);
  const late = await period();
  const serving = await period();
  await serving.copier.store([1, 2, 3, 4].map((n) => entry(bob, { channel: 'ops', seq: n, id: `b${n}` })));
  broker.inbox.rewind(2);
  await serving.copier.store([entry(bob, { channel: 'ops', seq: 5, id: 'b5' })]);
  await serving.lanes.recover(key);
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ type: 'batch.empty' });
  await late.copier.store([entry(ann, { channel: 'ops', seq: 6, id: 'a6' })]);
  await serving.copier.store([entry(ann, { channel: 'ops', seq: 7, id: 'a7' })]);
  expect(await handOff(serving)).toMatchObject({ release: 2 });
});

it('what is to be said of a post is said once, also where its round is made again', async () => {
  const world = bench();
  const subject = chatSubject(SPACE, 'local.bob', 'ops');
  world.broker.chat.publish({ subject, data: new TextEncoder().encode('{"half') });
  const { fanout } = await world.period();
  await fanout.open();
  const heard = new Promise<void>((resolve) => {
    fanout.hear({ waiting: () => resolve(), skipped: () => {}, lost: () => {} });
  });
  await heard;
  expect(await fanout.route()).toMatchObject({ posts: 1, poison: 1 });
  expect(await fanout.route()).toMatchObject({ posts: 1, poison: 1 });
  expect(world.journal.told('post.poison')).toHaveLength(0);
  await fanout.settle();
  expect(Object.entries(world.tally.all()).filter(([name]) => name.startsWith('posts.'))).toEqual([
    [expect.stringContaining('posts.poison'), 1],
    ['posts.settled', 1],
  ]);
  expect(world.journal.told('post.poison')).toHaveLength(1);
});
