import { NoRespondersError, nuid, RequestError, TimeoutError } from '@nats-io/nats-core';
import { describe, expect, it } from 'vitest';
import { railSubject, replyPrefix } from '../../../src/domain/subjects.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { until } from '../../support/until.ts';

const CHANNEL = 'team.general';

describe('ctl.delivery', () => {
  const suite = deliverySuite();

  it.each([
    ['an unknown operation', 'fly', {}, 'operation "fly" is not served on ctl.delivery'],
    [
      'an operation of the other rail',
      'evictPrincipals',
      { principals: ['a.b'] },
      'operation "evictPrincipals" is not served on ctl.delivery',
    ],
    ['a wildcard', 'durableJoin', { channel: 'team.*' }, 'durableJoin: channel: not a channel'],
    [
      'a missing argument',
      'durableJoin',
      {},
      'durableJoin: channel: Invalid input: expected string, received undefined',
    ],
    [
      'an argument it does not know',
      'durableJoin',
      { channel: 'a', cursor: 7 },
      'durableJoin: Unrecognized key: "cursor"',
    ],
    [
      'arguments that are no object',
      'durableJoin',
      'team',
      'durableJoin: Invalid input: expected object, received string',
    ],
    [
      'a fractional generation',
      'durableLeave',
      { channel: 'a', generation: 1.5, lifecycleUid: 'x'.repeat(26) },
      'durableLeave: generation: ',
    ],
    [
      'a negative generation',
      'durableLeave',
      { channel: 'a', generation: -1, lifecycleUid: 'x'.repeat(26) },
      'durableLeave: generation: ',
    ],
    ['a limit above 200', 'readHistory', { channel: 'a', limit: 201 }, 'readHistory: limit: '],
    ['a limit of 0', 'readHistory', { channel: 'a', limit: 0 }, 'readHistory: limit: '],
  ])('refuses %s by name', async (_, op, args, message) => {
    const bob = await suite.agent('bob');
    const reply = await bob.ask(op, args);
    expect(reply.ok).toBe(false);
    expect(reply.error?.message).toContain(message);
  });

  it('refuses a request that says it is from somebody else', async () => {
    const bob = await suite.agent('bob');
    const reply = await bob.ask('pendingCount', {}, { from: { id: 'local.alice', name: 'alice' } });
    expect(reply.error?.message).toBe('pendingCount: from.id is "local.alice", but the subject says local.bob');
  });

  it('refuses what is not JSON', async () => {
    const bob = await suite.agent('bob');
    const subject = railSubject(suite.mesh.space, 'delivery', bob.principal);
    const reply = await bob.connection.request(subject, 'nonsense', {
      timeout: 2_000,
      noMux: true,
      reply: `${replyPrefix(subject)}${nuid.next()}`,
    });
    expect(reply.json()).toMatchObject({ ok: false, error: { code: 'rail.bad-args' } });
  });

  it('drops a request whose reply subject lies outside its own subtree', async () => {
    const bob = await suite.agent('bob');
    const subject = railSubject(suite.mesh.space, 'delivery', bob.principal);
    await expect(
      bob.connection.request(subject, JSON.stringify({ op: 'pendingCount', args: {} }), { timeout: 500 }),
    ).rejects.toThrow(TimeoutError);
    const { journal } = suite.running;
    await until(
      () => journal.count('rail.dropped') > 0,
      () => suite.running.state(),
    );
    expect(journal.told).toContainEqual({ name: 'rail.dropped', facts: { rail: 'delivery', subject } });
  });

  it('fits history to the payload and says what it left out', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    for (let i = 0; i < 3; i++) await alice.post(CHANNEL, { id: String(i), text: 'x'.repeat(500_000) });
    const history = await bob.asked('readHistory', { channel: CHANNEL });
    expect(history.items.map(({ seq }) => seq)).toEqual([2, 3]);
    expect(history.complete).toBe(false);
  });

  it('gives the last posts of a channel, oldest first, at most as many as asked for', async () => {
    const [alice, carol, bob] = [await suite.agent('alice'), await suite.agent('carol'), await suite.agent('bob')];
    for (let i = 0; i < 12; i++) {
      await (i % 2 === 0 ? alice : carol).post(CHANNEL, { text: String(i) });
      await alice.post('noise', { text: 'noise' });
    }
    for (const limit of [1, 2, 5, 11, 12, 13, 200]) {
      const { items } = await bob.asked('readHistory', { channel: CHANNEL, limit });
      const said = items.map(({ msg }) => (msg.parts[0] as { text: string }).text);
      expect(said).toEqual(Array.from({ length: 12 }, (_, i) => String(i)).slice(-limit));
    }
  });

  it('answers nobody once the daemon has stopped', async () => {
    const bob = await suite.agent('bob');
    await suite.running.stop();
    const asked = bob.ask('pendingCount', {}, { timeoutMs: 1_000 });
    await expect(asked).rejects.toSatisfy(
      (error: unknown) =>
        error instanceof TimeoutError || error instanceof NoRespondersError || error instanceof RequestError,
    );
    await suite.restart();
  });

  it('answers each of many requests at once', async () => {
    const bob = await suite.agent('bob');
    const replies = await Promise.all(Array.from({ length: 200 }, () => bob.ask('pendingCount', {})));
    expect(replies.every((reply) => reply.ok)).toBe(true);
    await until(
      () => suite.running.daemon.tally.get('rails.requests', 'delivery') === 200,
      () => suite.running.state(),
    );
  });
});
