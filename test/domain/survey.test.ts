import { expect, it } from 'vitest';
import { type Member, memberKey } from '../../src/domain/names.ts';
import { bench, memberNamed } from '../support/period.ts';

const [ann, bob] = [memberNamed('ann'), memberNamed('bob')];

it('a survey names whoever has something to do for the second time, once for the same figures, and again when their lane is gone', async () => {
  const { period, entry } = bench();
  const { copier, survey } = await period();
  await copier.store([entry(ann, { channel: 'ops', seq: 1, id: 'one' })]);
  const ask = async (all = false) => {
    const made = await survey.make({ all });
    return made.type === 'survey.made' ? [...made.members].sort() : made;
  };
  expect(await ask(true)).toEqual([memberKey(ann)]);
  expect(await ask()).toEqual([]);
  await copier.store([entry(bob, { channel: 'ops', seq: 1, id: 'two' })]);
  expect(await ask()).toEqual([]);
  expect(await ask()).toEqual([memberKey(bob)]);
  expect(await ask()).toEqual([]);
  // One entry went and another one came: the figures are the same, what they stand for is not.
  survey.forget(memberKey(ann));
  expect(await ask()).toEqual([memberKey(ann)]);
});

it('a survey names whoever is owed least first: a member that was away for long keeps nobody waiting who is there', async () => {
  const { period, entry } = bench();
  const { copier, survey } = await period();
  const owed = (member: Member, count: number) =>
    copier.store(Array.from({ length: count }, (_, n) => entry(member, { channel: 'ops', seq: n + 1, id: `p${n}` })));
  await owed(ann, 300);
  await owed(bob, 2);
  await owed(memberNamed('cyd'), 20);
  const made = await survey.make({ all: true });
  expect(made).toEqual({
    type: 'survey.made',
    members: ['bob', 'cyd', 'ann'].map((name) => memberKey(memberNamed(name))),
  });
});

it('what is on its way while a survey is made casts no doubt on anybody’s place', async () => {
  const { period, entry, grant } = bench();
  grant(ann);
  const { copier, survey, lanes, desks } = await period();
  const key = memberKey(ann);
  await survey.make({ all: true });
  await lanes.recover(key);
  desks.rest(key);
  for (const seq of [1, 2, 3]) {
    await copier.store([entry(ann, { channel: 'ops', seq, id: `p${seq}` })]);
    expect(await survey.make({ all: false })).toEqual({ type: 'survey.made', members: [] });
    expect(desks.resume(key)).toBeDefined();
    await lanes.authorize(key, 1);
    await lanes.handOff(key);
    await lanes.markHandedOff(key);
    desks.rest(key);
    await survey.make({ all: false });
  }
});

it('a survey that the broker does not answer says so', async () => {
  const { period, faults } = bench();
  const { survey } = await period();
  faults.silent('copies.counts', 1);
  expect(await survey.make({ all: true })).toEqual({ type: 'broker.silent' });
  expect(await survey.make({ all: true })).toEqual({ type: 'survey.made', members: [] });
});

it('a survey removes what lies on subjects that name no member, counts it, and says it once', async () => {
  const { period, broker, tally, journal } = bench();
  const { survey } = await period();
  const forge = (subject: string) => broker.inbox.publish({ subject, data: new Uint8Array() });
  forge('cotal.main.dinbox.local.x');
  forge('cotal.main.dinbox.y');
  await survey.make({ all: false });
  forge('cotal.main.dinbox.z');
  await survey.make({ all: false });
  expect([broker.inbox.size, tally.get('entries.foreign', 'foreign-subject')]).toEqual([0, 3]);
  expect(journal.told('entry.foreign')).toHaveLength(1);
});
