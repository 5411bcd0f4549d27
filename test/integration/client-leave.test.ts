import { describe, expect, it } from 'vitest';
import { groundOfEachTest, joinDurably, readAll, textOf } from '../support/agents.ts';

const ground = groundOfEachTest();
const CHANNEL = 'team.general';

describe('a leave', () => {
  it('surfaces nothing after a leave of what still waited for its copy', async () => {
    await ground.serve();
    const alice = await ground.connect(await ground.add('alice'));
    const bob = await ground.connect(await ground.add('bob'), { preferDurableMs: 50 });
    await joinDurably(bob, CHANNEL);
    await joinDurably(bob, 'team.other');
    // Without a daemon no copy comes, and what is durable stays so.
    await ground.unserve();
    await alice.post({ channel: CHANNEL, text: 'left' });
    // Bob's connection has it before it has the answer to this.
    await bob.post({ channel: CHANNEL, text: 'own' });
    expect(await bob.leave(CHANNEL)).toMatchObject({ left: false });
    await alice.post({ channel: 'team.other', text: 'after' });
    expect((await readAll(bob, { limit: 1, idleMs: 60_000 })).map(textOf)).toEqual(['after']);
  });

  it('surfaces nothing after a leave of the history that was still on its way', async () => {
    await ground.serve();
    const alice = await ground.connect(await ground.add('alice'));
    for (const text of ['old one', 'old two']) await alice.post({ channel: CHANNEL, text });
    const joined = Promise.withResolvers<void>();
    const bob = await ground.connect(await ground.add('bob'), {
      onStanding: () => joined.resolve(),
    });
    const joining = bob.join(CHANNEL, { backfill: 10 });
    await joined.promise;
    // The history is asked for now; no answer can be here yet.
    await Promise.all([joining, bob.leave(CHANNEL)]);
    expect((await readAll(bob, { idleMs: 0 })).map(textOf)).toEqual([]);
  });
});
