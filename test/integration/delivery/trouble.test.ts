import { describe, expect, it } from 'vitest';
import { memberKey } from '../../../src/domain/names.ts';
import { buckets, keySubject, streams } from '../../../src/domain/subjects.ts';
import { GatedBroker } from '../../../src/services/nats/gated-broker.ts';
import { texts } from '../../support/delivery/agent.ts';
import { addRows, hasMark, owedTo, PATIENCE, retire } from '../../support/delivery/store.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { managerOf } from '../../support/manager/ask.ts';
import { until } from '../../support/until.ts';

const CHANNEL = 'team.general';

describe('trouble in the store and with members', () => {
  const suite = deliverySuite({
    env: {
      COTAL_DELIVERY_GIVE_UP_SPACING_MS: '20',
      COTAL_DELIVERY_BACK_OFF_LIMIT_MS: '200',
      COTAL_DELIVERY_LANE_REST_MS: '200',
    },
  });

  /** Answers requests of the JetStream API on this subject with a refusal, as many times as told. */
  function refuse(subject: string, times: number): { met(): number; end(): number } {
    const { api } = GatedBroker.prototype;
    let left = times;
    GatedBroker.prototype.api = function (asked, body, schema) {
      if (asked.startsWith(subject) && left > 0) {
        left--;
        return Promise.resolve({ kind: 'refused', code: '10999', message: 'refused by the test' }) as never;
      }
      return api.call(this, asked, body, schema) as never;
    };
    return {
      met: () => times - left,
      end: () => {
        GatedBroker.prototype.api = api;
        return times - left;
      },
    };
  }

  it('at most a window of copies is with a member; the rest follows as it confirms', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    for (let i = 0; i < 6; i++)
      await Promise.all(Array.from({ length: 50 }, (_, k) => alice.post(CHANNEL, { text: `${i * 50 + k}` })));
    const delivery = await suite.mesh.connect('delivery');
    await until(
      async () => (await owedTo(suite.mesh, delivery, bob.member)).entries === 300,
      () => suite.running.state(),
    );
    await until(
      async () => (await owedTo(suite.mesh, delivery, bob.member)).copies === 256,
      () => suite.running.state(),
    );
    const read = [...(await bob.read(256)), ...(await bob.read(44))];
    expect(new Set(texts(read)).size).toBe(300);
    await until(
      async () => (await owedTo(suite.mesh, delivery, bob.member)).entries === 0,
      () => suite.running.state(),
    );
  });

  it('a member that terminates a copy has settled it', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { text: 'one' });
    const [taken] = await bob.take(1);
    taken?.message.term('not for me');
    await until(
      async () => (await bob.asked('pendingCount', {})).pending === 0,
      () => suite.running.state(),
    );
    // What is owed is read from the stores; that it was terminated the broker says apart.
    await until(
      () => suite.running.journal.count('copies.terminated') === 1,
      () => suite.running.state(),
    );
    expect(suite.running.daemon.tally.get('copies.settled', 'terminated')).toBe(1);
  });

  it('a removal that is refused is tried again, and given up after ten times; the entry is kept and met by the next start', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { text: 'one' });
    const refused = refuse(`STREAM.MSG.DELETE.${streams(suite.mesh.space).inbox}`, 1_000);
    await bob.read(1);
    await until(
      () => suite.running.journal.count('lane.removal-given-up') === 1,
      () => suite.running.state(),
    );
    expect(refused.end()).toBe(11);
    const delivery = await suite.mesh.connect('delivery');
    expect((await owedTo(suite.mesh, delivery, bob.member)).entries).toBe(1);
    await suite.restart();
    await until(
      async () => (await owedTo(suite.mesh, delivery, bob.member)).entries === 0,
      () => suite.running.state(),
    );
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
  });

  it('whoever asks about a retired lifecycle whose removal is refused is refused by name when it is given up, and answered when it is made (K4)', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { text: 'one' });
    await until(
      async () => (await bob.asked('pendingCount', {})).handedOff === 1,
      () => suite.running.state(),
    );
    const { member, principal } = bob;
    const { ask } = await managerOf(suite.mesh);
    const refusing = refuse(`STREAM.PURGE.${streams(suite.mesh.space).dlv}`, 1_000);
    await retire(suite.mesh, member);
    const args = { principal, lifecycleUid: member.uid };
    expect(await ask('reauthorize', args)).toMatchObject({
      kind: 'refused',
      code: 'rail.not-removed',
      message: expect.stringContaining(memberKey(member)),
    });
    refusing.end();
    expect(await ask('reauthorize', args)).toMatchObject({ kind: 'answered', data: { removed: 1 } });
  });

  it('a retired lifecycle whose removal is refused is retried, and a stop in between decides nothing', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { text: 'one' });
    await until(
      async () => (await bob.asked('pendingCount', {})).handedOff === 1,
      () => suite.running.state(),
    );
    const refusing = refuse(`STREAM.PURGE.${streams(suite.mesh.space).dlv}`, 1_000);
    await retire(suite.mesh, bob.member);
    const delivery = await suite.mesh.connect('delivery');
    await until(
      () => refusing.met() > 1,
      () => suite.running.state(),
    );
    await suite.running.stop();
    expect((await owedTo(suite.mesh, delivery, bob.member)).entries).toBe(1);
    expect(suite.running.journal.count('lane.removal-given-up')).toBeLessThanOrEqual(1);
    refusing.end();
    await suite.restart();
    await until(
      async () => {
        const { entries, copies } = await owedTo(suite.mesh, delivery, bob.member);
        return entries === 0 && copies === 0;
      },
      () => suite.running.state(),
    );
  });

  it('a post that does not fit with its envelope ends in one named refusal with its size, and the next one comes', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { id: 'big', text: 'x'.repeat(1_048_576 - 300) });
    await alice.post(CHANNEL, { text: 'small' });
    expect(texts(await bob.read(1))).toEqual(['small']);
    const [line, ...others] = suite.running.journal.lines().filter((each) => each.includes('max_payload'));
    expect(others).toEqual([]);
    expect(line).toMatch(
      /^! delivery: post 1 on team\.general is \d+ bytes with its envelope, more than max_payload 1048576; it is not copied$/,
    );
  });

  it('ten small posts come through beside one that is as large as may be (RDR-15)', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { id: 'large', text: 'x'.repeat(1_048_576 - 2_000) });
    for (let i = 0; i < 10; i++) await alice.post(CHANNEL, { text: String(i) });
    const read = await bob.read(11, 10_000);
    expect(read.map(({ id, text }) => (id === 'large' ? 'large' : text))).toEqual([
      'large',
      ...Array.from({ length: 10 }, (_, i) => String(i)),
    ]);
  });

  it('poison is dropped, told of once for each kind, and holds nobody up', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    const subject = `cotal.${suite.mesh.space}.chat.${alice.principal}.${CHANNEL}`;
    const body = {
      id: 'x',
      ts: 1,
      space: suite.mesh.space,
      from: { id: alice.principal, name: 'alice' },
      channel: CHANNEL,
      parts: [],
    };
    const poison = [
      'nonsense',
      'nonsense again',
      '{}',
      JSON.stringify({ ...body, id: 7 }),
      JSON.stringify({ ...body, from: { id: 'local.bob', name: 'bob' } }),
      JSON.stringify({ ...body, channel: 'other' }),
      JSON.stringify({ ...body, space: 'other' }),
      `${'['.repeat(50_000)}${']'.repeat(50_000)}`,
    ];
    for (const data of poison) await alice.connection.request(subject, data, PATIENCE);
    await alice.post(CHANNEL, { text: 'fine' });
    expect(texts(await bob.read(1))).toEqual(['fine']);
    const { tally } = suite.running.daemon;
    expect(Object.fromEntries(Object.entries(tally.all()).filter(([name]) => name.startsWith('posts.poison')))).toEqual(
      {
        'posts.poison{foreign-channel}': 1,
        'posts.poison{foreign-sender}': 1,
        'posts.poison{foreign-space}': 1,
        'posts.poison{not-a-message}': 3,
        'posts.poison{not-json}': 2,
      },
    );
    expect(suite.running.journal.count('post.poison')).toBe(5);
  });

  it('after a broker restart everything goes on by itself, twice, and changed rows are honoured (RDR-09, REG-08, WDG-05)', async () => {
    const [alice, bob, carol] = [await suite.agent('alice'), await suite.agent('bob'), await suite.agent('carol')];
    await bob.join(CHANNEL);
    for (const text of ['one', 'two']) {
      await suite.mesh.restartBroker();
      await until(
        () => suite.running.daemon.actor.getSnapshot().hasTag('serving'),
        () => suite.running.state(),
        20_000,
      );
      await until(async () => (await alice.post(CHANNEL, { id: text, text })) > 0, 'a post', 20_000);
      await until(async () => bob.connection.flush().then(() => true), 'the agent is back');
      expect(texts(await bob.read(1, 10_000))).toEqual([text]);
      // Whoever is restarted between a confirmation and the mark of the hand-off may hand off again.
      await until(
        async () => (await bob.asked('pendingCount', {})).pending === 0,
        () => suite.running.state(),
      );
    }
    await carol.join(CHANNEL);
    await alice.post(CHANNEL, { text: 'three' });
    expect(texts(await carol.read(1, 10_000))).toEqual(['three']);
    await retire(suite.mesh, bob.member);
    const delivery = await suite.mesh.connect('delivery');
    await until(
      async () => (await owedTo(suite.mesh, delivery, bob.member)).entries === 0,
      () => suite.running.state(),
    );
  });

  it('a broker restart between hand-off and confirmation loses nothing and doubles nothing', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { text: 'one' });
    await until(
      async () => (await bob.asked('pendingCount', {})).handedOff === 1,
      () => suite.running.state(),
    );
    // Without its mark a copy that is confirmed before the daemon is back would be handed off again.
    const manager = await suite.mesh.connect('manager');
    await until(
      () => hasMark(suite.mesh, manager, bob.member),
      () => suite.running.state(),
    );
    await suite.mesh.restartBroker();
    await until(async () => bob.connection.flush().then(() => true), 'the agent is back');
    expect(texts(await bob.read(1, 10_000))).toEqual(['one']);
    await until(
      async () => (await bob.asked('pendingCount', {}).catch(() => undefined))?.pending === 0,
      () => suite.running.state(),
      20_000,
    );
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
  });

  it('many members and many rows: a late-listed owner is never taken for one without a row (REG-06)', async () => {
    const alice = await suite.agent('alice');
    await addRows(suite.mesh, { channel: 'crowd', count: 1_500, acl: true });
    const bob = await suite.agent('bob');
    await bob.join(CHANNEL);
    const noise = await suite.mesh.connect('manager');
    await suite.running.stop();
    await alice.post(CHANNEL, { text: 'one' });
    // It is the start that meets the noise: a stop that is held up by it would leave the lease.
    let writing = true;
    const writer = (async () => {
      for (let i = 0; writing; i++) {
        noise.publish(
          keySubject(buckets(suite.mesh.space).acl, `rows.noise.${String(i % 10).padStart(26, 'a')}`),
          '{}',
        );
        if (i % 50 === 0) await noise.flush();
      }
    })();
    try {
      await suite.restart();
      expect(texts(await bob.read(1, 15_000))).toEqual(['one']);
      expect(suite.running.daemon.tally.get('lanes.given-up')).toBe(0);
    } finally {
      writing = false;
      await writer;
    }
  });
});
