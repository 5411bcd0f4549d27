/** The send of the object (rule 9), and the HTTP table where it is not about sockets. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { DeliverFrame } from '../../src/domain/provider/server-frames.ts';
import { sql } from '../../src/provider/storage/port.ts';
import { until } from '../support/until.ts';
import { roomy } from './support/bounds.ts';
import { openInProcess } from './support/in-process-stage.ts';
import { CURSOR } from './support/peer.ts';
import { plantRows } from './support/rows.ts';
import { Site } from './support/site.ts';
import type { Stage } from './support/stage.ts';
import { openWorkerd, type WorkerdStage } from './support/workerd-stage.ts';

/** A heartbeat is written for what it says only: the time at which it would be written all the same is far away. */
const bounds = { ...roomy, HOSTED_PROJECT_MS: '60000' };

const deliver = (agent: string, seq: number): DeliverFrame => ({
  v: 1,
  type: 'deliver',
  delivery_id: `d${seq}`,
  agent_id: agent,
  agent: 'Ann',
  msg_id: `m${seq}`,
  seq,
  mode: 'wait',
  payload: { type: 'message', data: { text: 'x' } },
});

describe('the send of the object', () => {
  let stage: WorkerdStage;
  let site: Site;
  beforeAll(async () => {
    stage = await openWorkerd({ bounds });
  });
  afterAll(() => stage?.close());
  afterEach(() => site?.leave());

  it('refuses a malformed body with 400 and one of another workspace or node with 403, and writes nothing', async () => {
    site = await Site.make(stage);
    const peer = await site.bound();
    const ann = await site.agent(peer, 'Ann');
    const body = { ...site.at, provider: 'broker', frames: [deliver(ann, 1)] };
    const status = async (changed: unknown) => (await stage.rawSend(site.at, changed)).status;
    expect(await status({ ...body, frames: [{ ...deliver(ann, 1), seq: 0 }] })).toBe(400);
    expect(await status({ ...body, extra: 1 })).toBe(400);
    expect(await status('text')).toBe(400);
    expect(await status({ ...body, workspace: 'ws_other' })).toBe(403);
    expect(await status({ ...body, node: 'other' })).toBe(403);
    expect(peer.deliveries).toEqual([]);
    const one = await stage.rawSend(site.at, { ...site.at, provider: 'broker', frame: deliver(ann, 1) });
    expect(await one.json()).toEqual({ delivered: true });
  });

  it('answers for a node that nobody ever connected to', async () => {
    site = await Site.make(stage);
    expect(await stage.send({ ...site.at, provider: 'broker', frames: [deliver('a', 1)] })).toEqual([
      { delivered: false, reason: 'no_provider' },
    ]);
  });

  it('tells an unbound socket from no socket, and never delivers to one', async () => {
    site = await Site.make(stage);
    const peer = await site.open();
    const frames = [deliver('a', 1)];
    expect(await stage.send({ ...site.at, provider: 'broker', frames })).toEqual([
      { delivered: false, reason: 'unbound' },
    ]);
    expect(peer.frames).toEqual([]);
  });
});

for (const [kind, open] of [
  ['the in-process server', openInProcess],
  ['the object on workerd', openWorkerd],
] as const)
  describe(`delivery over ${kind}`, () => {
    let stage: Stage;
    let site: Site;
    beforeAll(async () => {
      stage = await open({ bounds });
    });
    afterAll(() => stage?.close());
    afterEach(() => site?.leave());

    it('fills its window of 1,000 frames, says so, and goes on when the peer acknowledges', async () => {
      site = await Site.make(stage);
      const peer = await site.bound();
      const ann = await site.agent(peer, 'Ann');
      await plantRows(site, ann, 1_200);
      await site.inventory(peer, [{ id: ann, name: 'Ann' }]);
      await until(
        () => peer.deliveries.length >= 1_000,
        () => ({ got: peer.deliveries.length }),
        30_000,
      );
      expect(await site.post('one more')).toMatchObject([{ state: 'queued' }]);
      expect(peer.deliveries.length).toBe(1_000);
      peer.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 1_000 });
      await until(
        () => peer.deliveries.length === 1_201,
        () => ({ got: peer.deliveries.length }),
        30_000,
      );
      expect(peer.seqs('Ann')).toEqual(Array.from({ length: 1_201 }, (_, index) => index + 1));
      peer.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 1_201 });
      await until(async () => (await site.cursor(ann)) === 1_201, 'the last ack is taken');
    });

    it('drains the queued rows below before it writes a higher one', async () => {
      site = await Site.make(stage);
      const peer = await site.bound();
      const ann = await site.agent(peer, 'Ann');
      await plantRows(site, ann, 3);
      expect(await site.post('the fourth')).toMatchObject([{ seq: 4, state: 'delivered' }]);
      await peer.delivered('Ann', [4]);
      expect(peer.seqs('Ann')).toEqual([1, 2, 3, 4]);
      await site.marked(ann, ['delivered', 'delivered', 'delivered', 'delivered']);
    });

    it('skips an expired row, counts it, and leaves no gap for ever', async () => {
      site = await Site.make(stage);
      const first = await site.bound();
      const ann = await site.agent(first, 'Ann');
      first.cut();
      await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'the provider goes offline');
      await plantRows(site, ann, 3);
      await stage.sql(sql('UPDATE deliveries SET expires_at = 1 WHERE agent_id = ? AND seq = 1', ann));
      const second = await site.bound();
      const reply = await site.inventory(second, [{ id: ann, name: 'Ann' }]);
      expect(reply.data).toMatchObject({ cursors: [{ agent_id: ann, delivery_ack_seq: 1 }] });
      await second.delivered('Ann', [2, 3]);
      await site.marked(ann, ['dead_lettered', 'delivered', 'delivered']);
      const [row] = await site.rows('SELECT skipped_seqs FROM agents WHERE id = ?', ann);
      expect(row).toEqual({ skipped_seqs: 1 });
    });

    it('retries queued rows of a live identity from the alarm, with nobody’s help', async () => {
      site = await Site.make(stage);
      const peer = await site.bound();
      const ann = await site.agent(peer, 'Ann');
      await plantRows(site, ann, 2);
      await peer.delivered('Ann', [1, 2]);
      expect(peer.seqs('Ann')).toEqual([1, 2]);
    });

    it('gives numbers without a gap and none twice to posts that come together', async () => {
      site = await Site.make(stage);
      const peer = await site.bound();
      const ann = await site.agent(peer, 'Ann');
      const posts = await Promise.all(Array.from({ length: 40 }, (_, index) => site.post(`post ${index}`)));
      const seqs = posts.map(([recipient]) => recipient?.seq).sort((one, other) => Number(one) - Number(other));
      expect(seqs).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
      await peer.delivered(
        'Ann',
        Array.from({ length: 40 }, (_, index) => index + 1),
      );
      expect(peer.seqs('Ann')).toEqual(Array.from({ length: 40 }, (_, index) => index + 1));
      await until(
        async () => new Set(await site.statuses(ann)).size === 1,
        async () => site.statuses(ann),
      );
      expect(new Set(await site.statuses(ann))).toEqual(new Set(['delivered']));
    });

    it('answers a repeated idempotency key with the first post', async () => {
      site = await Site.make(stage);
      const peer = await site.bound();
      await site.agent(peer, 'Ann');
      const body = { text: 'once', idempotency_key: 'k1' };
      const posts = await Promise.all(
        Array.from({ length: 5 }, () => site.api('POST', '/v1/channels/general/messages', body)),
      );
      expect(new Set(posts.map((post) => post.data.id)).size).toBe(1);
      await peer.delivered('Ann', [1]);
      expect(peer.seqs('Ann')).toEqual([1]);
    });

    it('takes the same key of another sender, of the next agent of its name, or on another channel, for another post', async () => {
      site = await Site.make(stage);
      const peer = await site.bound();
      await site.agent(peer, 'Ann');
      await site.api('POST', '/v1/channels', { name: 'other' });
      const post = async (from: string, channel = 'general') => {
        const body = { text: 'mine', from, idempotency_key: 'k1' };
        const posted = await site.api('POST', `/v1/channels/${channel}/messages`, body);
        return { status: posted.status, id: posted.data.id };
      };
      const bob = await site.agent(peer, 'Bob');
      const senders = [['Ann'], ['Bob'], ['ci'], ['ops'], ['Ann', 'other']] as const;
      const first = [];
      for (const [from, channel] of senders) first.push(await post(from, channel));
      expect(first.map(({ status }) => status)).toEqual(senders.map(() => 201));
      expect(new Set(first.map(({ id }) => id)).size).toBe(senders.length);
      for (const [index, [from, channel]] of senders.entries())
        expect(await post(from, channel)).toEqual({ status: 200, id: first[index]?.id });
      await peer.ask({ type: 'agent.deregister', agent_id: bob });
      await site.agent(peer, 'Bob');
      expect(await post('Bob')).toMatchObject({ status: 201 });
      // Ann got what the others posted on `general`, each once: Bob, ci, ops, and the next Bob.
      await peer.delivered('Ann', [1, 2, 3, 4]);
      expect(peer.seqs('Ann')).toEqual([1, 2, 3, 4]);
    });

    it('writes no heartbeat that says nothing new, and one that does', async () => {
      site = await Site.make(stage);
      const peer = await site.bound();
      // Answered after the first heartbeat was written down: the queue keeps the order.
      await peer.ask({ type: 'agent.recover', name: 'nobody', expected_agent_id: 'x' });
      await stage.sql(sql('UPDATE node_providers SET last_heartbeat_at = 7 WHERE node_id = ?', site.node));
      for (let index = 0; index < 20; index += 1)
        peer.send({ type: 'node.heartbeat', active_agents: 0, handlers_live: false });
      await peer.ask({ type: 'agent.recover', name: 'nobody', expected_agent_id: 'x' });
      expect(await site.providerRow('broker')).toMatchObject({ last_heartbeat_at: 7 });
      // The next heartbeat of its own would say something new too, and set the row back.
      peer.quiet();
      peer.send({ type: 'node.heartbeat', active_agents: 0, handlers_live: 3 });
      await until(
        async () => (await site.providerRow('broker'))?.handlers_live === 3,
        'a heartbeat that says something new',
      );
    });

    it('dispatches each pending invocation once after the register reply, and again under its id after a departure', async () => {
      site = await Site.make(stage);
      const capabilities = [{ name: 'relay:delivery-cursor-v1' }, { name: 'spawn:x' }];
      const first = await site.bound({ capabilities });
      await stage.sql(
        sql(
          "INSERT INTO action_invocations (id, workspace_id, node_id, provider_name, action, created_at) VALUES (?, ?, ?, 'broker', 'spawn:x', 1)",
          `inv_${site.node}`,
          site.workspace,
          site.node,
        ),
      );
      const invoked = (frames: readonly { readonly type: string }[]) =>
        frames.filter((frame) => frame.type === 'action.invoke');
      await first.heard((frame) => frame.type === 'action.invoke', 'the invocation');
      first.cut();
      await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'the provider goes offline');
      const second = await site.bound({ capabilities, instance: 'i2' });
      const again = await second.heard((frame) => frame.type === 'action.invoke', 'the invocation again');
      expect(again.invocation_id).toBe(`inv_${site.node}`);
      const other = await site.bound({ provider: 'other', instance: 'o' });
      const result = { type: 'action.result', invocation_id: `inv_${site.node}`, output: { pid: 1 } };
      expect(await other.ask(result)).toMatchObject({ code: 'invocation_not_found' });
      expect(await second.ask(result)).toMatchObject({ type: 'reply' });
      expect(await second.ask(result)).toMatchObject({ code: 'invocation_not_found' });
      expect([invoked(first.frames).length, invoked(second.frames).length]).toEqual([1, 1]);
    });

    it('sends a pending invocation again whose taking was given up and had landed', async () => {
      site = await Site.make(stage);
      await stage.sql(
        sql(
          "INSERT INTO action_invocations (id, workspace_id, node_id, provider_name, action, created_at) VALUES (?, ?, ?, 'broker', 'spawn:x', 1)",
          `inv_${site.node}`,
          site.workspace,
          site.node,
        ),
      );
      // The object knows which node it is once somebody came.
      await site.open();
      const hangMs = Number(bounds.HOSTED_STORAGE_MS) + 500;
      await stage.trouble(site.at, { match: "SET status = 'dispatched'", kind: 'late', times: 1, hangMs });
      const peer = await site.bound({ capabilities: [{ name: CURSOR }, { name: 'spawn:x' }] });
      const invoked = await peer.heard((frame) => frame.type === 'action.invoke', 'the invocation');
      expect(invoked.invocation_id).toBe(`inv_${site.node}`);
      const [row] = await site.rows('SELECT attempts FROM action_invocations WHERE node_id = ?', site.node);
      // Taken, put back, and taken again.
      expect(row?.attempts).toBeGreaterThanOrEqual(2);
      const result = { type: 'action.result', invocation_id: `inv_${site.node}`, output: { pid: 1 } };
      expect(await peer.ask(result)).toMatchObject({ type: 'reply' });
    });

    it('asks a known node for the proof of its token, and keeps a node id to its workspace', async () => {
      site = await Site.make(stage);
      const body = { node_id: site.node, name: site.node, kind: 'ws', role: 'broker', version: '1' };
      expect(await site.api('POST', '/v1/nodes', body)).toMatchObject({
        status: 409,
        error: { code: 'node_token_proof_required' },
      });
      const proof = { 'x-relaycast-node-token': site.token };
      expect(await site.api('POST', '/v1/nodes', body, proof)).toMatchObject({
        status: 201,
        data: { token: site.token },
      });
      const stranger = await Site.make(stage);
      expect(await stranger.api('POST', '/v1/nodes', body, proof)).toMatchObject({
        status: 409,
        error: { code: 'node_id_conflict' },
      });
      const named = { ...body, node_id: `${site.node}b` };
      expect(await site.api('POST', '/v1/nodes', named)).toMatchObject({
        status: 409,
        error: { code: 'node_name_conflict' },
      });
    });

    it('binds an agent of the workspace to the broker, adopts none from default, and releases by name', async () => {
      site = await Site.make(stage);
      const peer = await site.bound();
      expect(await site.api('POST', '/v1/agents', { name: 'Walter', type: 'agent' })).toMatchObject({ status: 201 });
      expect(await site.post('before')).toMatchObject([{ agent: 'Walter', state: 'queued', reason: 'self_connected' }]);
      expect(await site.api('POST', `/v1/nodes/${site.node}/agents`, { agent_name: 'Walter' })).toMatchObject({
        status: 200,
        data: { provider: 'broker' },
      });
      const walter = String((await site.api('GET', '/v1/agents/Walter')).data.id);
      await site.inventory(peer, [{ id: walter, name: 'Walter' }]);
      await peer.delivered('Walter', [1]);
      await stage.sql(sql("UPDATE agents SET provider_name = 'default' WHERE id = ?", walter));
      expect(await site.api('POST', `/v1/nodes/${site.node}/agents`, { agent_name: 'Walter' })).toMatchObject({
        status: 409,
        error: { code: 'agent_provider_conflict' },
      });
      expect(await site.api('POST', '/v1/agents/release', { name: 'Walter' })).toMatchObject({ status: 200 });
      expect(await site.statuses(walter)).toEqual(['dead_lettered']);
      expect(await site.api('GET', '/v1/agents/Walter')).toMatchObject({ status: 404 });
    });
  });
