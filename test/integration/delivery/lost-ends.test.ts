/** Stores that lost their end and give sequences out again, and what comes late: nothing of it is taken for something else. */
import { jetstreamManager } from '@nats-io/jetstream';
import { describe, expect, it } from 'vitest';
import { encodeEntry, MEMBER_HEADER, WRITER_HEADER } from '../../../src/domain/entry.ts';
import { memberKey } from '../../../src/domain/names.ts';
import { entrySubject, streams } from '../../../src/domain/subjects.ts';
import { publishOne } from '../../../src/services/nats/batch.ts';
import { texts } from '../../support/delivery/agent.ts';
import { owedTo, PATIENCE, passOver } from '../../support/delivery/store.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { connectAsAnybody } from '../../support/lease-history.ts';
import { until } from '../../support/until.ts';

const CHANNEL = 'team.general';

describe('entries', () => {
  const suite = deliverySuite({ env: { COTAL_DELIVERY_LANE_REST_MS: '200' } });

  it('copies that a daemon before this one had on the way are delivered too, though they come between those of this one', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { text: 'one' });
    expect(texts(await bob.read(1))).toEqual(['one']);
    const { space } = suite.mesh;
    const connection = await suite.mesh.connect('delivery');
    const { id, from, parts } = {
      id: 'late',
      from: { id: alice.principal, name: 'alice' },
      parts: [{ kind: 'text', text: 'late' }],
    };
    const post = new TextEncoder().encode(JSON.stringify({ id, ts: Date.now(), space, from, channel: CHANNEL, parts }));
    const chat = await connection.request(`$JS.API.STREAM.INFO.${streams(space).chat}`, '{}', PATIENCE);
    const seq = chat.json<{ state: { last_seq: number } }>().state.last_seq;
    const late = await publishOne({
      connection,
      message: {
        subject: entrySubject(space, bob.member, CHANNEL),
        data: encodeEntry(post, { channel: CHANNEL, seq, reason: 'durable-channel', generation: 1 }),
        headers: { [WRITER_HEADER]: 'before', [MEMBER_HEADER]: memberKey(bob.member) },
      },
      timeoutMs: 5_000,
    });
    expect(late.kind).toBe('stored');
    await alice.post(CHANNEL, { text: 'two' });
    expect(texts(await bob.read(2)).sort()).toEqual(['late', 'two']);
  });

  it('a post comes though INBOX gives sequences out again that its reader was handed before, and that is told', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    for (const text of ['one', 'two']) await alice.post(CHANNEL, { text });
    expect(texts(await bob.read(2))).toEqual(['one', 'two']);
    await until(
      async () => (await bob.asked('pendingCount', {})).pending === 0,
      () => suite.running.state(),
    );
    await suite.running.stop();
    const connection = await connectAsAnybody({ url: suite.mesh.url, keys: suite.mesh.keys });
    const manager = await jetstreamManager(connection, { checkAPI: false });
    const { inbox } = streams(suite.mesh.space);
    const { config } = await manager.streams.info(inbox);
    await manager.streams.delete(inbox);
    await manager.streams.add(config);
    await connection.close();
    await alice.post(CHANNEL, { text: 'three' });
    await suite.restart();
    expect(texts(await bob.read(1))).toEqual(['three']);
    expect(suite.running.journal.lines()).toContainEqual(
      expect.stringMatching(/^! delivery: entries of local\.bob\.\S+ from 1 on lie below its mark/),
    );
  });
});

describe('a durable that lost its place', () => {
  const suite = deliverySuite({ env: { COTAL_DELIVERY_SURVEY_MS: '200', COTAL_DELIVERY_LANE_REST_MS: '200' } });

  it('gets the copies again that it counts as settled and that lie there, and the others stay as they are', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    for (const text of ['one', 'two']) await alice.post(CHANNEL, { text });
    const [one, two] = await bob.take(2);
    expect(await two?.message.ackAck()).toBe(true);
    const manager = await suite.mesh.connect('manager');
    if (one === undefined) throw new Error('nothing was taken');
    const { reply } = one.message as unknown as { reply: string };
    const replies = [reply];
    await passOver({ space: suite.mesh.space, member: bob.member, manager, agent: bob.connection, replies });
    await alice.post(CHANNEL, { text: 'three' });
    const read = [...(await bob.read(1, 20_000)), ...(await bob.read(1, 20_000))];
    expect(texts(read).sort()).toEqual(['one', 'three']);
    await until(
      () => suite.running.journal.count('copies.passed-over') === 1,
      () => suite.running.state(),
    );
    await until(
      async () => (await bob.asked('pendingCount', {})).pending === 0,
      () => suite.running.state(),
    );
    const delivery = await suite.mesh.connect('delivery');
    expect(await owedTo(suite.mesh, delivery, bob.member)).toEqual({ entries: 0, copies: 0 });
  });
});
