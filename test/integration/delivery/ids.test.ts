import { describe, expect, it } from 'vitest';
import { buckets, streams } from '../../../src/domain/subjects.ts';
import { deleteRow, readRow, writeRow } from '../../../src/services/nats/rows.ts';
import { texts } from '../../support/delivery/agent.ts';
import { countIn, PATIENCE } from '../../support/delivery/store.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { until } from '../../support/until.ts';

const CHANNEL = 'team.general';

describe('ids', () => {
  const suite = deliverySuite();

  it('two posts with the empty id both surface to a member that was away (FAN-01)', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { id: '', text: 'first' });
    await alice.post(CHANNEL, { id: '', text: 'second' });
    expect(texts(await bob.read(2))).toEqual(['first', 'second']);
  });

  it('one id posted twice surfaces once', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { id: 'same', text: 'once' });
    await alice.post(CHANNEL, { id: 'same', text: 'once' });
    await alice.post(CHANNEL, { text: 'end' });
    expect(texts(await bob.read(2))).toEqual(['once', 'end']);
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
  });

  it('two senders with one id, and one sender with one id on two channels, all surface', async () => {
    const [alice, carol, bob] = [await suite.agent('alice'), await suite.agent('carol'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    await bob.join('ops');
    await alice.post(CHANNEL, { id: 'x', text: 'alice here' });
    await carol.post(CHANNEL, { id: 'x', text: 'carol here' });
    await alice.post('ops', { id: 'x', text: 'alice there' });
    expect(texts(await bob.read(3)).sort()).toEqual(['alice here', 'alice there', 'carol here']);
  });

  it.each([
    ['from its persisted floor', true, 'post 1'],
    ['without one from the smallest join cursor', false, 'post 0'],
  ])(
    'a durable that is deleted is made again %s, with a warning, and nobody gets anything twice',
    async (_, floor, from) => {
      const [alice, bob, carol] = [await suite.agent('alice'), await suite.agent('bob'), await suite.agent('carol')];
      await bob.join(CHANNEL);
      await carol.join(CHANNEL);
      await alice.post(CHANNEL, { text: 'one' });
      const delivery = await suite.mesh.connect('delivery');
      const { inbox, chat } = streams(suite.mesh.space);
      const lanes = { connection: delivery, bucket: buckets(suite.mesh.space).lanes, key: '=fanout' };
      // The writer looks after its first round, and then not for five seconds: it does not write the row again meanwhile.
      await until(
        async () => {
          const row = await readRow(lanes);
          return row.kind === 'found' && Buffer.from(row.data).toString().includes('"floor":1');
        },
        () => suite.running.state(),
      );
      await (floor ? writeRow({ ...lanes, value: { floor: 1 } }) : deleteRow(lanes));
      const removed = await delivery.request(`$JS.API.CONSUMER.DELETE.${chat}.fanout`, '', PATIENCE);
      expect(removed.json()).toMatchObject({ success: true });
      await until(
        () => suite.running.journal.count('fanout.remade') === 1,
        () => suite.running.state(),
      );
      const warning = `! delivery: the consumer "fanout" was missing and was made again from ${from}`;
      expect(suite.running.journal.lines()).toContain(warning);
      await alice.post(CHANNEL, { text: 'two' });
      expect(texts(await bob.read(2))).toEqual(['one', 'two']);
      expect(texts(await carol.read(2))).toEqual(['one', 'two']);
      await until(
        async () => (await countIn(delivery, inbox)) === 0,
        () => suite.running.state(),
      );
      expect(texts(await bob.take(1, 1_000))).toEqual([]);
    },
  );
});
