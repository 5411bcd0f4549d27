/** What a lane that rests leaves behind (R1, R8): work is counted, in messages read from the stores. */
import { expect, it, vi } from 'vitest';
import { memberKey } from '../../src/domain/names.ts';
import { Desks } from '../../src/services/delivery/desks.ts';
import type { ServingPeriod } from '../../src/services/delivery/period.ts';
import { bench, memberNamed } from '../support/period.ts';
import { until } from '../support/until.ts';

const ann = memberNamed('ann');
const key = memberKey(ann);

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
  'a post to a member that is away reads one message, though %i copies are unconfirmed',
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
    expect([read(), serving.desks.find(key)?.awaiting.size]).toEqual([1, pending + 1]);
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
