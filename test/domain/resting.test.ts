/** What a lane that rests leaves behind (R1, R8): work is counted, in messages read from the stores. */
import { expect, it, vi } from 'vitest';
import { MEMBER_HEADER, WRITER_HEADER } from '../../src/domain/entry.ts';
import { memberKey } from '../../src/domain/names.ts';
import { entrySubject } from '../../src/domain/subjects.ts';
import { Desks } from '../../src/services/delivery/desks.ts';
import type { ServingPeriod } from '../../src/services/delivery/period.ts';
import { Upcoming } from '../../src/services/delivery/upcoming.ts';
import type { HeldEntry } from '../../src/services/ports.ts';
import { bench, memberNamed, SPACE } from '../support/period.ts';
import { until } from '../support/until.ts';

const ann = memberNamed('ann');
const key = memberKey(ann);

const FOREIGN = { subject: 'cotal.main.dinbox.local.x', data: new Uint8Array() };
const headersOf = (header: (name: string) => string) =>
  Object.fromEntries([WRITER_HEADER, MEMBER_HEADER].map((name) => [name, header(name)]));
const next = { channel: 'ops', seq: 99, id: 'p99' };

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
])('a lane that wakes asks the store when %s', async (_why, happen, messages) => {
  const ground = await away(3);
  await Promise.all([happen(ground)].flat());
  await recovered(ground.serving);
  await handOff(ground.serving);
  expect(ground.read()).toBe(messages);
});

/** A lane with a full window of four rested, while this many posts came; then she confirms two. */
async function drained(posts: number) {
  const ground = await away(4, { window: 4 });
  const { serving, arrive, broker, read } = ground;
  for (let i = 0; i < posts; i++) await arrive();
  const copies = () => broker.dlv.page({ filter: '>', after: 0, limit: 100 }).kept.map(({ seq }) => seq);
  const confirm = (count: number) => {
    for (const copySeq of copies().slice(0, count)) {
      serving.lanes.settled({ key, copySeq, how: 'confirmed' });
      broker.dlv.remove(copySeq);
    }
  };
  confirm(2);
  await recovered(serving);
  read();
  return { ...ground, confirm };
}

it('a lane whose window was full knows where the entries lie that came meanwhile, and reads just those', async () => {
  const { serving, read, confirm } = await drained(5);
  const at = vi.spyOn(serving.ports.entries, 'at');
  expect(await serving.lanes.authorize(key, 1)).toEqual({ type: 'batch.authorized', release: 2, refuse: 0, met: 0 });
  await serving.lanes.handOff(key);
  await serving.lanes.markHandedOff(key);
  confirm(4);
  read();
  expect(await serving.lanes.authorize(key, 1)).toEqual({ type: 'batch.authorized', release: 3, refuse: 0, met: 1 });
  expect(at.mock.calls.map(([{ seqs }]) => seqs)).toEqual([
    [5, 6],
    [7, 8, 9],
  ]);
  expect(read()).toBe(0);
});

it('what was removed meanwhile is no batch, nor the end of what is known', async () => {
  const { serving, broker, read } = await drained(5);
  broker.inbox.remove(5);
  broker.inbox.remove(6);
  expect(await serving.lanes.authorize(key, 1)).toEqual({ type: 'batch.authorized', release: 2, refuse: 0, met: 0 });
  expect(read()).toBe(0);
});

it('where others lie now, what was known is forgotten, and the store is asked', async () => {
  const { serving, broker, read } = await drained(5);
  const { data, header } = broker.inbox.get(5) ?? { data: new Uint8Array(), header: () => '' };
  broker.inbox.rewind(4);
  broker.inbox.publish({ ...FOREIGN, subject: entrySubject(SPACE, memberNamed('bob'), 'ops') });
  broker.inbox.publish({ subject: entrySubject(SPACE, ann, 'ops'), data, headers: headersOf(header) });
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ type: 'batch.authorized', release: 1, met: 1 });
  expect(read()).toBe(1);
});

it('a broker that does not say what lies there is silent', async () => {
  const { serving, faults } = await drained(5);
  faults.silent('entries.at', 1);
  expect(await serving.lanes.authorize(key, 1)).toEqual({ type: 'broker.silent' });
});

it('what is known is forgotten with what was stored below it while it was read', async () => {
  const { serving, faults, broker, arrive, read } = await drained(5);
  const release = faults.hold('entries.at', 1);
  const authorized = serving.lanes.authorize(key, 1);
  broker.inbox.publish(FOREIGN);
  await arrive();
  release();
  expect(await authorized).toMatchObject({ type: 'batch.authorized', release: 2, met: 0 });
  expect(read()).toBe(2);
});

const POST_BYTES = 100;
/** Lanes that rest and are offered entries, with a window of 4. */
function resting(of: ConstructorParameters<typeof Desks>[0]) {
  const desks = new Desks(of);
  const entry = (seq: number): HeldEntry => ({
    ...{ seq, storedAt: 0, post: new Uint8Array(POST_BYTES) },
    entry: { channel: 'ops', seq, reason: 'durable-channel', generation: 1 },
  });
  const rest = (member: string, awaited: number) => {
    const desk = desks.renew(member);
    for (let seq = 1; seq <= awaited; seq++) desk.awaiting.set(seq, seq);
    desk.upcoming = new Upcoming([], Number.POSITIVE_INFINITY);
    desks.rest(member);
  };
  const offer = (member: string, ...seqs: number[]) => {
    for (const seq of seqs) desks.offer(member, entry(seq), 4);
  };
  /** What the next lane knows: with their posts, by where they lie, and whether that is all. */
  const known = (member: string) => {
    const upcoming = desks.resume(member)?.upcoming;
    if (upcoming === undefined) return undefined;
    const posts: number[] = [];
    const seqs: number[] = [];
    while (upcoming.size > 0) {
      const head = upcoming.first(99);
      if ('posts' in head) posts.push(...head.posts.map(({ seq }) => seq));
      else seqs.push(...head.seqs);
      upcoming.dropTo(Math.max(...posts, ...seqs));
    }
    return { posts, seqs, isAll: upcoming.isAll };
  };
  return { desks, rest, offer, known };
}

it('lanes that rest keep no more posts than their window takes, and no more bytes together than are allowed', () => {
  const { desks, rest, offer, known } = resting({ restingBytes: 2.5 * POST_BYTES });
  rest('a', 2);
  offer('a', 1, 2);
  expect(known('a')).toEqual({ posts: [1, 2], seqs: [], isAll: true });
  rest('b', 3);
  offer('b', 1, 2);
  expect(known('b')).toEqual({ posts: [1], seqs: [2], isAll: true });
  for (const member of ['c', 'd', 'e']) rest(member, 0);
  offer('c', 1, 2);
  offer('d', 1);
  expect(known('d')).toEqual({ posts: [], seqs: [1], isAll: true });
  desks.forgetUpcoming('c');
  offer('e', 1, 2);
  expect([known('c'), known('e')]).toEqual([
    { posts: [], seqs: [], isAll: false },
    { posts: [1, 2], seqs: [], isAll: true },
  ]);
});

it('where they lie is known of 16 windows of a member, and of so many entries of all of them', () => {
  const { rest, offer, known } = resting({ restingEntries: 100 });
  const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
  rest('a', 4);
  offer('a', ...upTo(65));
  rest('b', 4);
  offer('b', ...upTo(37));
  expect(known('b')).toEqual({ posts: [], seqs: upTo(36), isAll: false });
  rest('c', 4);
  offer('c', 1);
  expect([known('a'), known('c')]).toEqual([
    { posts: [], seqs: upTo(64), isAll: false },
    { posts: [], seqs: [1], isAll: true },
  ]);
});

it('a lane that comes to rest leaves where entries lie, not their posts; nothing where there is no room for it', () => {
  const { desks, rest, offer, known } = resting({ restingEntries: 3 });
  const again = (member: string) => {
    rest(member, 0);
    offer(member, 1, 2);
    desks.resume(member);
  };
  again('a');
  again('b');
  desks.rest('a');
  desks.rest('b');
  expect([known('a'), known('b')]).toEqual([
    { posts: [], seqs: [1, 2], isAll: true },
    { posts: [], seqs: [], isAll: false },
  ]);
});
