/** One reading of both stores for all members that wait for their place at a start (R1, R8): counted in messages read. */
import { expect, it, onTestFinished, vi } from 'vitest';
import { createActor, forwardTo, setup } from 'xstate';
import { memberKey } from '../../src/domain/names.ts';
import { numbers } from '../../src/domain/numbers.ts';
import type { InventoryEvent, InventoryReport } from '../../src/machines/inventory.machine.ts';
import { bindInventory } from '../../src/services/bind-delivery.ts';
import type { ServingPeriod } from '../../src/services/delivery/period.ts';
import type { Copies } from '../../src/services/ports.ts';
import { type Bench, bench, memberNamed } from '../support/period.ts';
import { until } from '../support/until.ts';

const names = ['ann', 'bob', 'cyd', 'dan', 'eve', 'fay'];
const members = names.map(memberNamed);
const keys = members.map(memberKey);
const [ann = memberNamed('ann')] = members;
const [key = ''] = keys;

async function handOff({ lanes }: ServingPeriod, member: string): Promise<void> {
  await lanes.authorize(member, 1);
  await lanes.handOff(member);
  await lanes.markHandedOff(member);
}

/** Each of six members was handed off four posts that lie between each other, and confirmed nothing; a daemon starts over it. */
/** The inventory's machine over the period's work; `told`: of whom its reader was told. */
function inventoryOver(
  serving: ServingPeriod,
  { room, ...world }: Pick<Bench, 'journal' | 'tally'> & { room: number },
) {
  const told: string[] = [];
  const services = { ...world, numbers, period: () => serving };
  const reader = setup({
    types: { events: {} as InventoryEvent | InventoryReport },
    actors: { inventory: bindInventory(services) },
  }).createMachine({
    invoke: { id: 'inventory', src: 'inventory', input: { room } },
    on: {
      'members.counted': { actions: forwardTo('inventory') },
      'members.owed': { actions: ({ event }) => told.push(...event.members) },
    },
  });
  const actor = createActor(reader).start();
  onTestFinished(() => void actor.stop());
  return { told, actor };
}

async function backlog({ room = 1_000, ...of }: { inventoryFrom?: number; room?: number; window?: number } = {}) {
  const world = bench({ inventoryFrom: 3, window: 8, ...of });
  const before = await world.period();
  for (const member of members) world.grant(member);
  for (const at of keys) await before.lanes.recover(at);
  const arrive = (serving: ServingPeriod, seq: number) =>
    serving.copier.store(members.map((member) => world.entry(member, { channel: 'ops', seq, id: `p${seq}` })));
  for (let seq = 1; seq <= 4; seq++) {
    await arrive(before, seq);
    for (const at of keys) await handOff(before, at);
  }
  before.close();
  const serving = await world.period();
  const looks = [vi.spyOn(world.broker.inbox, 'page'), vi.spyOn(world.broker.dlv, 'page')];
  /** Messages that were read since the last time this was asked. */
  const read = () => {
    const count = looks.flatMap(({ mock }) => mock.results).reduce((sum, { value }) => sum + value.kept.length, 0);
    for (const look of looks) look.mockClear();
    return count;
  };
  const { told, actor } = inventoryOver(serving, { ...world, room });
  const survey = async () => {
    const made = await serving.survey.make({ all: true });
    if (made.type === 'survey.counted') actor.send({ type: 'members.counted', members: made.counted });
    return made.type === 'broker.silent' ? made : made.members;
  };
  const isTold = (who: readonly string[]) =>
    until(
      () => who.every((each) => told.includes(each)),
      () => `told of: ${told}`,
    );
  /** Copies of a member, as DLV has them. */
  const copiesOf = async (at: string) => {
    const held = await serving.ports.copies.held({ member: members[keys.indexOf(at)] ?? ann });
    return held.kind === 'read' ? held.copies.map(({ seq }) => seq) : [];
  };
  return { ...world, before, serving, arrive, read, told, actor, survey, isTold, copiesOf };
}

const seqsOf = (held: Awaited<ReturnType<Copies['held']>>) =>
  held.kind === 'read' ? held.copies.map(({ seq }) => seq) : [];
const PLACED = { type: 'place.recovered', waiting: 1, outstanding: 4, settled: 0, refused: 0 };

it('a start reads each message once, however many members wait for their place, and tells of them then', async () => {
  const { serving, survey, isTold, told, read, tally } = await backlog();
  expect(await survey()).toEqual([]);
  await isTold(keys);
  for (const at of keys) expect(await serving.lanes.recover(at)).toEqual(PLACED);
  for (const at of keys) expect(await serving.lanes.authorize(at, 1)).toEqual({ type: 'batch.empty', met: 1 });
  expect(read()).toBe(members.length * (4 + 4));
  expect([...told].sort()).toEqual([...keys].sort());
  expect(tally.get('lanes.placed', 'counted')).toBe(members.length);
});

it('fewer members read each for itself, and are named at once', async () => {
  const { survey, serving, tally } = await backlog({ inventoryFrom: 7 });
  expect(((await survey()) as string[]).sort()).toEqual([...keys].sort());
  await serving.lanes.recover(key);
  expect(tally.get('lanes.placed', 'counted')).toBe(0);
});

it('a lane that comes before it is read reads by itself, and what it does is no other lane’s', async () => {
  const { serving, survey, isTold, told, faults, arrive } = await backlog();
  const release = faults.hold('entries.pageOfAll', 1);
  await survey();
  await until(
    () => serving.lanes.recover(key).then((placed) => placed.type === 'place.recovered'),
    () => 'no place',
  );
  await arrive(serving, 5);
  await handOff(serving, key);
  serving.desks.drop(key);
  release();
  await isTold(keys.slice(1));
  expect(told).not.toContain(key);
  expect(await serving.lanes.recover(key)).toMatchObject({ outstanding: 5 });
});

it.each(['before it is read', 'after it'])('a copy that is confirmed %s is settled, not awaited', async (when) => {
  const { serving, survey, isTold, faults, broker, copiesOf } = await backlog();
  const [first = 0] = await copiesOf(key);
  const confirm = () => {
    broker.deliveries.take(ann, 1);
    broker.deliveries.confirm(ann, first);
    serving.lanes.settled({ key, copySeq: first, how: 'confirmed' });
  };
  const release = faults.hold('copies.pageOfAll', 1);
  await survey();
  if (when === 'before it is read') confirm();
  release();
  await isTold(keys);
  if (when !== 'before it is read') confirm();
  expect(await serving.lanes.recover(key)).toMatchObject({ outstanding: 3, settled: 1 });
  expect(serving.desks.of(key).awaiting.has(first)).toBe(false);
  await serving.withdrawals.removeSettled(key, 1);
  expect(await serving.ports.entries.counts({ member: ann })).toMatchObject({ counts: new Map([[key, 3]]) });
});

it('a post that comes after it was read is handed off, and a grant that was narrowed meanwhile is met', async () => {
  const { serving, survey, isTold, arrive, grant } = await backlog();
  await survey();
  await isTold(keys);
  await arrive(serving, 5);
  expect(await serving.lanes.recover(key)).toMatchObject({ waiting: 1, outstanding: 4 });
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ type: 'batch.authorized', release: 1 });
  grant(members[1] ?? ann, ['dev']);
  expect(await serving.lanes.recover(keys[1] ?? '')).toMatchObject({ outstanding: 4, refused: 4 });
});

it.each(['copies.barrier', 'copies.pageOfAll', 'rows.mark', 'entries.pageOfAll'])(
  'everybody reads by himself where %s is not answered',
  async (verb) => {
    const { serving, survey, isTold, faults, tally } = await backlog();
    faults.silent(verb, 1);
    expect(await survey()).toEqual([]);
    await isTold(keys);
    expect(await serving.lanes.recover(key)).toMatchObject({ outstanding: 4 });
    expect(tally.get('lanes.placed', 'counted')).toBe(0);
  },
);

it('everybody reads by himself where INBOX gives out again what was read of it', async () => {
  const { serving, survey, isTold, told, broker, entry } = await backlog();
  await survey();
  await isTold(keys);
  broker.inbox.rewind(20);
  const heard = told.length;
  await serving.copier.store([entry(ann, { channel: 'ops', seq: 9, id: 'p9' })]);
  const again = broker.inbox.all().at(-1)?.seq ?? 0;
  expect(told.length).toBe(heard + keys.length);
  const placed = await serving.lanes.recover(key);
  expect(placed).toMatchObject({ type: 'place.recovered' });
  expect(again).toBe(21);
  expect(serving.desks.of(key).settled).not.toContain(again);
});

it('who does not fit into one round is read for when the lanes of the one before took what is theirs', async () => {
  const { serving, survey, isTold, told, tally } = await backlog({ room: 3 * 4 });
  await survey();
  await isTold(keys.slice(0, 3));
  expect(told).toHaveLength(3);
  for (const at of told.slice()) expect(await serving.lanes.recover(at)).toEqual(PLACED);
  await isTold(keys);
  for (const at of told.slice(3)) expect(await serving.lanes.recover(at)).toEqual(PLACED);
  expect(tally.get('lanes.placed', 'counted')).toBe(members.length);
});

it('nothing that was read is given out when the reader is gone, or has begun anew', async () => {
  const { serving, survey, isTold, actor, tally } = await backlog();
  await survey();
  await isTold(keys);
  actor.stop();
  expect(await serving.lanes.recover(key)).toMatchObject({ outstanding: 4 });
  expect(tally.get('lanes.placed', 'counted')).toBe(0);
});

it('a batch of the period before that arrives while it is read is found', async () => {
  const { serving, before, survey, isTold, faults, arrive } = await backlog();
  const release = faults.hold('entries.pageOfAll', 1);
  await survey();
  await arrive(before, 5);
  await arrive(serving, 6);
  release();
  await isTold(keys);
  await serving.lanes.recover(key);
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ release: 2 });
});

it('entries that were never handed off are known to the lanes that hand them off, as many as fit into a window', async () => {
  const { serving, survey, isTold, arrive, read, before } = await backlog();
  for (let seq = 5; seq <= 14; seq++) await arrive(before, seq);
  const at = vi.spyOn(serving.ports.entries, 'at');
  await survey();
  await isTold(keys);
  read();
  for (const member of keys) expect(await serving.lanes.recover(member)).toEqual({ ...PLACED, waiting: 1 });
  const handedOff = { type: 'batch.authorized', release: 4, refuse: 0, met: 0 };
  for (const member of keys) expect(await serving.lanes.authorize(member, 1)).toEqual(handedOff);
  expect(at.mock.calls.map(([{ seqs }]) => seqs.length)).toEqual(keys.map(() => 4));
  expect(read()).toBe(0);
  await serving.lanes.handOff(key);
  await serving.lanes.markHandedOff(key);
  for (const copySeq of await serving.ports.copies.held({ member: ann }).then(seqsOf))
    serving.lanes.settled({ key, copySeq, how: 'confirmed' });
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ release: 6, met: 1 });
});

it('entries above what was handed off are read on for only as long as lanes want them', async () => {
  const { serving, survey, isTold, read, entry } = await backlog();
  const deep = Array.from({ length: 3_000 }, (_, n) => entry(ann, { channel: 'ops', seq: 10 + n, id: `d${n}` }));
  await serving.copier.store(deep);
  await survey();
  await isTold(keys);
  // The copies, the entries up to the last that has one, and then the pages until a thousand were read in vain.
  expect(read()).toBeLessThanOrEqual(24 + 24 + 1_000 + 2 * 500);
  await serving.lanes.recover(key);
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ release: 4, met: 0 });
});

it('entries are not read on when the windows are full, however many there are', async () => {
  const { survey, isTold, read, entry, serving } = await backlog({ window: 400, room: 100_000 });
  const deep = Array.from({ length: 2_000 }, (_, n) =>
    members.map((member) => entry(member, { channel: 'ops', seq: 10 + n, id: `d${n}` })),
  );
  await serving.copier.store(deep.flat());
  await survey();
  await isTold(keys);
  expect(read()).toBeLessThanOrEqual(24 + 24 + members.length * 396 + 1_000 + 2 * 500);
});

it('what is known of entries is worth nothing where some before them have no copy, and are handed off first', async () => {
  const { serving, survey, isTold, arrive, before, broker, copiesOf } = await backlog();
  for (let seq = 5; seq <= 6; seq++) await arrive(before, seq);
  const [, second = 0] = await copiesOf(key);
  broker.dlv.remove(second);
  expect(await serving.ports.rows.removeMark({ member: ann })).toMatchObject({ kind: 'removed' });
  await survey();
  await isTold(keys);
  await serving.lanes.recover(key);
  expect(await serving.lanes.authorize(key, 1)).toMatchObject({ release: 3 });
  await serving.lanes.handOff(key);
  expect(serving.desks.of(key).awaiting.size).toBe(6);
});
