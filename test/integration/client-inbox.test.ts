import { jetstreamManager } from '@nats-io/jetstream';
import { headers } from '@nats-io/nats-core';
import { describe, expect, it } from 'vitest';
import { COPY_ENTRY_HEADER, COPY_FRAME_HEADER, encodeCopy } from '../../src/domain/copy.ts';
import { MEMBER_HEADER } from '../../src/domain/entry.ts';
import { memberKey } from '../../src/domain/names.ts';
import { copySubject, deliveryConsumer, streams } from '../../src/domain/subjects.ts';
import type { AddedAgent } from '../../src/manager/lifecycle.ts';
import { freezeBroker, groundOfEachTest, joinDurably, readAll, textOf, untilHandedOff } from '../support/agents.ts';
import { TestJournal } from '../support/delivery/daemon.ts';
import { until } from '../support/until.ts';

const ground = groundOfEachTest();

/** Bob joined and went away; Alice posted so many. */
async function owed(texts: readonly string[]) {
  await ground.serve();
  const [alice, bob] = [await ground.add('alice'), await ground.add('bob')];
  const away = await ground.connect(bob);
  await joinDurably(away, 'team.general');
  await away.close();
  const sender = await ground.connect(alice);
  for (const text of texts) await sender.post({ channel: 'team.general', text });
  const back = await ground.connect(bob);
  await untilHandedOff(back, texts.length);
  return { bob, sender, back };
}

async function consumerOf(added: AddedAgent) {
  const manager = await jetstreamManager(await ground.mesh.connect('manager'), { checkAPI: false });
  return manager.consumers.info(streams('main').dlv, deliveryConsumer(added.member));
}

describe('the inbox', () => {
  it('surfaces to a member that was away what was posted meanwhile, once, until it is confirmed', async () => {
    const { back } = await owed(['one', 'two']);
    const read = await readAll(back);
    expect(read.map(textOf)).toEqual(['one', 'two']);
    expect(read[0]).toMatchObject({ durable: true, channel: 'team.general', redelivered: false, source: 'durable' });
    expect(read[0]?.seq).toBeGreaterThan(0);
    expect(await readAll(back, { idleMs: 0 })).toEqual([]);
    await until(async () => (await back.pendingCount()).pending === 0, 'it is owed still');
  });

  it('surfaces what was not confirmed again, at once, to whoever reads next (RDR-11)', async () => {
    const { bob, back } = await owed(['one', 'two']);
    for await (const post of back.read({ idleMs: 500 })) expect(textOf(post)).toMatch(/one|two/);
    const again = await readAll(await ground.connect(bob), { idleMs: 500 });
    expect(again.map(textOf).sort()).toEqual(['one', 'two']);
    expect(again.every(({ redelivered }) => redelivered)).toBe(true);
  });

  it('pulls exactly what is wanted: the rest is never taken, and the next reader has it at once', async () => {
    const { bob, back } = await owed(['one', 'two', 'three', 'four', 'five']);
    const [first, second] = await readAll(back, { limit: 2 });
    expect([first, second].map((post) => post && textOf(post))).toEqual(['one', 'two']);
    const { delivered, num_ack_pending } = await consumerOf(bob);
    expect([delivered.consumer_seq, num_ack_pending]).toEqual([2, 0]);
    const rest = await readAll(await ground.connect(bob), { idleMs: 0 });
    expect(rest.map(textOf)).toEqual(['three', 'four', 'five']);
    expect(rest.every(({ redelivered }) => !redelivered)).toBe(true);
  });

  it('gives back what it pulled when the loop is left by a break, by an error and by an abort', async () => {
    const { bob, back } = await owed(['one', 'two', 'three']);
    for await (const _post of back.read({ idleMs: 500 })) break;
    await expect(
      (async () => {
        for await (const _post of back.read({ idleMs: 500 })) throw new Error('the agent broke');
      })(),
    ).rejects.toThrow('the agent broke');
    const abort = new AbortController();
    for await (const _post of back.read({ follow: true, signal: abort.signal })) abort.abort();
    const read = await readAll(await ground.connect(bob), { idleMs: 0 });
    expect(read.map(textOf).sort()).toEqual(['one', 'three', 'two']);
  });

  it('terminates and counts what is no copy for this member, and never surfaces it', async () => {
    const { bob, back } = await owed(['genuine']);
    const journal = new TestJournal();
    const victim = await ground.connect(bob, { journal });
    const forger = await ground.mesh.connect('delivery');
    const message = {
      id: 'f',
      ts: 1,
      space: 'main',
      from: { id: 'local.mallory', name: 'm' },
      channel: 'team.general',
      parts: [],
    };
    const subject = copySubject('main', bob.member, 'team.general');
    const frame = (fields: Record<string, string>) => {
      const head = headers();
      for (const [name, value] of Object.entries(fields)) head.set(name, value);
      return { headers: head };
    };
    const whole = { [COPY_FRAME_HEADER]: '1', [COPY_ENTRY_HEADER]: '9', [MEMBER_HEADER]: memberKey(bob.member) };
    const post = new TextEncoder().encode(JSON.stringify(message));
    const copy = encodeCopy(post, { channel: 'team.general', seq: 9, generation: 1 });
    // No frame, as an API reply has none; another member's; no JSON; JSON of another shape.
    forger.publish(subject, copy);
    forger.publish(subject, copy, frame({ ...whole, [MEMBER_HEADER]: `local.mallory.${'a'.repeat(26)}` }));
    forger.publish(subject, '{"type":"io.nats.jetstream.api', frame(whole));
    forger.publish(subject, '{"type":"io.nats.jetstream.api.v1.stream_info_response"}', frame(whole));
    await forger.flush();
    await until(async () => (await consumerOf(bob)).num_pending === 5, 'the forged ones are not stored');
    const read = await readAll(victim, { idleMs: 0 });
    expect(read.map(textOf)).toEqual(['genuine']);
    expect(victim.tally.all()).toMatchObject({
      'client.foreign-copies{no-writer}': 1,
      'client.foreign-copies{foreign-member}': 1,
      'client.foreign-copies{not-json}': 1,
      'client.foreign-copies{not-a-copy}': 1,
    });
    expect(journal.count('client.foreign-copy')).toBe(4);
    expect(await readAll(back, { idleMs: 0 })).toEqual([]);
  });

  it('says that a confirmation was not answered, and settles it silently when the copy comes again', async () => {
    const { bob } = await owed(['one']);
    const agent = await ground.connect(bob, { timeoutMs: 2_000 });
    const reading = agent.read({ follow: true });
    const surfaced = (await reading.next()).value ?? undefined;
    await freezeBroker(ground.mesh);
    const outcome = await surfaced?.confirm();
    ground.mesh.thaw();
    expect(outcome).toMatchObject({ kind: 'unanswered' });
    await reading.return();
    expect(await readAll(agent, { idleMs: 500 })).toEqual([]);
    await until(async () => (await agent.pendingCount()).pending === 0, 'it is owed still');
  });

  it('goes on after a broker restart, without a reconnect of its own', async () => {
    const { sender, back } = await owed(['before']);
    const seen: unknown[] = [];
    const abort = new AbortController();
    const reading = (async () => {
      for await (const post of back.read({ follow: true, signal: abort.signal })) {
        await post.confirm();
        seen.push(textOf(post));
      }
    })();
    await until(
      () => seen.includes('before'),
      () => seen,
    );
    await ground.mesh.restartBroker();
    await until(async () => {
      const { seq } = await sender.post({ channel: 'team.general', text: 'after', id: 'after' });
      return (seq ?? 0) > 0;
    }, 'the sender is not back');
    await until(
      () => seen.includes('after'),
      () => seen,
    );
    abort.abort();
    await reading;
    expect(seen).toEqual(['before', 'after']);
  });

  it('is read by one loop at a time, and ends with the reason when the client is closed under it', async () => {
    const { back } = await owed([]);
    const reading = back.read({ follow: true });
    const next = reading.next();
    await expect(back.read().next()).rejects.toMatchObject({ code: 'client.reading' });
    await back.close();
    expect(await next).toMatchObject({ done: true });
    await expect(back.read().next()).rejects.toMatchObject({ code: 'client.closed' });
  });

  it('is closed by whoever has a post in hand, in the loop and beside it; what was pulled is there for the next one', async () => {
    const { bob, back } = await owed(['one', 'two', 'three']);
    const seen: unknown[] = [];
    for await (const post of back.read({ follow: true })) {
      seen.push(textOf(post));
      await back.close();
    }
    expect(seen).toEqual(['one']);
    const beside = await ground.connect(bob);
    const reading = beside.read({ follow: true });
    expect((await reading.next()).done).toBe(false);
    await beside.close();
    await expect(beside.read().next()).rejects.toMatchObject({ code: 'client.closed' });
    expect(await reading.next()).toMatchObject({ done: true });
    const rest = await readAll(await ground.connect(bob), { idleMs: 0 });
    expect(rest.map(textOf).sort()).toEqual(['one', 'three', 'two']);
  });

  it('waits on its close for the confirmation of what is in hand, and for its answer', async () => {
    const { bob, back } = await owed(['one', 'two']);
    const reading = back.read({ follow: true });
    const first = (await reading.next()).value ?? undefined;
    const confirming = first?.confirm();
    await back.close();
    expect(await confirming).toEqual({ kind: 'confirmed' });
    expect((await readAll(await ground.connect(bob), { idleMs: 0 })).map(textOf)).toEqual(['two']);
  });

  it('is refused where the durable is gone; it is never made by the agent', async () => {
    const { bob, back } = await owed([]);
    const manager = await jetstreamManager(await ground.mesh.connect('manager'), { checkAPI: false });
    const refused = expect(back.read({ follow: true }).next()).rejects.toMatchObject({ code: 'client.no-durable' });
    await until(async () => (await consumerOf(bob)).num_waiting > 0, 'nobody pulls');
    await manager.consumers.delete(streams('main').dlv, deliveryConsumer(bob.member));
    await refused;
    await expect(ground.connect(bob)).rejects.toMatchObject({ code: 'client.no-durable' });
  });
});
