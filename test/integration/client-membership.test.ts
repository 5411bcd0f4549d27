import { nuid } from '@nats-io/nats-core';
import { describe, expect, it } from 'vitest';
import type { Standing } from '../../src/client/client.ts';
import { railSubject, replyPrefix } from '../../src/domain/subjects.ts';
import { TcpProxy } from '../../src/torture/proxy.ts';
import { DEFAULTS, groundOfEachTest, joinDurably, readAll, textOf, untilHandedOff } from '../support/agents.ts';
import { TestJournal } from '../support/delivery/daemon.ts';
import { until } from '../support/until.ts';

const ground = groundOfEachTest();
const CHANNEL = 'team.general';

describe('a membership', () => {
  it('that is joined again before its leave was answered is a new generation, also when the leave was carried out (torture seed 2)', async () => {
    await ground.serve();
    const bob = await ground.add('bob');
    const proxy = await TcpProxy.to(ground.mesh.url);
    const agent = await ground.connect(bob, { url: proxy.url, timeoutMs: 2_000 });
    expect(await agent.join(CHANNEL)).toMatchObject({ state: 'durable', generation: 1 });
    proxy.hold('toClient');
    expect(await agent.leave(CHANNEL)).toMatchObject({ left: false });
    const again = agent.join(CHANNEL);
    proxy.release();
    await again;
    await until(
      () => agent.standings()[0]?.state === 'durable',
      () => agent.standings(),
    );
    expect(agent.standings()).toMatchObject([{ state: 'durable', generation: 2 }]);
    await agent.close();
    await proxy.close();
  });

  it('is joined live without a daemon, with cause and age, and becomes durable by itself when one comes (REG-02)', async () => {
    const journal = new TestJournal();
    const standings: Standing[] = [];
    const carol = await ground.add('carol');
    const agent = await ground.connect(carol, { journal, onStanding: (standing) => standings.push(standing) });
    const joined = await agent.join(CHANNEL);
    expect(joined).toMatchObject({ channel: CHANNEL, state: 'live' });
    expect(joined.reason).toContain('no daemon answers');
    expect(joined.generation).toBeUndefined();
    await until(
      () => (agent.standings()[0]?.unestablishedMs ?? 0) > 20,
      () => agent.standings(),
    );
    expect(journal.names()).toEqual(['client.plane-not-ready', 'client.unestablished']);
    await ground.serve();
    await until(
      () => agent.standings()[0]?.state === 'durable',
      () => agent.standings(),
    );
    expect(agent.standings()[0]).toEqual({ channel: CHANNEL, state: 'durable', generation: 1, joinCursor: 0 });
    expect(standings.map(({ state }) => state)).toEqual(['live', 'durable']);
  });

  it('delivers live with no daemon at all', async () => {
    const [alice, bob] = [
      await ground.connect(await ground.add('alice')),
      await ground.connect(await ground.add('bob')),
    ];
    await bob.join(CHANNEL);
    const posted = await alice.post({ channel: CHANNEL, text: 'live' });
    expect(posted.delivery).toBe('queued');
    const read = await readAll(bob, { limit: 1, idleMs: 5_000 });
    expect(read.map(textOf)).toEqual(['live']);
    expect(read[0]).toMatchObject({ durable: false, seq: null, source: 'live' });
  });

  it('warns, where no lease is ready, of the durable, the space and the condition, and advises to reconnect', async () => {
    const journal = new TestJournal();
    const bob = await ground.add('bob');
    await ground.connect(bob, { journal });
    expect(journal.lines()).toEqual([
      `! client: bound dlv_local-bob-${bob.member.uid} of space main, but the delivery lease of this plane is missing; a daemon that starts later delivers through it. If another plane serves the space, reconnect against that one: it re-binds the durable there`,
    ]);
    await ground.serve();
    const quiet = new TestJournal();
    await ground.connect(bob, { journal: quiet });
    expect(quiet.lines()).toEqual([]);
  });

  it('is refused by the broker outside the read grant, and nothing is joined', async () => {
    await ground.serve();
    const agent = await ground.connect(await ground.add('bob', { read: ['team.general'] }));
    await expect(agent.join('other')).rejects.toMatchObject({ code: 'join.refused' });
    await expect(agent.join('team.*')).rejects.toMatchObject({ code: 'name.channel.wildcard' });
    expect(agent.standings().map(({ state }) => state)).toEqual(['left']);
    expect(await agent.memberships()).toEqual([]);
  });

  it('surfaces a post once to a member that is here, live first and the copy recognized', async () => {
    await ground.serve();
    const [alice, bob] = [
      await ground.connect(await ground.add('alice')),
      await ground.connect(await ground.add('bob')),
    ];
    await joinDurably(bob, CHANNEL);
    for (const text of ['one', 'two', 'three']) await alice.post({ channel: CHANNEL, text });
    await untilHandedOff(bob, 3);
    const read = await readAll(bob, { idleMs: 0 });
    expect(read.map((post) => [textOf(post), post.source])).toEqual([
      ['one', 'live'],
      ['two', 'live'],
      ['three', 'live'],
    ]);
    await until(async () => (await bob.pendingCount()).pending === 0, 'a copy was not confirmed');
  });

  it('surfaces posts without an id once each to a member that is here, by their copies', async () => {
    await ground.serve();
    const alice = await ground.connect(await ground.add('alice'));
    const bob = await ground.connect(await ground.add('bob'));
    await joinDurably(bob, CHANNEL);
    for (const text of ['a', 'b']) await alice.post({ channel: CHANNEL, text, id: '' });
    await untilHandedOff(bob, 2);
    expect((await readAll(bob, { idleMs: 0 })).map((post) => [textOf(post), post.durable])).toEqual([
      ['a', true],
      ['b', true],
    ]);
  });

  it('surfaces a post that is too large for a copy live, though it has no id or a copy is preferred', async () => {
    await ground.serve();
    const alice = await ground.connect(await ground.add('alice'));
    const bob = await ground.connect(await ground.add('bob'), { preferDurableMs: 600_000 });
    await joinDurably(bob, CHANNEL);
    const text = 'x'.repeat(1_048_576 - 1_500);
    for (const id of ['', 'large']) {
      expect(await alice.post({ channel: CHANNEL, text, id })).toMatchObject({ delivery: 'live' });
      expect(await readAll(bob, { limit: 1, idleMs: 30_000 })).toMatchObject([{ source: 'live', message: { id } }]);
    }
  });

  it('waits for the copy of a live post where that is preferred, and surfaces the post with its sequence', async () => {
    await ground.serve();
    const alice = await ground.connect(await ground.add('alice'));
    const bob = await ground.connect(await ground.add('bob'), { preferDurableMs: 30_000 });
    await joinDurably(bob, CHANNEL);
    const reading = readAll(bob, { limit: 1, idleMs: 60_000 });
    const { seq } = await alice.post({ channel: CHANNEL, text: 'one' });
    expect(await reading).toMatchObject([{ durable: true, seq, source: 'durable' }]);
  });

  it('is the same after a join that is repeated, and after one whose answer was lost (REG-05, REG-03)', async () => {
    await ground.serve();
    const [alice, bob] = [await ground.add('alice'), await ground.add('bob')];
    const raw = await ground.mesh.connect(bob.credential);
    const subject = railSubject('main', 'delivery', bob.principal);
    // Nobody waits for this answer: it is lost.
    raw.publish(subject, JSON.stringify({ op: 'durableJoin', args: { channel: CHANNEL } }), {
      reply: `${replyPrefix(subject)}${nuid.next()}`,
    });
    await raw.flush();
    const agent = await ground.connect(bob);
    await until(
      async () => (await agent.memberships()).some(({ state }) => state === 'active'),
      'the join is not there',
    );
    const sender = await ground.connect(alice);
    await sender.post({ channel: CHANNEL, text: 'one' });
    const second = await agent.join(CHANNEL);
    const third = await agent.join(CHANNEL);
    expect(second).toEqual({ channel: CHANNEL, state: 'durable', generation: 1, joinCursor: 0 });
    expect(third).toEqual(second);
    await sender.post({ channel: CHANNEL, text: 'two' });
    await untilHandedOff(agent, 2);
    expect((await readAll(agent, { idleMs: 0 })).map(textOf).sort()).toEqual(['one', 'two']);
  });

  it('drops on a leave what was owed, surfaces nothing of it, not even what was pulled, and history still has it', async () => {
    await ground.serve();
    const [alice, bob] = [
      await ground.connect(await ground.add('alice')),
      await ground.connect(await ground.add('bob')),
    ];
    await bob.join(CHANNEL);
    await bob.leave(CHANNEL);
    expect((await bob.join(CHANNEL)).generation).toBe(2);
    for (const text of ['one', 'two', 'three']) await alice.post({ channel: CHANNEL, text });
    await untilHandedOff(bob, 3);
    // The first one is surfaced and the others are in hand when the leave is asked for.
    const reading = bob.read({ idleMs: 500 });
    await reading.next();
    expect(await bob.leave(CHANNEL)).toEqual({ channel: CHANNEL, left: true, dropped: 3 });
    const rest = [];
    for await (const post of reading) rest.push(textOf(post));
    expect(rest).toEqual([]);
    expect(await readAll(bob, { idleMs: 0 })).toEqual([]);
    const { items } = await bob.history(CHANNEL);
    expect(items.map(({ msg }) => (msg.parts[0] as { text: string }).text)).toEqual(['one', 'two', 'three']);
    expect((await bob.join(CHANNEL)).generation).toBe(3);
  });

  it('closes on a leave what an earlier process joined, and says so when there is nothing to close', async () => {
    await ground.serve();
    const bob = await ground.add('bob');
    const first = await ground.connect(bob);
    await first.join(CHANNEL);
    await first.close();
    const second = await ground.connect(bob);
    expect(await second.leave(CHANNEL)).toEqual({ channel: CHANNEL, left: true, dropped: 0 });
    expect(await second.memberships()).toMatchObject([{ channel: CHANNEL, state: 'left', generation: 1 }]);
    expect(await second.leave('team.never')).toMatchObject({ left: true, dropped: 0 });
  });

  it('tells a leave that no daemon answered, and closes it by itself when one comes', async () => {
    await ground.serve();
    const agent = await ground.connect(await ground.add('bob'));
    await agent.join(CHANNEL);
    await ground.unserve();
    const left = await agent.leave(CHANNEL);
    expect(left).toMatchObject({ left: false, dropped: 0 });
    expect(left.reason).toContain('no daemon answers');
    expect(agent.standings()).toMatchObject([{ state: 'leaving' }]);
    await ground.serve();
    await until(
      () => agent.standings()[0]?.state === 'left',
      () => agent.standings(),
    );
    expect(await agent.memberships()).toMatchObject([{ state: 'left' }]);
  });

  it('is not opened again by a client that learns that somebody else left with its identity', async () => {
    await ground.serve();
    const bob = await ground.add('bob');
    const resident = await ground.connect(bob);
    await resident.join(CHANNEL);
    const passing = await ground.connect(bob);
    await passing.leave(CHANNEL);
    await ground.mesh.restartBroker();
    await until(
      () => resident.standings()[0]?.state === 'left',
      () => resident.standings(),
    );
    await until(async () => (await resident.memberships())[0]?.state === 'left', 'it was opened again');
  });

  it('follows the class of its channel: live with the reason, and durable by itself again (M8)', async () => {
    await ground.serve();
    const agent = await ground.connect(await ground.add('bob'));
    await ground.setClass(CHANNEL, 'live');
    expect(await agent.join(CHANNEL)).toMatchObject({
      state: 'live',
      reason: expect.stringContaining('channel is live'),
    });
    await ground.setClass(CHANNEL, 'durable');
    await until(
      () => agent.standings()[0]?.state === 'durable',
      () => agent.standings(),
    );
    await ground.setClass(CHANNEL, 'live');
    await until(
      () => agent.standings()[0]?.state === 'live',
      () => agent.standings(),
    );
    await ground.setClass(CHANNEL, 'durable');
    await until(
      () => agent.standings()[0]?.state === 'durable',
      () => agent.standings(),
    );
    // The defaults speak for channels without a row of their own.
    await ground.setClass(DEFAULTS, 'live');
    expect(await agent.join('team.other')).toMatchObject({ state: 'live' });
  });

  it('marks history as history, and brings no second copy of it once the backstop is there (RDR-07)', async () => {
    const [alice, bob] = [await ground.add('alice'), await ground.add('bob')];
    const sender = await ground.connect(alice);
    await ground.serve();
    for (const text of ['old one', 'old two']) await sender.post({ channel: CHANNEL, text });
    // Two respawns with the same identity: each has the history again, and can see that it is history.
    for (let respawn = 0; respawn < 2; respawn++) {
      const agent = await ground.connect(bob);
      await joinDurably(agent, CHANNEL, { backfill: 10 });
      const read = await readAll(agent, { idleMs: 300 });
      expect(read.map((post) => [textOf(post), post.source, post.durable])).toEqual([
        ['old one', 'backfill', false],
        ['old two', 'backfill', false],
      ]);
      await agent.close();
    }
    await sender.post({ channel: CHANNEL, text: 'new' });
    const agent = await ground.connect(bob);
    await untilHandedOff(agent, 1);
    const read = await readAll(agent, { idleMs: 0 });
    expect(read.map((post) => [textOf(post), post.source])).toEqual([['new', 'durable']]);
  });
});
