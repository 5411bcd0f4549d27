import { describe, expect, it } from 'vitest';
import { texts } from '../../support/delivery/agent.ts';
import { changeAcl, membershipOf, owedTo } from '../../support/delivery/store.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { until } from '../../support/until.ts';

const CHANNEL = 'team.general';

describe('membership intervals', () => {
  const suite = deliverySuite();

  it('a post at the join cursor is not copied, the next one is', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    const before = await alice.post(CHANNEL, { text: 'before' });
    const joined = await bob.join(CHANNEL);
    expect(joined.joinCursor).toBe(before);
    await alice.post(CHANNEL, { text: 'after' });
    expect(texts(await bob.read(1))).toEqual(['after']);
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
  });

  it('the sender gets no copy of its own post', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await alice.join(CHANNEL);
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { text: 'mine' });
    expect(texts(await bob.read(1))).toEqual(['mine']);
    expect(await owedTo(suite.mesh, await suite.mesh.connect('delivery'), alice.member)).toEqual({
      entries: 0,
      copies: 0,
    });
  });

  it('a join that is repeated answers the same cursor and generation (REG-05)', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    const first = await bob.join(CHANNEL);
    await alice.post(CHANNEL, { text: 'one' });
    expect(await bob.join(CHANNEL)).toEqual(first);
    expect(await bob.join(CHANNEL)).toEqual(first);
    expect(texts(await bob.read(1))).toEqual(['one']);
  });

  it('many joins at once make one membership, and posts meanwhile fall on one side by their sequence', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    const posting = Array.from({ length: 30 }, (_, i) => alice.post(CHANNEL, { text: String(i) }));
    const answers = await Promise.all(Array.from({ length: 10 }, () => bob.join(CHANNEL)));
    const seqs = await Promise.all(posting);
    const [joined] = answers;
    for (const answer of answers) expect(answer).toEqual(joined);
    const due = seqs.filter((seq) => seq > (joined?.joinCursor ?? 0)).sort((a, b) => a - b);
    const taken = await bob.read(due.length);
    expect(taken.map(({ seq }) => seq).sort((a, b) => a - b)).toEqual(due);
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
  });

  it('a leave with three posts unread, one of them handed over, drops three, and nothing of them surfaces', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    for (const text of ['one', 'two', 'three']) await alice.post(CHANNEL, { text });
    const [taken] = await bob.take(1);
    expect(taken?.text).toBe('one');
    // What the writer has not been given yet is not owed yet, and not counted.
    await until(
      async () => (await bob.asked('pendingCount', {})).pending === 3,
      () => suite.running.state(),
    );
    expect(await bob.leave(CHANNEL)).toEqual({ left: true, dropped: 3 });
    expect(await taken?.message.ackAck()).toBe(true);
    expect(texts(await bob.take(3, 1_000))).toEqual([]);
    const delivery = await suite.mesh.connect('delivery');
    expect(await owedTo(suite.mesh, delivery, bob.member)).toEqual({ entries: 0, copies: 0 });
    const history = await bob.asked('readHistory', { channel: CHANNEL });
    expect(history.items.map(({ msg }) => (msg.parts[0] as { text: string }).text)).toEqual(['one', 'two', 'three']);
    expect(history.complete).toBe(true);
  });

  it('a leave is repeated without harm, and cannot close a newer generation', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    expect(await bob.leave(CHANNEL)).toEqual({ left: true, dropped: 0 });
    expect(await bob.leave(CHANNEL)).toEqual({ left: true, dropped: 0 });
    expect(await bob.join(CHANNEL)).toMatchObject({ durable: true, generation: 2 });
    expect(await bob.leave(CHANNEL, 1)).toMatchObject({ left: false, dropped: 0 });
    await alice.post(CHANNEL, { text: 'still here' });
    expect(texts(await bob.read(1))).toEqual(['still here']);
    const late = await bob.ask('durableLeave', { channel: CHANNEL, generation: 7, lifecycleUid: bob.member.uid });
    expect(late).toMatchObject({
      ok: true,
      data: { left: false, reason: 'generation 7 does not exist, the last one is 2' },
    });
  });

  it('after a rejoin, posts between leave and join are not copied', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    await bob.leave(CHANNEL);
    await alice.post(CHANNEL, { text: 'between' });
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { text: 'after' });
    expect(texts(await bob.read(1))).toEqual(['after']);
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
  });

  it('a join outside the read ACL is refused with the reason, a leave after the ACL was narrowed is not', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob', { read: ['team.>'] })];
    expect(await bob.join('secret.plans')).toMatchObject({
      durable: false,
      reason: 'the read ACL does not cover this channel',
    });
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { text: 'one' });
    await until(async () => (await bob.asked('pendingCount', {})).handedOff === 1, 'the hand-off');
    await changeAcl(suite.mesh, bob.member, (row) => ({ ...row, allowSubscribe: [], revision: 2 }));
    expect(await bob.leave(CHANNEL)).toMatchObject({ left: true });
    const row = await membershipOf(suite.mesh, await suite.mesh.connect('delivery'), CHANNEL, bob.member);
    expect(row).toMatchObject({ state: 'left', generation: 1 });
  });

  it('posts of a closed generation that the writer copies late never surface', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    const posting = Promise.all(Array.from({ length: 50 }, (_, i) => alice.post(CHANNEL, { text: String(i) })));
    const left = await bob.leave(CHANNEL);
    await posting;
    expect(left.left).toBe(true);
    const delivery = await suite.mesh.connect('delivery');
    await until(
      async () => {
        const owed = await owedTo(suite.mesh, delivery, bob.member);
        return owed.entries === 0 && owed.copies === 0 && suite.running.daemon.tally.get('posts.settled') >= 50;
      },
      () => suite.running.state(),
    );
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
  });
});
