import { describe, expect, it } from 'vitest';
import type { Agent, Left } from '../../src/client/client.ts';
import { railSubjects } from '../../src/domain/subjects.ts';
import { groundOfEachTest, joinDurably } from '../support/agents.ts';
import { until } from '../support/until.ts';

const ground = groundOfEachTest();
const CHANNEL = 'team.general';
const CLOSED = { code: 'client.closed' };

describe('a client that is closed', () => {
  it('refuses every call, of what it knows and of what it does not, and begins nothing', async () => {
    await ground.serve();
    const agent = await ground.connect(await ground.add('bob'));
    await joinDurably(agent, CHANNEL);
    await agent.close();
    for (const channel of [CHANNEL, 'team.new']) {
      await expect(agent.join(channel)).rejects.toMatchObject(CLOSED);
      await expect(agent.leave(channel)).rejects.toMatchObject(CLOSED);
      await expect(agent.history(channel)).rejects.toMatchObject(CLOSED);
      await expect(agent.post({ channel, text: 'late' })).rejects.toMatchObject(CLOSED);
    }
    await expect(agent.memberships()).rejects.toMatchObject(CLOSED);
    await expect(agent.pendingCount()).rejects.toMatchObject(CLOSED);
    expect(agent.standings().map(({ channel }) => channel)).toEqual([CHANNEL]);
  });

  it('ends what it was asked and has no answer to', async () => {
    // It hears every question, and answers none.
    const mute = await ground.mesh.connect('delivery');
    let heard = 0;
    mute.subscribe(railSubjects('main', 'delivery'), { callback: () => void heard++ });
    await mute.flush();
    const agent = await ground.connect(await ground.add('bob'), { timeoutMs: 60_000 });
    const calls = [
      agent.memberships(),
      agent.pendingCount(),
      agent.history(CHANNEL),
      agent.join(CHANNEL),
      agent.leave('team.other'),
    ];
    const ended = Promise.allSettled(calls);
    await until(
      () => heard >= calls.length,
      () => heard,
    );
    await agent.close();
    expect(await ended).toMatchObject(calls.map(() => ({ status: 'rejected', reason: CLOSED })));
  });
});

describe('a leave', () => {
  it('is answered by the daemon also where it is asked for while a standing is being told', async () => {
    await ground.serve();
    const leaving = Promise.withResolvers<Left>();
    const agent: Agent = await ground.connect(await ground.add('bob'), {
      onStanding: ({ state }) => {
        if (state === 'durable') leaving.resolve(agent.leave(CHANNEL));
      },
    });
    await agent.join(CHANNEL);
    expect(await leaving.promise).toEqual({ channel: CHANNEL, left: true, dropped: 0 });
  });
});
