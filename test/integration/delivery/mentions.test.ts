import { beforeEach, describe, expect, it } from 'vitest';
import { buckets } from '../../../src/domain/subjects.ts';
import { writeRow } from '../../../src/services/nats/rows.ts';
import { texts } from '../../support/delivery/agent.ts';
import { changeAcl, owedTo } from '../../support/delivery/store.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { until } from '../../support/until.ts';

const LIVE = 'lobby';

describe('mentions on a live channel', () => {
  const suite = deliverySuite();
  beforeEach(async () => {
    const connection = await suite.mesh.connect('provisioner');
    await writeRow({
      connection,
      bucket: buckets(suite.mesh.space).channels,
      key: LIVE,
      value: { deliveryClass: 'live' },
    });
    // A daemon that starts has read every row; one that runs may meet a post before a row that is older.
    await suite.restart();
  });

  it('reach an authorized peer that is away and never joined; nobody else gets a copy', async () => {
    const [alice, bob, carol] = [await suite.agent('alice'), await suite.agent('Bob'), await suite.agent('carol')];
    await suite.restart();
    await alice.post(LIVE, { text: 'hello', mentions: [' BOB ', 'bob'] });
    expect(texts(await bob.read(1))).toEqual(['hello']);
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
    expect(await owedTo(suite.mesh, await suite.mesh.connect('delivery'), carol.member)).toEqual({
      entries: 0,
      copies: 0,
    });
  });

  it('do not reach a peer whose ACL does not cover the channel, nor a name that two have, nor the sender', async () => {
    const alice = await suite.agent('alice');
    const [bob, twin] = [await suite.agent('bob', { read: ['team.>'] }), await suite.agent('twin')];
    const other = await suite.agent('other');
    await changeAcl(suite.mesh, other.member, (row) => ({ ...row, name: 'twin', revision: 2 }));
    await suite.restart();
    const { tally } = suite.running.daemon;
    await alice.post(LIVE, { text: 'psst', mentions: ['bob', 'twin', 'nobody', 'alice'] });
    await until(
      () => tally.get('posts.settled') === 1,
      () => suite.running.state(),
    );
    expect(tally.get('mentions.missed', 'not-covered')).toBe(1);
    expect(tally.get('mentions.missed', 'ambiguous')).toBe(1);
    expect(tally.get('mentions.missed', 'nobody')).toBe(1);
    expect(tally.get('copies.stored')).toBe(0);
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
    expect(texts(await twin.take(1, 1_000))).toEqual([]);
  });

  it('are withdrawn when the grant is narrowed before they were taken', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await suite.restart();
    await alice.post(LIVE, { text: 'psst', mentions: ['bob'] });
    const delivery = await suite.mesh.connect('delivery');
    await until(
      async () => (await owedTo(suite.mesh, delivery, bob.member)).copies === 1,
      () => suite.running.state(),
    );
    await changeAcl(suite.mesh, bob.member, (row) => ({ ...row, allowSubscribe: ['team.>'], revision: 2 }));
    await until(
      async () => (await owedTo(suite.mesh, delivery, bob.member)).entries === 0,
      () => suite.running.state(),
    );
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
  });

  it('a durable join of a live channel says that there is no backstop, and a class change is followed', async () => {
    const bob = await suite.agent('bob');
    expect(await bob.join(LIVE)).toMatchObject({
      durable: false,
      reason: 'the channel is live: it has no durable backstop',
    });
    const connection = await suite.mesh.connect('provisioner');
    await writeRow({
      connection,
      bucket: buckets(suite.mesh.space).channels,
      key: LIVE,
      value: { deliveryClass: 'durable' },
    });
    await until(
      async () => (await bob.join(LIVE)).durable,
      () => suite.running.state(),
    );
  });
});
