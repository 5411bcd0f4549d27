/** What the bounds of the store keep from a member, and how that is told: its quota, and the history that retention takes. */
import { describe, expect, it } from 'vitest';
import { streams } from '../../../src/domain/subjects.ts';
import { GatedBroker } from '../../../src/services/nats/gated-broker.ts';
import { askRail } from '../../../src/services/nats/rail-client.ts';
import { texts } from '../../support/delivery/agent.ts';
import { countIn, membershipOf } from '../../support/delivery/store.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { until } from '../../support/until.ts';

const CHANNEL = 'team.general';

describe('a member at its quota', () => {
  const suite = deliverySuite({ daemonQuota: 3 });

  it('gets no further copies, which is told in its row and by join and pending, and gets them again when there is room', async () => {
    const [alice, bob, carol] = [await suite.agent('alice'), await suite.agent('bob'), await suite.agent('carol')];
    await bob.join(CHANNEL);
    await carol.join(CHANNEL);
    const seqs: number[] = [];
    for (let i = 1; i <= 3; i++) seqs.push(await alice.post(CHANNEL, { text: String(i) }));
    expect(texts(await carol.read(3))).toEqual(['1', '2', '3']);
    await until(
      async () => (await carol.asked('pendingCount', {})).pending === 0,
      () => suite.running.state(),
    );
    for (let i = 4; i <= 5; i++) seqs.push(await alice.post(CHANNEL, { text: String(i) }));
    expect(texts(await carol.read(2))).toEqual(['4', '5']);
    const delivery = await suite.mesh.connect('delivery');
    await until(
      async () => (await membershipOf(suite.mesh, delivery, CHANNEL, bob.member))?.shortfall !== undefined,
      () => suite.running.state(),
    );
    const shortfall = { count: 2, firstSeq: seqs[3], lastSeq: seqs[4] };
    await until(
      async () => ((await bob.asked('pendingCount', {})).shortfall?.count ?? 0) === 2,
      () => suite.running.state(),
    );
    expect((await bob.asked('pendingCount', {})).shortfall).toMatchObject(shortfall);
    expect(await bob.join(CHANNEL)).toMatchObject({ durable: true, shortfall });
    expect(texts(await bob.read(3))).toEqual(['1', '2', '3']);
    await until(
      async () => (await bob.asked('pendingCount', {})).pending === 0,
      () => suite.running.state(),
    );
    await alice.post(CHANNEL, { text: '6' });
    expect(texts(await bob.read(1))).toEqual(['6']);
    expect(await countIn(delivery, streams(suite.mesh.space).inbox)).toBeLessThanOrEqual(2);
  });
});

describe('retention takes posts while no daemon copies', () => {
  const suite = deliverySuite({ history: 5 });

  it('that is told with its range, kept over restarts, and added to; what is left surfaces (F7)', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    const manager = await suite.mesh.connect('manager');
    const broker = new GatedBroker({ connection: manager, inboxPrefix: '', gate: () => undefined, timeoutMs: 5_000 });
    const kept = async () => {
      const asked = { broker, space: suite.mesh.space, principal: 'local.manager', op: 'owed', args: {} } as const;
      const answer = await askRail(asked);
      return answer.kind === 'answered' ? (answer.data.discarded ?? { count: 0 }) : answer.kind;
    };
    expect(await kept()).toEqual({ count: 0 });
    const away = async (posts: number) => {
      await suite.running.stop();
      const seqs: number[] = [];
      for (let n = 0; n < posts; n++) seqs.push(await alice.post(CHANNEL, { text: `${n}` }));
      await suite.restart();
      expect(texts(await bob.read(5))).toHaveLength(5);
      return seqs;
    };
    const first = await away(12);
    await until(
      async () => suite.running.journal.count('posts.skipped') === 1 && JSON.stringify(await kept()).includes('last'),
      () => suite.running.state(),
    );
    expect(await kept()).toMatchObject({ count: 7, firstSeq: first[0], lastSeq: first[6] });
    const second = await away(7);
    await until(async () => JSON.stringify(await kept()).includes('"count":9'), kept);
    expect(await kept()).toMatchObject({ count: 9, firstSeq: first[0], lastSeq: second[1] });
  });
});
