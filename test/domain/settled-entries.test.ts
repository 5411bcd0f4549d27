/** How what is settled leaves the store (R2): one write where that is allowed and cheaper, and never more than what is settled. */
import { expect, it, vi } from 'vitest';
import { type Member, memberKey } from '../../src/domain/names.ts';
import { bench, memberNamed } from '../support/period.ts';

const ann = memberNamed('ann');
const bob = memberNamed('bob');

/** Ann was handed this many copies, bob is owed as many entries, lying between hers. */
async function handedOff({ copies, bobs = 0 }: { copies: number; bobs?: number }) {
  const world = bench();
  for (const member of [ann, bob]) world.grant(member);
  const serving = await world.period();
  const key = memberKey(ann);
  await serving.lanes.recover(key);
  const entriesOf = (member: Member, count: number) =>
    Array.from({ length: count }, (_, n) => world.entry(member, { channel: 'ops', seq: n + 1, id: `p${n}` }));
  await serving.copier.store([...entriesOf(bob, bobs), ...entriesOf(ann, copies)]);
  await serving.lanes.authorize(key, 1);
  await serving.lanes.handOff(key);
  await serving.lanes.markHandedOff(key);
  const { entries } = serving.ports;
  const [purge, remove] = [vi.spyOn(entries, 'purge'), vi.spyOn(entries, 'remove')];
  /** Sequences of ann's entries that are left. */
  const left = async () => {
    const page = await entries.page({ member: ann, after: 0, limit: 100 });
    return page.kind === 'read' ? page.entries.map(({ seq }) => seq - bobs) : page;
  };
  /** Copies by their number, the first is 1; confirms them and removes what is settled then. */
  const confirm = (...numbers: number[]) => {
    for (const seq of numbers) serving.lanes.settled({ key, copySeq: seq, how: 'confirmed' });
    return serving.withdrawals.removeSettled(key, numbers.length);
  };
  return { ...world, serving, key, purge, remove, left, confirm };
}

it('several go by one write, and nobody else’s with them', async () => {
  const { confirm, left, purge, remove, broker, tally } = await handedOff({ copies: 5, bobs: 7 });
  expect(await confirm(1, 2, 3)).toEqual({ type: 'entries.removed', met: 3 });
  expect([purge.mock.calls.length, remove.mock.calls.length]).toEqual([1, 0]);
  expect([await left(), broker.inbox.size]).toEqual([[4, 5], 9]);
  expect(tally.get('entries.settled')).toBe(3);
});

it('an entry that is not confirmed stays, with those around it gone', async () => {
  const { confirm, left, purge, remove } = await handedOff({ copies: 6 });
  expect(await confirm(1, 2, 4, 6)).toEqual({ type: 'entries.removed', met: 4 });
  expect(await left()).toEqual([3, 5]);
  expect(purge.mock.calls).toEqual([[{ member: ann, upTo: 2 }]]);
  expect(remove.mock.calls).toEqual([[{ seqs: [4, 6] }]]);
});

it.each([
  ['the first is not confirmed', [2, 3, 4]],
  ['there is only one', [1]],
])('one by one where %s', async (_why, numbers) => {
  const { confirm, purge, remove } = await handedOff({ copies: 4 });
  await confirm(...numbers);
  expect(purge).not.toHaveBeenCalled();
  expect(remove.mock.calls).toEqual([[{ seqs: numbers }]]);
});

it('an entry that came since and was not looked at yet stays', async () => {
  const { serving, entry, confirm, left, purge } = await handedOff({ copies: 3 });
  await serving.copier.store([entry(ann, { channel: 'ops', seq: 9, id: 'late' })]);
  await confirm(1, 2, 3);
  expect([await left(), purge.mock.calls.length]).toEqual([[4], 1]);
});

it('over a backlog that takes longer to look through they go one by one', async () => {
  const { confirm, purge, remove } = await handedOff({ copies: 4, bobs: 995 });
  await confirm(1, 2);
  expect(purge).not.toHaveBeenCalled();
  await confirm(3, 4);
  expect([purge.mock.calls.length, remove.mock.calls]).toEqual([0, [[{ seqs: [996, 997] }], [{ seqs: [998, 999] }]]]);
});

it('up to that backlog by one write', async () => {
  const { confirm, purge } = await handedOff({ copies: 4, bobs: 497 });
  await confirm(1, 2, 3);
  expect(purge).toHaveBeenCalledTimes(1);
});

it.each(['entries.purge', 'entries.remove'] as const)(
  'what %s did not remove is removed the next time',
  async (port) => {
    const { serving, key, confirm, left, faults, tally } = await handedOff({ copies: 5 });
    faults.silent(port, 1);
    expect(await confirm(1, 2, 4)).toEqual({ type: 'broker.silent' });
    expect(await left()).toEqual(port === 'entries.purge' ? [1, 2, 3, 4, 5] : [3, 4, 5]);
    expect(await serving.withdrawals.removeSettled(key, 3)).toEqual({ type: 'entries.removed', met: 3 });
    expect([await left(), tally.get('entries.settled')]).toEqual([[3, 5], 3]);
  },
);

it('a leave counts what was owed, though what was confirmed of the same channel goes with it', async () => {
  const { serving, key, broker, entry, left, purge } = await handedOff({ copies: 4 });
  await serving.copier.store([entry(ann, { channel: 'ops', seq: 9, id: 'late' })]);
  for (const copySeq of [1, 2]) {
    broker.dlv.remove(copySeq);
    serving.lanes.settled({ key, copySeq, how: 'confirmed' });
  }
  purge.mockClear();
  const answer = serving.memberships.withdraw(`ops/${key}`, 0);
  expect(await serving.withdrawals.review(key, 1)).toMatchObject({ type: 'copies.withdrawn', copies: 2 });
  expect(await answer).toMatchObject({ dropped: 3 });
  expect([await left(), purge.mock.calls[0]]).toEqual([[], [{ member: ann, upTo: 2 }]]);
});
