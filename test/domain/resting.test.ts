/** What a lane that rests leaves behind (R1, R8): work is counted, in messages read from the stores. */
import { expect, it, vi } from 'vitest';
import { memberKey } from '../../src/domain/names.ts';
import { Desks } from '../../src/services/delivery/desks.ts';
import type { ServingPeriod } from '../../src/services/delivery/period.ts';
import type { HeldEntry } from '../../src/services/ports.ts';
import { bench, memberNamed } from '../support/period.ts';
import { until } from '../support/until.ts';

const ann = memberNamed('ann');
const key = memberKey(ann);

const FOREIGN = { subject: 'cotal.main.dinbox.local.x', data: new Uint8Array() };
const next = { channel: 'ops', seq: 99, id: 'p99' };
/** A post came that the lane did not look at before it rested, and another one after that. */
async function unlooked(serving: ServingPeriod, arrive: () => Promise<unknown>): Promise<void> {
  await recovered(serving);
  await arrive();
  serving.desks.rest(key);
  await arrive();
}

/** Ann has this many copies that she did not confirm, and her lane rests. */
async function away(copies: number, of: { window?: number } = {}) {
  const ground = bench(of);
  ground.grant(ann);
  const serving = await ground.period();
  let posts = 0;
  const arrive = () => serving.copier.store([ground.entry(ann, { channel: 'ops', seq: ++posts, id: `p${posts}` })]);
  for (let i = 0; i < copies; i++) await arrive();
  await recovered(serving);
  await handOff(serving);
  serving.desks.rest(key);
  const looks = [vi.spyOn(ground.broker.inbox, 'page'), vi.spyOn(ground.broker.dlv, 'page')];
  /** Messages that were read since the last time this was asked. */
  const read = () => {
    const count = looks.flatMap(({ mock }) => mock.results).reduce((sum, { value }) => sum + value.kept.length, 0);
    for (const look of looks) look.mockClear();
    return count;
  };
  return { ...ground, serving, arrive, read };
}

async function recovered(serving: ServingPeriod) {
  return serving.lanes.recover(key);
}

async function handOff(serving: ServingPeriod): Promise<void> {
  await serving.lanes.authorize(key, 1);
  await serving.lanes.handOff(key);
  await serving.lanes.markHandedOff(key);
}

it.each([1, 10, 200])(
  'a post to a member that is away reads nothing, though %i copies are unconfirmed, nor does the next one',
  async (pending) => {
    const { serving, arrive, read } = await away(pending);
    await arrive();
    expect(await recovered(serving)).toEqual({
      type: 'place.recovered',
      waiting: 1,
      outstanding: pending,
      settled: 0,
      refused: 0,
    });
    await handOff(serving);
    serving.desks.rest(key);
    await arrive();
    await arrive();
    await recovered(serving);
    await handOff(serving);
    expect([read(), serving.desks.of(key).awaiting.size]).toEqual([0, pending + 3]);
  },
);

it('a member whose lane rests with a full window is not looked at when posts come, and is when it has confirmed one', async () => {
  const { serving, arrive, broker } = await away(4, { window: 4 });
  expect(serving.desks.isFull(key, 4)).toBe(true);
  await arrive();
  const [first = 0] = broker.dlv.page({ filter: '>', after: 0, limit: 1 }).kept.map(({ seq }) => seq);
  expect(serving.lanes.settled({ key, copySeq: first, how: 'confirmed' })).toBe(true);
  expect(serving.desks.isFull(key, 4)).toBe(false);
  expect(await recovered(serving)).toMatchObject({ waiting: 1, outstanding: 3, settled: 1 });
});

it('a survey names nobody whose window is full, however much is pending and comes, until a copy has left', async () => {
  const { serving, arrive, broker } = await away(4, { window: 4 });
  const survey = async () => {
    const made = await serving.survey.make({ all: false });
    return made.type === 'survey.made' ? made.members : made;
  };
  await arrive();
  expect(await survey()).toEqual([]);
  await arrive();
  serving.survey.forget(key);
  expect(await survey()).toEqual([]);
  const [first = 0] = broker.dlv.page({ filter: '>', after: 0, limit: 1 }).kept.map(({ seq }) => seq);
  await serving.ports.copies.remove({ seqs: [first] });
  expect(await survey()).toEqual([]);
  expect(await survey()).toEqual([key]);
});

it.each<[what: string, happen: (serving: ServingPeriod, grant: () => void) => unknown]>([
  ['its ACL row changed', (_serving, grant) => grant()],
  [
    'a confirmation came of a copy that the lane did not know',
    ({ lanes }) => lanes.settled({ key, copySeq: 99, how: 'confirmed' }),
  ],
  ['a survey of everybody was made', ({ survey }) => survey.make({ all: true })],
  ['the lane was let go for good', ({ desks }) => desks.drop(key)],
])('what a resting lane left behind is read again from the store when %s', async (_what, happen) => {
  const { serving, read, grant } = await away(3);
  await happen(serving, () => grant(ann, ['ops']));
  await until(async () => {
    serving.desks.rest(key);
    await recovered(serving);
    return read() === 6;
  }, 'entries and copies were not read again');
});

it('places are kept for so many copies together; further lanes ask the store', () => {
  const desks = new Desks({ restingCopies: 5 });
  const rest = (member: string, copies: number) => {
    const desk = desks.renew(member);
    for (let seq = 1; seq <= copies; seq++) desk.awaiting.set(seq, seq);
    desks.rest(member);
  };
  rest('a', 3);
  rest('b', 3);
  rest('c', 2);
  rest('d', 0);
  expect(['a', 'b', 'c', 'd'].map((member) => desks.resume(member)?.awaiting.size)).toEqual([
    3,
    undefined,
    2,
    undefined,
  ]);
  rest('b', 5);
  expect(desks.resume('b')?.awaiting.size).toBe(5);
});

it.each<[why: string, happen: (ground: Awaited<ReturnType<typeof away>>) => unknown, read: number]>([
  ['something else was stored before it', ({ broker, arrive }) => [broker.inbox.publish(FOREIGN), arrive()], 1],
  ['nobody knows where it lies', ({ serving, entry }) => serving.copier.storeEach([entry(ann, next)]), 1],
  ['the lane was not up to date when it came to rest', ({ serving, arrive }) => unlooked(serving, arrive), 2],
])('a lane that wakes asks the store when %s', async (_why, happen, messages) => {
  const ground = await away(3);
  await Promise.all([happen(ground)].flat());
  await recovered(ground.serving);
  await handOff(ground.serving);
  expect(ground.read()).toBe(messages);
});

it('lanes that rest are offered no more than their window takes, and no more bytes together than are allowed', () => {
  const desks = new Desks({ restingBytes: 250 });
  const entry = (seq: number): HeldEntry => ({
    ...{ seq, storedAt: 0, post: new Uint8Array(100) },
    entry: { channel: 'ops', seq, reason: 'durable-channel', generation: 1 },
  });
  const rest = (member: string, awaited: number) => {
    const desk = desks.renew(member);
    for (let seq = 1; seq <= awaited; seq++) desk.awaiting.set(seq, seq);
    desk.offers = [];
    desks.rest(member);
  };
  const offer = (member: string, ...seqs: number[]) => {
    for (const seq of seqs) desks.offer(member, entry(seq), 4);
  };
  const offered = (member: string) => desks.resume(member)?.offers?.map(({ seq }) => seq);
  rest('a', 2);
  offer('a', 1, 2);
  expect(offered('a')).toEqual([1, 2]);
  rest('b', 3);
  offer('b', 1, 2);
  expect(offered('b')).toBeUndefined();
  for (const member of ['c', 'd', 'e']) rest(member, 0);
  offer('c', 1, 2);
  offer('d', 1);
  expect(offered('d')).toBeUndefined();
  desks.forgetOffers('c');
  offer('e', 1, 2);
  expect([offered('c'), offered('e')]).toEqual([undefined, [1, 2]]);
});
