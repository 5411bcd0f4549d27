import { describe, expect, it } from 'vitest';
import { type Agent, connectAgent } from '../../src/client/client.ts';
import { readJson } from '../../src/domain/message.ts';
import { buckets } from '../../src/domain/subjects.ts';
import { credsText } from '../../src/services/credential.ts';
import { readRow } from '../../src/services/nats/rows.ts';
import {
  connectAsAccount,
  freezeBroker,
  groundOfEachTest,
  readAll,
  textOf,
  untilHandedOff,
} from '../support/agents.ts';
import { startMesh } from '../support/mesh.ts';
import { until } from '../support/until.ts';

const ground = groundOfEachTest();
const CHANNEL = 'team.general';

describe('posting', () => {
  it('answers with how far the post is taken care of: durable, queued, live (FAN-08)', async () => {
    const alice = await ground.connect(await ground.add('alice'));
    expect((await alice.post({ channel: CHANNEL, text: 'no daemon' })).delivery).toBe('queued');
    await ground.serve();
    expect((await alice.post({ channel: CHANNEL, text: 'daemon' })).delivery).toBe('durable');
    await ground.setClass('team.live', 'live');
    expect((await alice.post({ channel: 'team.live', text: 'live' })).delivery).toBe('live');
    // Too large for an entry with its envelope, and still a post: only who is subscribed gets it.
    const large = 'x'.repeat(1_048_576 - 1_500);
    expect((await alice.post({ channel: CHANNEL, text: large })).delivery).toBe('live');
  });

  it('recognizes a post that is sent again with the same id, and never two without an id', async () => {
    const alice = await ground.connect(await ground.add('alice'));
    const first = await alice.post({ channel: CHANNEL, text: 'one', id: 'same' });
    const again = await alice.post({ channel: CHANNEL, text: 'one', id: 'same' });
    expect([first.duplicate, again]).toEqual([false, { ...first, duplicate: true }]);
    const elsewhere = await alice.post({ channel: 'team.other', text: 'one', id: 'same' });
    expect(elsewhere.duplicate).toBe(false);
    const [a, b] = [
      await alice.post({ channel: CHANNEL, text: 'a', id: '' }),
      await alice.post({ channel: CHANNEL, text: 'b', id: '' }),
    ];
    expect([a.duplicate, b.duplicate, (b.seq ?? 0) - (a.seq ?? 0)]).toEqual([false, false, 1]);
  });

  it('is refused clearly where the broker denies it, and nothing is stored', async () => {
    const alice = await ground.connect(await ground.add('alice', { post: ['team.general'] }));
    await expect(alice.post({ channel: 'team.other', text: 'x' })).rejects.toMatchObject({
      code: 'post.denied',
      facts: { channel: 'team.other', subject: 'cotal.main.chat.local.alice.team.other' },
    });
    expect((await alice.post({ channel: CHANNEL, text: 'x' })).seq).toBe(1);
  });

  it('refuses what is not a post before anything is sent', async () => {
    const alice = await ground.connect(await ground.add('alice'));
    await expect(alice.post({ channel: 'team.*', text: 'x' })).rejects.toMatchObject({ code: 'name.channel.wildcard' });
    await expect(alice.post({ channel: CHANNEL })).rejects.toMatchObject({ code: 'post.malformed' });
    const parts = [{ kind: 'artifact', name: 'a', mediaType: 'b', digest: 'md5:1', size: 1 }] as never;
    await expect(alice.post({ channel: CHANNEL, parts })).rejects.toMatchObject({ code: 'post.malformed' });
    await expect(alice.post({ channel: CHANNEL, text: 'x'.repeat(1_100_000) })).rejects.toMatchObject({
      code: 'post.refused',
    });
  });

  it('says that nobody knows where the broker did not answer, and is safe to repeat with the same id', async () => {
    const alice = await ground.connect(await ground.add('alice'), { timeoutMs: 2_000 });
    await freezeBroker(ground.mesh);
    const lost = alice.post({ channel: CHANNEL, text: 'x', id: 'x' });
    await expect(lost).rejects.toMatchObject({ code: 'post.unanswered' });
    ground.mesh.thaw();
    expect(await alice.post({ channel: CHANNEL, text: 'x', id: 'x' })).toMatchObject({ seq: 1, duplicate: true });
  });

  it('surfaces a mention on a live channel to the one who is away, and not twice', async () => {
    await ground.setClass('team.live', 'live');
    const [alice, bob] = [await ground.connect(await ground.add('alice')), await ground.add('Bob')];
    // A daemon that starts has read every row; one that runs may meet the post before the rows.
    await ground.serve();
    await alice.post({ channel: 'team.live', text: 'hello', mentions: [' BOB ', 'bob'] });
    const back = await ground.connect(bob);
    await untilHandedOff(back, 1);
    const read = await readAll(back, { idleMs: 0 });
    expect(read.map(textOf)).toEqual(['hello']);
    expect(read[0]?.message.mentions).toEqual(['bob']);
  });

  it('does not surface an agent its own posts', async () => {
    await ground.serve();
    const alice = await ground.connect(await ground.add('alice'));
    await alice.join(CHANNEL);
    await alice.post({ channel: CHANNEL, text: 'mine' });
    expect(await readAll(alice, { idleMs: 300 })).toEqual([]);
  });
});

describe('the rail', () => {
  it('keeps silence and refusal apart', async () => {
    const agent = await ground.connect(await ground.add('bob', { read: ['team.general'] }));
    await expect(agent.pendingCount()).rejects.toMatchObject({ code: 'rail.silent' });
    await expect(agent.history(CHANNEL)).rejects.toMatchObject({ code: 'rail.silent' });
    await ground.serve();
    await expect(agent.history('secret')).rejects.toMatchObject({
      code: 'rail.refused',
      facts: { code: 'rail.not-readable' },
    });
    await expect(agent.history(CHANNEL, { limit: 0 })).rejects.toMatchObject({ facts: { code: 'rail.bad-args' } });
    expect(await agent.pendingCount()).toEqual({ pending: 0, handedOff: 0, oldestAgeMs: null, givenUp: 0 });
  });
});

describe('connecting', () => {
  it('says who it is by its credential alone, and refuses one that is no agent’s', async () => {
    const bob = await ground.add('bob');
    const agent = await ground.connect(bob);
    expect([agent.space, agent.principal, agent.member]).toEqual(['main', 'local.bob', bob.member]);
    const manager = credsText(await ground.mesh.credsFor('manager'));
    await expect(connectAgent({ url: ground.mesh.url, creds: manager })).rejects.toMatchObject({
      code: 'client.credential',
    });
    await expect(connectAgent({ url: ground.mesh.url, creds: 'nonsense' })).rejects.toMatchObject({
      code: 'credential.unreadable',
    });
  });

  it('names the broker that is not there', async () => {
    const bob = await ground.add('bob');
    await ground.mesh.stopBroker();
    await expect(ground.connect(bob)).rejects.toMatchObject({
      code: 'broker.unreachable',
      facts: { url: ground.mesh.url },
    });
    await ground.mesh.startBroker();
  });

  it('says that it is here, and what it does, as long as it is', async () => {
    const bob = await ground.add('bob');
    const agent = await ground.connect(bob, { presence: { kind: 'agent' } });
    const looking = await connectAsAccount(ground.mesh);
    const row = async () => {
      const read = await readRow({ connection: looking, bucket: buckets('main').presence, key: 'local.bob' });
      return read.kind === 'found' ? readJson(read.data) : read.kind;
    };
    const card = { id: 'local.bob', name: 'bob', kind: 'agent' };
    await until(async () => {
      expect(await row()).toMatchObject({ card, status: 'available', lifecycleUid: bob.member.uid });
      return true;
    }, row);
    agent.setStatus('busy');
    await until(async () => ((await row()) as { status?: unknown }).status === 'busy', row);
    await agent.close();
    await until(async () => (await row()) === 'absent', row);
  });
});

describe('an open mesh', () => {
  it('is live only: joins say so, posts reach who is subscribed and are stored nowhere', async () => {
    const mesh = await startMesh({ open: true, space: 'dev' });
    const agents: Agent[] = [];
    const connectOpen = async (name: string) => {
      const agent = await connectAgent({ url: mesh.url, open: { space: 'dev', name } });
      agents.push(agent);
      return agent;
    };
    try {
      const [ann, ben] = [await connectOpen('ann'), await connectOpen('ben')];
      expect(await ben.join(CHANNEL)).toMatchObject({ state: 'live', reason: expect.stringContaining('live-only') });
      expect(await ann.post({ channel: CHANNEL, text: 'hi' })).toMatchObject({ seq: null, delivery: 'live' });
      expect((await readAll(ben, { limit: 1, idleMs: 5_000 })).map(textOf)).toEqual(['hi']);
      expect(await readAll(ben, { idleMs: 0 })).toEqual([]);
      expect(await ben.leave(CHANNEL)).toMatchObject({ left: true });
      await expect(ben.pendingCount()).rejects.toMatchObject({ code: 'rail.silent' });
    } finally {
      await Promise.all(agents.map((agent) => agent.close()));
      await mesh.dispose();
    }
  });
});
