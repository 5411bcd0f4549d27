import { describe, expect, it } from 'vitest';
import { streams } from '../../../src/domain/subjects.ts';
import { texts } from '../../support/delivery/agent.ts';
import { addRows, changeAcl, countIn, loseAcl, owedTo, retire } from '../../support/delivery/store.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { until } from '../../support/until.ts';

const CHANNEL = 'team.general';

describe('nobody reads what they may not', () => {
  const suite = deliverySuite({ env: { COTAL_DELIVERY_GIVE_UP_SPACING_MS: '20' } });
  const delivery = () => suite.mesh.connect('delivery');

  it('what was handed over and not taken is withdrawn when the grant is narrowed, and does not come back when it is widened', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob', { read: ['team.>', 'ops'] })];
    await bob.join(CHANNEL);
    await bob.join('ops');
    await alice.post(CHANNEL, { text: 'secret' });
    await alice.post('ops', { text: 'open' });
    await until(
      async () => (await bob.asked('pendingCount', {})).handedOff === 2,
      () => suite.running.state(),
    );
    await changeAcl(suite.mesh, bob.member, (row) => ({ ...row, allowSubscribe: ['ops'], revision: 2 }));
    await until(
      async () => (await owedTo(suite.mesh, await delivery(), bob.member)).entries === 1,
      () => suite.running.state(),
    );
    expect(texts(await bob.read(1))).toEqual(['open']);
    await changeAcl(suite.mesh, bob.member, (row) => ({ ...row, allowSubscribe: ['team.>', 'ops'], revision: 3 }));
    await alice.post(CHANNEL, { text: 'later' });
    expect(texts(await bob.read(1))).toEqual(['later']);
    expect(texts(await bob.take(1, 1_000))).toEqual([]);
  });

  it('a row that is wider than what the credential was issued for releases nothing more (RDR-14)', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob', { read: ['team.>'] })];
    await changeAcl(suite.mesh, bob.member, (row) => ({ ...row, allowSubscribe: ['team.>', 'secret'], revision: 2 }));
    expect(await bob.join('secret')).toMatchObject({ durable: false });
    const refused = await bob.ask('readHistory', { channel: 'secret' });
    expect(refused).toMatchObject({ ok: false, error: { code: 'rail.not-readable' } });
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { text: 'allowed' });
    expect(texts(await bob.read(1))).toEqual(['allowed']);
  });

  it('a retired lifecycle with many entries loses them on the first meeting, and a second start meets none', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    for (let i = 0; i < 40; i++)
      await Promise.all(Array.from({ length: 25 }, (_, k) => alice.post(CHANNEL, { id: `${i}-${k}` })));
    const connection = await delivery();
    await until(
      async () => (await owedTo(suite.mesh, connection, bob.member)).entries === 1000,
      () => suite.running.state(),
      30_000,
    );
    await retire(suite.mesh, bob.member);
    await until(
      async () => {
        const { entries, copies } = await owedTo(suite.mesh, connection, bob.member);
        return entries === 0 && copies === 0;
      },
      () => suite.running.state(),
    );
    await suite.restart();
    expect(suite.running.daemon.tally.get('entries.retired')).toBe(0);
    expect(suite.running.journal.count('lane.removal-given-up')).toBe(0);
  });

  it('without an ACL row an entry is met eleven times, kept, told of once, and surfaces when the row appears', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    let row: object = {};
    await changeAcl(suite.mesh, bob.member, (before) => {
      row = before;
      return before;
    });
    await loseAcl(suite.mesh, bob.member);
    await alice.post(CHANNEL, { text: 'kept' });
    await until(
      () => suite.running.journal.count('lane.given-up') === 1,
      () => suite.running.state(),
    );
    expect(suite.running.journal.lines()).toContain(
      `! delivery: no ACL row for ${bob.member.owner}.${bob.member.actor}.${bob.member.uid} after 11 meetings; its entries are kept and wait for the row`,
    );
    expect((await owedTo(suite.mesh, await delivery(), bob.member)).entries).toBe(1);
    await suite.restart();
    await alice.post(CHANNEL, { text: 'also kept' });
    await until(
      async () => (await owedTo(suite.mesh, await delivery(), bob.member)).entries === 2,
      () => suite.running.state(),
    );
    await changeAcl(suite.mesh, bob.member, () => row);
    await until(
      async () => (await bob.asked('pendingCount', {})).handedOff === 2,
      () =>
        JSON.stringify([
          suite.running.state(),
          suite.running.daemon.actor.system.get('daemon')?.getSnapshot().children.reader?.getSnapshot().context,
          suite.running.journal.told,
        ]),
    );
    expect(texts(await bob.read(2))).toEqual(['kept', 'also kept']);
  });

  it('a hundred members without a row do not delay a healthy one', async () => {
    const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
    await bob.join(CHANNEL);
    const lost = await addRows(suite.mesh, { channel: CHANNEL, count: 100, acl: false });
    await alice.post(CHANNEL, { text: 'for everybody' });
    expect(texts(await bob.read(1))).toEqual(['for everybody']);
    expect(suite.running.journal.count('lane.given-up')).toBeLessThan(lost.length);
    await until(
      () => suite.running.journal.count('lane.given-up') === lost.length,
      () => suite.running.state(),
      30_000,
    );
    expect(await countIn(await delivery(), streams(suite.mesh.space).inbox)).toBe(lost.length);
  });
});
