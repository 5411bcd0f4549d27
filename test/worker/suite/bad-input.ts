/**
 * Bad input of every kind: each frame is answered by an `error` with the id where there is one, and nothing has changed:
 * not a row of the database, not a row of the node's own tables.
 *
 * Longer than 300 lines: it is one list.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { sql } from '../../../src/provider/storage/port.ts';
import { until } from '../../support/until.ts';
import { CURSOR, type Peer } from '../support/peer.ts';
import { Site } from '../support/site.ts';
import type { Stage } from '../support/stage.ts';
import { stable } from './acceptance.ts';

const MIB = 1024 * 1024;

export function badInputOver(name: string, open: () => Promise<Stage>): void {
  describe(`bad input to ${name}`, () => {
    let stage: Stage;
    let site: Site;
    beforeAll(async () => {
      stage = await open();
    });
    afterAll(() => stage?.close());
    afterEach(() => site?.leave());

    /** A node with a bound peer, an agent with a delivered row, and a dump of it all. */
    const ready = async (): Promise<{ peer: Peer; ann: string; before: string }> => {
      site = await Site.make(stage);
      const peer = await site.bound();
      const ann = await site.agent(peer, 'Ann');
      await site.post('one');
      await peer.delivered('Ann', [1]);
      return { peer, ann, before: await site.dump() };
    };
    const unchanged = async (before: string) => expect(stable(await site.dump())).toEqual(stable(before));

    it('refuses what is no message, on a bound socket as on an unbound one, and changes nothing', async () => {
      const { peer, before } = await ready();
      const unbound = await site.open();
      const bad = [
        '',
        '{',
        '7',
        '"x"',
        '[]',
        'null',
        '{}',
        '{"v":1}',
        '{"v":2,"type":"node.heartbeat"}',
        '{"type":"x"}',
      ];
      for (const socket of [peer, unbound]) {
        for (const text of bad) socket.raw(text);
        socket.raw(Buffer.from([1, 2, 3]));
        await until(
          () => socket.frames.filter((frame) => frame.code === 'invalid_message').length === bad.length + 1,
          () => socket.frames,
        );
        expect(socket.closed).toBeUndefined();
      }
      await unchanged(before);
    });

    it.each([
      ['an unknown key', { type: 'agent.register', name: 'Eve', provider_name: 'default' }],
      ['a null', { type: 'agent.register', name: null }],
      ['a null that is accepted elsewhere', { type: 'agent.register', name: 'Eve', session_ref: null }],
      ['a huge number', { type: 'delivery.ack', agent: 'Ann', up_to_seq: 1e300 }],
      ['a negative ack', { type: 'delivery.ack', agent: 'Ann', up_to_seq: -1 }],
      ['a fraction', { type: 'delivery.ack', agent: 'Ann', up_to_seq: 0.5 }],
      ['a name of 129 bytes', { type: 'agent.register', name: 'x'.repeat(129) }],
      ['an empty name', { type: 'agent.register', name: '' }],
      ['a name with a NUL', { type: 'agent.register', name: 'a\u0000b' }],
      ['a string of half a MiB', { type: 'agent.register', name: 'x'.repeat(MIB / 2) }],
      ['an unknown type', { type: 'agents.register', name: 'Eve' }],
      ['a type of the prototype', { type: 'constructor' }],
      ['a result with both ends', { type: 'action.result', invocation_id: 'i', output: 1, error: 1 }],
    ])('refuses %s with invalid_message and the id, and changes nothing', async (_, frame) => {
      const { peer, before } = await ready();
      expect(await peer.ask(frame)).toMatchObject({ type: 'error', ok: false, code: 'invalid_message' });
      await unchanged(before);
    });

    it.each([
      ['an agent of another name under that id', { type: 'agent.deregister', name: 'Bob' }, 'agent_identity_mismatch'],
      ['an agent that is not there', { type: 'agent.deregister', agent_id: 'agent_none' }, 'agent_not_found'],
      ['a name that is taken here', { type: 'agent.register', name: 'Ann' }, 'agent_already_exists'],
      [
        'a recovery with another id',
        { type: 'agent.recover', name: 'Ann', expected_agent_id: 'x' },
        'agent_identity_mismatch',
      ],
      ['a recovery of nobody', { type: 'agent.recover', name: 'Zoe', expected_agent_id: 'x' }, 'agent_not_found'],
      [
        'an ack for an agent that is not there',
        { type: 'delivery.ack', agent: 'Zoe', up_to_seq: 1 },
        'agent_not_found',
      ],
      [
        'a result of no invocation',
        { type: 'action.result', invocation_id: 'inv_x', output: 1 },
        'invocation_not_found',
      ],
      [
        'a heartbeat of another node',
        { type: 'node.heartbeat', node_id: 'other', active_agents: 0, handlers_live: 0 },
        'node_id_mismatch',
      ],
      [
        'a heartbeat of another provider',
        { type: 'node.heartbeat', provider: { name: 'other', instance_id: 'i1' }, active_agents: 0, handlers_live: 0 },
        'provider_not_registered',
      ],
    ])('refuses %s by its own code, and changes nothing', async (_, frame, code) => {
      const { peer, ann, before } = await ready();
      const full = frame.type === 'agent.deregister' ? { agent_id: ann, ...frame } : frame;
      expect(await peer.ask(full)).toMatchObject({ type: 'error', code });
      await unchanged(before);
    });

    it('refuses a register for another node and leaves the socket unbound', async () => {
      const { before } = await ready();
      const peer = await site.open();
      const frame = { ...site.registerFrame({ provider: 'second' }), node_id: 'node_of_others' };
      expect(await peer.ask(frame)).toMatchObject({ type: 'error', code: 'node_id_mismatch' });
      expect(await peer.ask({ type: 'agent.register', name: 'Eve' })).toMatchObject({
        code: 'provider_not_registered',
      });
      await unchanged(before);
    });

    it('drops an ack beyond the highest delivered row whole', async () => {
      const { peer, ann, before } = await ready();
      peer.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 2 });
      peer.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: Number.MAX_SAFE_INTEGER });
      // Answered after the acks were looked at: the queue keeps the order.
      await peer.ask({ type: 'agent.recover', name: 'Zoe', expected_agent_id: 'x' });
      await unchanged(before);
      peer.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 1 });
      await until(async () => (await site.cursor(ann)) === 1, 'the right ack is taken');
    });

    it.each([
      ['deregistered by its peer', (peer: Peer, ann: string) => peer.ask({ type: 'agent.deregister', agent_id: ann })],
      ['released over HTTP', () => site.api('POST', '/v1/agents/release', { name: 'Ann' })],
    ])('does not take an ack of an agent that was %s for the next one of its name', async (_, release) => {
      site = await Site.make(stage);
      const peer = await site.bound();
      const first = await site.agent(peer, 'Ann');
      for (const text of ['one', 'two', 'three']) await site.post(text);
      await peer.delivered('Ann', [1, 2, 3]);
      await release(peer, first);
      const next = await site.agent(peer, 'Ann');
      peer.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 3 });
      // Answered after the ack was looked at: the queue keeps the order.
      await peer.ask({ type: 'agent.recover', name: 'Zoe', expected_agent_id: 'x' });
      expect(await site.cursor(next)).toBe(0);
      for (const text of ['four', 'five', 'six']) await site.post(text);
      peer.cut();
      await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'the provider goes offline');
      const again = await site.bound();
      const reply = await site.inventory(again, [{ id: next, name: 'Ann' }]);
      expect(reply.data).toMatchObject({ cursors: [{ agent_id: next, delivery_ack_seq: 0 }] });
      await again.delivered('Ann', [1, 2, 3]);
      again.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 3 });
      await until(async () => (await site.cursor(next)) === 3, 'its own ack is taken');
    });

    it('does not take an ack, a recovery or a release for an agent of another provider', async () => {
      const { ann } = await ready();
      const other = await site.bound({ provider: 'other', instance: 'o' });
      const before = await site.dump();
      expect(await other.ask({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 1 })).toMatchObject({
        code: 'agent_not_found',
      });
      expect(await other.ask({ type: 'agent.recover', name: 'Ann', expected_agent_id: ann })).toMatchObject({
        code: 'agent_provider_conflict',
      });
      expect(await other.ask({ type: 'agent.deregister', agent_id: ann })).toMatchObject({
        code: 'agent_provider_conflict',
      });
      expect(await other.ask({ type: 'agent.register', name: 'Ann' })).toMatchObject({
        code: 'agent_provider_conflict',
      });
      await unchanged(before);
    });

    it('rejects the bad members of an inventory by name and takes the rest, a default row never', async () => {
      const { peer, ann } = await ready();
      const bob = await site.agent(peer, 'Bob');
      const other = await site.bound({ provider: 'other', instance: 'o' });
      const eve = await site.agent(other, 'Eve');
      const poisoned = await site.agent(peer, 'Poisoned');
      await stage.sql(sql("UPDATE agents SET provider_name = 'default', status = 'offline' WHERE id = ?", poisoned));
      const gone = await site.agent(peer, 'Gone');
      await peer.ask({ type: 'agent.deregister', agent_id: gone });
      const reply = await peer.ask({
        type: 'inventory.sync',
        agents: [
          { agent_id: ann, name: 'Ann' },
          { agent_id: bob, name: 'Robert' },
          { agent_id: eve, name: 'Eve' },
          { agent_id: poisoned, name: 'Poisoned' },
          { agent_id: gone, name: 'Gone' },
          { agent_id: 'agent_none', name: 'None' },
        ],
      });
      expect(reply.data).toMatchObject({
        rebound_agents: 1,
        rejected_agents: [
          { agent_id: bob, code: 'agent_identity_mismatch' },
          { agent_id: eve, code: 'agent_provider_conflict' },
          { agent_id: poisoned, code: 'agent_provider_conflict' },
          { agent_id: gone, code: 'agent_not_found' },
          { agent_id: 'agent_none', code: 'agent_not_found' },
        ],
      });
      const rows = await site.rows(
        'SELECT name, status, provider_name FROM agents WHERE workspace_id = ? ORDER BY name',
        site.workspace,
      );
      expect(rows).toEqual([
        { name: 'Ann', status: 'online', provider_name: 'broker' },
        { name: 'Bob', status: 'offline', provider_name: 'broker' },
        { name: 'Eve', status: 'online', provider_name: 'other' },
        { name: 'Gone', status: 'offline', provider_name: 'broker' },
        { name: 'Poisoned', status: 'offline', provider_name: 'default' },
      ]);
    });

    it('closes a socket with 1009 for a frame above the cap, and its provider departs', async () => {
      const { peer } = await ready();
      peer.quiet();
      peer.send({ type: 'agent.register', name: 'x'.repeat(MIB) });
      expect(await peer.gone()).toMatchObject({ code: 1009 });
      await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'the provider goes offline');
      expect(await site.rows("SELECT id FROM agents WHERE workspace_id = ? AND name <> 'Ann'", site.workspace)).toEqual(
        [],
      );
    });

    it('closes a socket with 1008 that sends faster than its queue takes', async () => {
      const { peer } = await ready();
      peer.quiet();
      // Each of them hangs: it cannot drain faster than it fills, however slowly the frames are read.
      await stage.trouble(site.at, { match: 'FROM agents a', kind: 'hang', times: 300, hangMs: 2_500 });
      for (let index = 0; index < 300; index += 1)
        peer.send({ type: 'agent.recover', name: `nobody ${index}`, expected_agent_id: 'x' });
      expect(await peer.gone()).toEqual({ code: 1008, reason: 'overloaded' });
      await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'the provider goes offline');
      await stage.trouble(site.at, null);
    });

    it('takes a second register while the first is in flight as one more register', async () => {
      site = await Site.make(stage);
      const peer = await site.open();
      peer.send({ id: 'one', ...site.registerFrame({ instance: 'i1' }) });
      peer.send({ id: 'two', ...site.registerFrame({ instance: 'i2' }) });
      expect(await peer.heard((frame) => frame.id === 'one', 'the first answer')).toMatchObject({ type: 'reply' });
      expect(await peer.heard((frame) => frame.id === 'two', 'the second answer')).toMatchObject({ type: 'reply' });
      expect(await site.providerRow('broker')).toMatchObject({ instance_id: 'i2', status: 'online' });
    });

    it('keeps the attachment far from its limit with the longest names there are', async () => {
      site = await Site.make(stage);
      const longest = 'ä'.repeat(64);
      const peer = await site.open();
      const reply = await peer.ask(site.registerFrame({ provider: longest, instance: longest }));
      expect(reply).toMatchObject({ type: 'reply', data: { provider: { name: longest, instance_id: longest } } });
      await stage.hibernate(site.at);
      await site.agent(peer, longest);
      expect(await site.post('hello')).toMatchObject([{ agent: longest, state: 'delivered' }]);
    });

    it('serves 1,000 agents on one socket', async () => {
      site = await Site.make(stage);
      const peer = await site.bound();
      const agents = Array.from({ length: 1_000 }, (_, index) => ({
        id: `${site.workspace}_a${index}`,
        name: `agent ${index}`,
      }));
      const list = JSON.stringify(agents);
      const now = 1;
      await stage.sql(
        sql(
          `INSERT INTO agents (id, workspace_id, name, token_hash, location_type, location_node_id, provider_name, delivery_seq, created_at)
           SELECT value ->> 'id', ?, value ->> 'name', value ->> 'id', 'via_node', ?, 'broker', 1, ? FROM json_each(?)`,
          site.workspace,
          site.node,
          now,
          list,
        ),
        sql(
          `INSERT INTO agent_node_bindings (id, workspace_id, agent_id, node_id, created_at, updated_at)
           SELECT 'b' || (value ->> 'id'), ?, value ->> 'id', ?, ?, ? FROM json_each(?)`,
          site.workspace,
          site.node,
          now,
          now,
          list,
        ),
        sql(
          'INSERT INTO messages (id, workspace_id, type, data, created_at) VALUES (?, ?, ?, ?, ?)',
          `${site.workspace}_m`,
          site.workspace,
          'message',
          '{}',
          now,
        ),
        sql(
          `INSERT INTO deliveries (id, workspace_id, message_id, agent_id, seq, created_at)
           SELECT 'd' || (value ->> 'id'), ?, ?, value ->> 'id', 1, ? FROM json_each(?)`,
          site.workspace,
          `${site.workspace}_m`,
          now,
          list,
        ),
      );
      const reply = await site.inventory(peer, agents);
      expect(reply.data).toMatchObject({ rebound_agents: 1_000, rejected_agents: [] });
      await until(
        () => peer.deliveries.length === 1_000,
        () => ({ got: peer.deliveries.length, closed: peer.closed }),
        30_000,
      );
      expect(new Set(peer.deliveries.map((frame) => frame.agent_id)).size).toBe(1_000);
    });

    it('refuses a bad token before the upgrade, and knows no other path', async () => {
      site = await Site.make(stage);
      const { Peer: Dialer } = await import('../support/peer.ts');
      for (const token of ['nt_live_0', 'rk_live_x', 'x'])
        await expect(Dialer.open(stage.url, token)).rejects.toThrow('refused: 401');
      const statuses = await Promise.all(
        ['/v1/node/ws', '/v1/nodes/ws', '/send', '/connect', '/v1/agents/a/b'].map(
          async (path) => (await fetch(new URL(path, stage.url))).status,
        ),
      );
      expect(statuses).toEqual([426, 404, 404, 404, 404]);
    });

    it('keeps a register of an old peer and of a new one apart on one node', async () => {
      site = await Site.make(stage);
      const old = await site.open();
      const answer = await old.ask(site.oldRegisterFrame());
      expect(answer).toMatchObject({ type: 'reply' });
      expect((answer.data as { accepted_capabilities: object[] }).accepted_capabilities).toHaveLength(1);
      old.beat();
      const fresh = await site.bound({ capabilities: [{ name: CURSOR }, { name: 'spawn:old' }] });
      const oldAgent = await site.agent(old, 'Old');
      const newAgent = await site.agent(fresh, 'New');
      const reply = old.frames.find(
        (frame) => (frame.data as { agent_id?: string } | undefined)?.agent_id === oldAgent,
      );
      expect(Object.keys(reply?.data as object).sort()).toEqual(['agent_id', 'name', 'token']);
      expect(await site.post('to both')).toMatchObject([
        { agent: 'New', state: 'delivered' },
        { agent: 'Old', state: 'delivered' },
      ]);
      await old.delivered('Old', [1]);
      await fresh.delivered('New', [1]);
      // An old peer that comes back finds its rows again without declaring anything.
      old.cut();
      await until(
        async () => (await site.providerRow('default'))?.status === 'offline',
        'the old provider goes offline',
      );
      const again = await site.open();
      await again.ask(site.oldRegisterFrame());
      await again.delivered('Old', [1]);
      expect(again.seqs('Old')).toEqual([1]);
      again.send({ type: 'delivery.ack', agent: 'Old', up_to_seq: 1 });
      await until(async () => (await site.cursor(oldAgent)) === 1, 'the old peer’s ack is taken');
      expect(await site.cursor(newAgent)).toBe(0);
    });
  });
}
