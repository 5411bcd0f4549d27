/** The provider link against a server of ours, whichever it is. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TcpProxy } from '../../../src/torture/proxy.ts';
import { until } from '../../support/until.ts';
import { Linked, type LinkedOptions } from '../support/linked.ts';
import { Site } from '../support/site.ts';
import type { Stage } from '../support/stage.ts';

export function linkOver(name: string, open: () => Promise<Stage>): void {
  describe(`the provider link, against ${name}`, () => {
    let stage: Stage;
    let site: Site;
    let links: Linked[] = [];
    beforeAll(async () => {
      stage = await open();
    });
    afterAll(() => stage?.close());
    afterEach(async () => {
      for (const link of links) await link.leave();
      links = [];
      await site?.leave();
    });

    const linked = (more: Partial<LinkedOptions> = {}): Linked => {
      const link = new Linked({ url: stage.url, node: site.node, token: site.token, agents: ['Ann'], ...more });
      links.push(link);
      return link;
    };
    const idOf = async (agent: string) =>
      String(
        (await site.rows('SELECT id FROM agents WHERE workspace_id = ? AND name = ?', site.workspace, agent))[0]?.id,
      );
    const cursorIs = (agent: string, cursor: number) =>
      until(
        async () => (await site.cursor(await idOf(agent))) === cursor,
        async () => ({ agent, wanted: cursor, is: await site.cursor(await idOf(agent)) }),
      );

    it('registers, takes its cursors, surfaces what is posted, and acknowledges what was confirmed and no more (PRV-14)', async () => {
      site = await Site.make(stage);
      const link = linked({ confirms: false });
      await link.certified('Ann');
      for (let index = 1; index <= 3; index += 1) await site.post(`post ${index}`);
      await link.surfaced('Ann', [1, 2, 3]);
      expect(link.deliveries[0]).toMatchObject({ mode: 'wait', payload: { type: 'message' }, isRepeat: false });
      link.deliveries[1]?.confirm();
      link.deliveries[0]?.confirm();
      await cursorIs('Ann', 2);
      // Whatever came meanwhile: the third was not confirmed, and is not acknowledged.
      await until(
        () => Number(link.health.counters.inventories) >= 2,
        () => link.health,
      );
      expect(await site.cursor(await idOf('Ann'))).toBe(2);
      expect(link.health).toMatchObject({ state: 'Ready', connected: true, lastError: null, attempt: 1 });
      expect(link.health.cursors).toMatchObject([{ agent: 'Ann', received: 3, acked: 2 }]);
    });

    it('says an acknowledgement again that the database did not store, on the same connection', async () => {
      site = await Site.make(stage);
      const link = linked({ confirms: false });
      await link.certified('Ann');
      await site.post('the only one');
      await link.surfaced('Ann', [1]);
      await stage.trouble(site.at, { match: 'UPDATE agents SET delivery_ack_seq = k.up_to', kind: 'before', times: 1 });
      link.deliveries[0]?.confirm();
      await cursorIs('Ann', 1);
      expect(link.health).toMatchObject({ state: 'Ready', attempt: 1 });
      expect(link.health.counters['frames.unasked{storage_failed}']).toBe(1);
    });

    it('is not connected between the TCP connect and the accepted registration, and sends nothing else before it', async () => {
      site = await Site.make(stage);
      // The object knows which node it is once somebody came.
      await site.open();
      await stage.park(site.at, 'register.owed');
      const link = linked();
      await until(
        async () => (await stage.parked(site.at)) === 'register.owed',
        () => link.health,
      );
      expect(link.health).toMatchObject({ state: 'Registering', connected: false, transport: { open: true } });
      expect(link.health.counters.heartbeats).toBeUndefined();
      await stage.release(site.at);
      await link.certified('Ann');
      expect(link.healths.filter((health) => health.connected !== (health.state === 'Ready'))).toEqual([]);
    });

    it('takes its cursor from the server after a restart: after 7 acknowledged, 8 surfaces (PRV-12)', async () => {
      site = await Site.make(stage);
      const first = linked({ instance: 'one' });
      await first.certified('Ann');
      for (let index = 1; index <= 7; index += 1) await site.post(`post ${index}`);
      await cursorIs('Ann', 7);
      await first.leave();
      await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'the provider goes offline');
      await site.post('the eighth');
      const second = linked({ instance: 'two' });
      await second.surfaced('Ann', [8]);
      expect(second.seqs('Ann')).toEqual([8]);
      await cursorIs('Ann', 8);
    });

    it('gets what it had not confirmed again, marked as a repeat; 11 and 12 come after a connection that ended at 10 (PRV-16, PRV-19)', async () => {
      site = await Site.make(stage);
      const link = linked({ confirms: false });
      await link.certified('Ann');
      for (let index = 1; index <= 3; index += 1) await site.post(`post ${index}`);
      await link.surfaced('Ann', [1, 2, 3]);
      link.deliveries[0]?.confirm();
      await cursorIs('Ann', 1);
      await stage.reset(site.at);
      await link.surfaced('Ann', [1, 2, 3]);
      await until(
        () => link.deliveries.length === 5,
        () => ({ seqs: link.seqs('Ann'), health: link.health }),
      );
      expect(link.deliveries.slice(3).map(({ seq, isRepeat }) => ({ seq, isRepeat }))).toEqual([
        { seq: 2, isRepeat: true },
        { seq: 3, isRepeat: true },
      ]);
      // A confirmation of the connection that is gone closes nothing that is open on this one (PRV-17).
      link.deliveries[1]?.confirm();
      expect(link.health.counters['confirmations{late}']).toBe(1);
      expect(link.health.cursors).toMatchObject([{ acked: 1 }]);
      link.deliveries[3]?.confirm();
      link.deliveries[4]?.confirm();
      await cursorIs('Ann', 3);
    });

    it('finds out that a peer behind a half-open connection is gone, and is ready again with nobody’s help (PRV-04)', async () => {
      site = await Site.make(stage);
      const proxy = await TcpProxy.to(stage.url);
      // The address of the link leads through a proxy that holds once; then a dial goes through.
      const link = linked({ url: proxy.urlOf('http'), numbers: { deadMs: 3_000, connectMs: 3_000, inventoryMs: 300 } });
      try {
        await link.certified('Ann');
        proxy.hold('toBroker', 'toClient');
        await until(
          () => Number(link.health.counters['failures{no_reply}'] ?? 0) > 0,
          () => link.health,
          30_000,
        );
        proxy.strand();
        await until(
          () => link.health.connected,
          () => link.health,
          30_000,
        );
        await link.certified('Ann');
        await site.post('after it');
        await link.surfaced('Ann', [1]);
      } finally {
        await proxy.close();
      }
    });

    it('converges on a conflict by the guidance it is told, and says so meanwhile (PRV-01, PRV-06)', async () => {
      site = await Site.make(stage);
      const { peer, proxy } = await site.openThroughProxy();
      await peer.ask(site.registerFrame({ instance: 'incumbent' }));
      await site.agent(peer, 'Ann');
      peer.beat();
      const link = linked({ instance: 'challenger' });
      // The incumbent lives until it was met; then its connection is half-open.
      await until(
        () => Number(link.health.counters['registrations.rejected{provider_instance_conflict}'] ?? 0) > 0,
        () => link.health,
      );
      proxy.hold('toBroker', 'toClient');
      expect(link.health.connected).toBe(false);
      await link.certified('Ann');
      expect(link.told.filter(({ event }) => event === 'link.rejected').length).toBeGreaterThan(0);
      expect(Number(link.health.counters['registrations.rejected{provider_instance_conflict}'])).toBeGreaterThan(0);
      await site.post('for the new one');
      await link.surfaced('Ann', [1]);
      expect(await site.providerRow('broker')).toMatchObject({ status: 'online', instance_id: 'challenger' });
    });

    it('has every agent routable again after a reconnect: heartbeat and inventory are of one list (PRV-11)', async () => {
      site = await Site.make(stage);
      const names = ['Ann', 'Bob', 'Cay', 'Dan', 'Eve'];
      const link = linked({ agents: names });
      await link.certified(...names);
      await stage.reset(site.at);
      await until(
        () => link.health.attempt >= 2,
        () => link.health,
      );
      await link.certified(...names);
      const recipients = await until(
        async () => {
          const posted = await site.post('to everybody');
          return posted.every(({ state }) => state === 'delivered') && posted;
        },
        () => link.health,
      );
      expect(recipients.map(({ agent }) => agent).sort()).toEqual(names);
      expect(
        await site.rows("SELECT name FROM agents WHERE workspace_id = ? AND status <> 'online'", site.workspace),
      ).toEqual([]);
    });

    it('adopts no agent of another provider, says which, and provides the others all the same', async () => {
      site = await Site.make(stage);
      const other = await site.bound({ provider: 'other', instance: 'o' });
      await site.agent(other, 'Foreign');
      const link = linked({ agents: ['Foreign', 'Ann'] });
      await link.certified('Ann');
      expect(link.health.refused).toEqual([{ agent: 'Foreign', code: 'agent_provider_conflict' }]);
      expect(
        await site.rows(
          'SELECT provider_name FROM agents WHERE name = ? AND workspace_id = ?',
          'Foreign',
          site.workspace,
        ),
      ).toEqual([{ provider_name: 'other' }]);
    });

    it('binds an agent that is nowhere yet, and gets what waited for it', async () => {
      site = await Site.make(stage);
      await site.api('POST', '/v1/agents', { name: 'Walter', type: 'agent' });
      await site.post('before anybody');
      const link = linked({ agents: ['Walter'] });
      await link.surfaced('Walter', [1]);
      await cursorIs('Walter', 1);
    });

    it('restarted with nothing kept while its agents run and send, changes no credential of theirs: it adopts, and makes none anew (CRD-12)', async () => {
      site = await Site.make(stage);
      const maker = await site.bound({ instance: 'maker' });
      const made = await maker.ask({ type: 'agent.register', name: 'Zoe' });
      const walter = await site.api('POST', '/v1/agents', { name: 'Walter', type: 'agent' });
      const tokens = [String((made.data as { token: unknown }).token), String(walter.data.token)];
      maker.cut();
      const hashes = () =>
        site.rows('SELECT name, token_hash FROM agents WHERE workspace_id = ? ORDER BY name', site.workspace);
      const before = await hashes();
      const sent: boolean[] = [];
      /** Every agent sends with the token that it has had from the beginning. */
      const send = async () => {
        for (const token of tokens) {
          const headers = { authorization: `Bearer ${token}` };
          sent.push((await site.api('POST', '/v1/channels/general/messages', { text: 'at work' }, headers)).ok);
        }
      };
      for (const instance of ['one', 'two', 'three']) {
        await send();
        const link = linked({ instance, agents: ['Walter', 'Zoe'] });
        const certified = link.certified('Walter', 'Zoe');
        await send();
        await certified;
        await send();
        expect(link.health.refused).toEqual([]);
        await link.leave();
      }
      expect(sent).toEqual(Array(18).fill(true));
      expect(await hashes()).toEqual(before);
    });

    it('is refused after so many readings of a token that the peer does not take, at the pace of its back-off', async () => {
      site = await Site.make(stage);
      let readings = 0;
      const link = linked({
        token: () => {
          readings += 1;
          return 'nt_live_not_known';
        },
        numbers: { tokenRereads: 3 },
      });
      expect(await link.link.ended).toMatchObject({ end: 'refused', failure: { code: 'unauthorized' } });
      expect(readings).toBe(4);
      expect(link.told.filter(({ event }) => event === 'link.waiting').length).toBe(3);
    });

    it('has a token made for this address, and sends it to no other (PRV-08)', async () => {
      site = await Site.make(stage);
      const kept = new Map<string, string>([[`http://127.0.0.1:9 node_x`, 'nt_live_of_another_place']]);
      const store = {
        read: ({ origin, nodeId }: { origin: string; nodeId: string }) => kept.get(`${origin} ${nodeId}`),
        write: ({ origin, nodeId, token }: { origin: string; nodeId: string; token: string }) =>
          void kept.set(`${origin} ${nodeId}`, token),
      };
      const node = `${site.node}_made`;
      const link = linked({ node, token: { kind: 'made', workspaceKey: site.key, store } });
      await link.certified('Ann');
      expect([...kept.keys()]).toEqual([`http://127.0.0.1:9 node_x`, `${new URL(stage.url).origin} ${node}`]);
    });
  });
}
