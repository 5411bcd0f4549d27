/**
 * The acceptance list of the provider plane, one line one function. The same lines run over the in-process server and over
 * real workerd, each also after hibernation, after a reset, and with an old peer on the same node; and over workers with
 * a planted fault, where a named line must fail.
 *
 * Longer than 300 lines: it is one list.
 */
import { expect } from 'vitest';
import { sql } from '../../../src/provider/storage/port.ts';
import { until } from '../../support/until.ts';
import { ATTACH_MS, REAP_MS } from '../support/bounds.ts';
import { CURSOR, type Peer } from '../support/peer.ts';
import { Site } from '../support/site.ts';
import type { Stage } from '../support/stage.ts';

export interface Scene {
  readonly site: Site;
  readonly stage: Stage;
  readonly variant: VariantName;
  /** What the variant does between two steps: nothing, or hibernation. */
  disturb(): Promise<void>;
}

export type Line = (scene: Scene) => Promise<void>;

export const lines = {
  async 'a clean reconnect stays healthy'({ site, disturb }) {
    const first = await site.bound();
    const ann = await site.agent(first, 'Ann');
    await disturb();
    first.close();
    await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'the provider goes offline');
    const second = await site.bound();
    await disturb();
    const reply = await site.inventory(second, [{ id: ann, name: 'Ann' }]);
    expect(reply).toMatchObject({ type: 'reply', data: { rebound_agents: 1, rejected_agents: [] } });
    expect(await site.providerRow('broker')).toMatchObject({ status: 'online', instance_id: 'i1' });
    await disturb();
    expect(await site.post('hello')).toMatchObject([{ agent: 'Ann', state: 'delivered' }]);
    await second.delivered('Ann', [1]);
  },

  async 'a half-open incumbent is superseded within its bound and the new provider becomes ready with nobody’s help'({
    site,
    disturb,
  }) {
    const { peer: old, proxy } = await site.openThroughProxy();
    await old.ask(site.registerFrame({ instance: 'before' }));
    const ann = await site.agent(old, 'Ann');
    const challenger = await site.open();
    await lastWord(old);
    proxy.hold('toBroker', 'toClient');
    await disturb();
    const taken = await retried(site, 'after', challenger);
    expect(taken.conflicts).toBeGreaterThan(0);
    // It was told to wait within the bound, and that was enough; how long the machine took for it is no promise.
    expect(taken.conflicts).toBeLessThanOrEqual(2);
    expect(taken.guidedMs).toBeLessThan(REAP_MS);
    await disturb();
    await site.inventory(taken.peer, [{ id: ann, name: 'Ann' }]);
    expect(await site.post('hello')).toMatchObject([{ agent: 'Ann', state: 'delivered' }]);
    await taken.peer.delivered('Ann', [1]);
    expect(old.deliveries).toEqual([]);
    expect(await site.providerRow('broker')).toMatchObject({ status: 'online', instance_id: 'after' });
  },

  async 'a half-open incumbent that nobody challenges is reaped and offline within its bound'({ site, disturb }) {
    const { peer, proxy } = await site.openThroughProxy();
    await peer.ask(site.registerFrame());
    const ann = await site.agent(peer, 'Ann');
    proxy.hold('toBroker', 'toClient');
    await disturb();
    await until(
      async () => (await site.providerRow('broker'))?.status === 'offline',
      async () => ({ provider: await site.providerRow('broker'), object: await site.stage.objectDump(site.at) }),
      REAP_MS * 4,
    );
    const [node] = await site.rows('SELECT status FROM nodes WHERE id = ?', site.node);
    const [agent] = await site.rows('SELECT status, provider_name, location_node_id FROM agents WHERE id = ?', ann);
    expect(agent).toEqual({ status: 'offline', provider_name: 'broker', location_node_id: site.node });
    // The node itself is offline, unless the variant keeps another provider on it.
    const others = await site.rows("SELECT 1 FROM node_providers WHERE node_id = ? AND status = 'online'", site.node);
    expect(node?.status).toBe(others.length === 0 ? 'offline' : 'online');
  },

  async 'frames of an unbound socket are refused and change nothing'({ site, disturb, variant }) {
    const bound = await site.bound();
    const ann = await site.agent(bound, 'Ann');
    await site.post('one');
    await disturb();
    bound.close();
    await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'the provider goes offline');
    await resting(site);
    const peer = await site.open();
    await disturb();
    const before = await site.dump();
    const frames = unboundFrames(site, ann);
    for (const [index, frame] of frames.entries()) peer.send({ id: `u${index}`, ...frame });
    // Refusals are answered on arrival and in order: after this one all of them are there.
    peer.raw('{');
    await peer.heard((frame) => frame.code === 'invalid_message', 'the refusal of a broken frame');
    for (const index of frames.keys()) {
      const answer = peer.frames.find((each) => each.id === `u${index}`);
      expect(answer).toMatchObject({ type: 'error', ok: false, code: 'provider_not_registered' });
      expect(Object.keys(answer ?? {}).sort()).toEqual(['code', 'id', 'message', 'ok', 'type', 'v']);
    }
    // Beside an old peer, that one's heartbeats go on being projected.
    if (variant === 'beside an old peer') expect(stable(await site.dump())).toEqual(stable(before));
    else expect(await site.dump()).toBe(before);
  },

  async 'no agent can be stamped default from a rejected socket'({ site, disturb }) {
    const incumbent = await site.bound({ instance: 'incumbent' });
    const challenger = await site.open();
    await disturb();
    const conflict = await challenger.ask(site.registerFrame({ instance: 'challenger' }));
    expect(conflict).toMatchObject({ type: 'error', code: 'provider_instance_conflict' });
    expect(conflict.retry_after_ms).toBeGreaterThan(0);
    await disturb();
    const before = await site.dump();
    challenger.send({ type: 'agent.register', id: 'eve', name: 'Eve' });
    const stamped = () =>
      site.rows("SELECT name FROM agents WHERE workspace_id = ? AND provider_name = 'default'", site.workspace);
    await until(
      async () => challenger.frames.some((frame) => frame.id === 'eve') || (await stamped()).length > 0,
      'an answer or a stamped agent',
    );
    expect(await stamped()).toEqual([]);
    expect(challenger.frames.find((frame) => frame.id === 'eve')).toMatchObject({ code: 'provider_not_registered' });
    expect(stable(await site.dump())).toEqual(stable(before));
    expect(incumbent.closed).toBeUndefined();
  },

  async 'the hosted register accepts the cursor capability'({ site, disturb }) {
    const peer = await site.open();
    await disturb();
    const advertised = [
      { name: CURSOR },
      { name: 'relay:live-agents:v1' },
      { name: 'spawn:claude' },
      { name: 'release' },
    ];
    const reply = await peer.ask(site.registerFrame({ capabilities: advertised }));
    const { accepted_capabilities: accepted } = reply.data as {
      accepted_capabilities: { name: string; accepted: boolean }[];
    };
    expect(accepted.map(({ name, accepted: yes }) => [name, yes])).toEqual(advertised.map(({ name }) => [name, true]));
    expect(reply.data).toMatchObject({ id: site.node, live: true, provider: { name: 'broker', instance_id: 'i1' } });
  },

  async 'no deliver before the cursor-bearing reply and the readiness transition'({ site, disturb }) {
    const first = await site.bound();
    const ann = await site.agent(first, 'Ann');
    first.close();
    await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'the provider goes offline');
    await site.post('while away');
    const second = await site.bound({ instance: 'i2' });
    await disturb();
    expect(await site.post('before ready')).toMatchObject([{ state: 'queued', reason: 'not_ready' }]);
    await second.ask({ type: 'inventory.sync', agents: [] });
    expect(second.deliveries).toEqual([]);
    await disturb();
    await site.inventory(second, [{ id: ann, name: 'Ann' }]);
    await second.delivered('Ann', [1, 2]);
    const reply = second.frames.findIndex((frame) => {
      const { cursors } = (frame.data ?? {}) as { cursors?: { agent_id: string; delivery_ack_seq: number }[] };
      return cursors?.some((cursor) => cursor.agent_id === ann && cursor.delivery_ack_seq === 0) === true;
    });
    expect(reply).toBeGreaterThanOrEqual(0);
    expect(second.frames.findIndex((frame) => frame.type === 'deliver')).toBeGreaterThan(reply);
    expect(second.seqs('Ann')).toEqual([1, 2]);
  },

  async 'a frame to a stale socket is not reported delivered'({ site, disturb }) {
    const { peer, proxy } = await site.openThroughProxy();
    await peer.ask(site.registerFrame());
    const ann = await site.agent(peer, 'Ann');
    expect(await site.post('fresh')).toMatchObject([{ state: 'delivered' }]);
    proxy.hold('toBroker', 'toClient');
    expect(await site.post('into the void')).toMatchObject([{ state: 'delivered' }]);
    await disturb();
    await site.silence();
    expect(await site.post('after the bound')).toMatchObject([{ seq: 3, state: 'queued', reason: 'stale' }]);
    // Whatever was written into the void is still owed: the next connection of that instance gets all of it.
    const next = await site.bound();
    await disturb();
    await site.inventory(next, [{ id: ann, name: 'Ann' }]);
    await next.delivered('Ann', [1, 2, 3]);
    expect(next.seqs('Ann')).toEqual([1, 2, 3]);
  },

  async 'a frame to an unready identity is not reported delivered'({ site, disturb }) {
    const peer = await site.bound();
    await site.agent(peer, 'Ann');
    await disturb();
    // The same instance registers anew on another connection: nothing is ready there before it says so.
    const again = await site.bound();
    expect(await peer.gone()).toEqual({ code: 1000, reason: 'superseded' });
    await disturb();
    expect(await site.post('unready')).toMatchObject([{ state: 'queued', reason: 'not_ready' }]);
    expect(again.deliveries).toEqual([]);
    const [row] = await site.rows(
      'SELECT status, last_dispatch_error FROM deliveries WHERE workspace_id = ?',
      site.workspace,
    );
    expect(row).toEqual({ status: 'queued', last_dispatch_error: 'not_ready' });
  },

  async 'delivered but unacked rows replay exactly once after readiness, ascending, and acked ones never'({
    site,
    disturb,
  }) {
    const first = await site.bound();
    const ann = await site.agent(first, 'Ann');
    for (let index = 1; index <= 5; index += 1) await site.post(`post ${index}`);
    await first.delivered('Ann', [1, 2, 3, 4, 5]);
    first.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 2 });
    await until(async () => (await site.cursor(ann)) === 2, 'the ack is taken');
    await disturb();
    first.cut();
    await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'the provider goes offline');
    await site.post('post 6');
    expect(await site.statuses(ann)).toEqual(['acked', 'acked', 'delivered', 'delivered', 'delivered', 'queued']);
    const second = await site.bound({ instance: 'i2' });
    await disturb();
    const reply = await site.inventory(second, [{ id: ann, name: 'Ann' }]);
    expect(reply.data).toMatchObject({ cursors: [{ agent_id: ann, delivery_ack_seq: 2 }] });
    await second.delivered('Ann', [3, 4, 5, 6]);
    await disturb();
    // A second inventory of a live identity replays nothing again.
    await site.inventory(second, [{ id: ann, name: 'Ann' }]);
    await site.post('post 7');
    await second.delivered('Ann', [7]);
    expect(second.seqs('Ann')).toEqual([3, 4, 5, 6, 7]);
    second.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 7 });
    await until(async () => (await site.cursor(ann)) === 7, 'the ack is taken');
    expect(new Set(await site.statuses(ann))).toEqual(new Set(['acked']));
  },

  async 'two provider names stay valid side by side'({ site, disturb }) {
    const broker = await site.bound({ provider: 'broker', instance: 'b' });
    const other = await site.bound({ provider: 'other', instance: 'o' });
    await site.agent(broker, 'Ann');
    await site.agent(other, 'Bob');
    await disturb();
    await site.post('to both');
    await broker.delivered('Ann', [1]);
    await other.delivered('Bob', [1]);
    await disturb();
    broker.close();
    await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'broker goes offline');
    expect(await site.providerRow('other')).toMatchObject({ status: 'online', instance_id: 'o' });
    const [node] = await site.rows('SELECT status FROM nodes WHERE id = ?', site.node);
    expect(node).toEqual({ status: 'online' });
    const [, bob] = await site.post('to one');
    expect(bob).toMatchObject({ agent: 'Bob', state: 'delivered' });
    expect(other.closed).toBeUndefined();
  },

  async 'a conflict tells for how long, and a retry after that converges'({ site, disturb }) {
    const { peer: old, proxy } = await site.openThroughProxy();
    await old.ask(site.registerFrame({ instance: 'before' }));
    const challenger = await site.open();
    await lastWord(old);
    proxy.hold('toBroker', 'toClient');
    await disturb();
    const conflict = await challenger.ask(site.registerFrame({ instance: 'after' }));
    const guidance = Number(conflict.retry_after_ms);
    expect(guidance).toBeGreaterThanOrEqual(10);
    expect(guidance).toBeLessThanOrEqual(ATTACH_MS);
    challenger.close();
    await new Promise((resolve) => setTimeout(resolve, guidance));
    await disturb();
    const again = await site.open();
    expect(await again.ask(site.registerFrame({ instance: 'after' }))).toMatchObject({ type: 'reply' });
  },
} as const satisfies Record<string, Line>;

export type LineName = keyof typeof lines;

/** The lines that wait for a bound. The others hold whatever the bounds are. */
export const bounded: readonly LineName[] = [
  'a half-open incumbent is superseded within its bound and the new provider becomes ready with nobody’s help',
  'a half-open incumbent that nobody challenges is reaped and offline within its bound',
  'a conflict tells for how long, and a retry after that converges',
];

/** Five frames of a peer that does not wait for its registration. */
export const unboundFrames = (site: Site, agent: string) => [
  { type: 'node.heartbeat', active_agents: 1, handlers_live: true },
  { type: 'agent.register', name: 'Eve' },
  { type: 'agent.recover', name: 'Ann', expected_agent_id: agent },
  { type: 'agent.deregister', agent_id: agent },
  { type: 'inventory.sync', agents: [{ agent_id: agent, name: 'Ann' }] },
  { type: 'delivery.ack', agent: 'Ann', up_to_seq: 1 },
  { type: 'action.result', invocation_id: 'inv_1', output: 1 },
  { type: 'node.deregister' },
  { type: 'agent.register', name: 'Eve', node: site.node, provider: { name: 'default' } },
];

/** No sweep is near: what a dump shows then changes by frames alone. */
const resting = (site: Site) =>
  until(async () => {
    const { alarm } = await site.stage.objectDump(site.at);
    return alarm === null || alarm - Date.now() > 300;
  }, 'an alarm that is not near');

/** The last that is heard of a peer. It is answered without a write: no slow disk comes between it and a challenge. */
const lastWord = (peer: Peer) => peer.ask({ type: 'agent.recover', name: 'nobody', expected_agent_id: 'x' });

/** Dials and registers until it is accepted, by the guidance alone; for the first time on `first`, if that is given. */
export async function retried(
  site: Site,
  instance: string,
  first?: Peer,
): Promise<{ readonly peer: Peer; readonly conflicts: number; readonly guidedMs: number }> {
  let guidedMs = 0;
  for (let conflicts = 0; conflicts < 30; conflicts += 1) {
    const peer = (conflicts === 0 ? first : undefined) ?? (await site.open());
    peer.send({ id: 'r', ...site.registerFrame({ instance }) });
    const answer = await until(
      () => peer.frames.find((frame) => frame.id === 'r') ?? (peer.closed && { type: 'gone' }),
      'an answer to the registration, or a close',
    );
    if (answer.type === 'reply') {
      peer.beat();
      return { peer, conflicts, guidedMs };
    }
    if (answer.type === 'gone') continue;
    expect(answer).toMatchObject({ code: 'provider_instance_conflict' });
    peer.close();
    guidedMs += Number(answer.retry_after_ms);
    await new Promise((resolve) => setTimeout(resolve, Number(answer.retry_after_ms)));
  }
  throw new Error('thirty conflicts in a row');
}

/** A dump without what a healthy peer's heartbeats may move meanwhile. */
export const stable = (dump: string): unknown =>
  JSON.parse(dump, (key, value) =>
    key === 'last_heartbeat_at' || key === 'alarm' || key === 'retried' ? undefined : value,
  );

export async function scene(stage: Stage, variant: VariantName): Promise<Scene> {
  const site = await Site.make(stage);
  const disturb = variant === 'after hibernation' ? () => stage.hibernate(site.at) : async () => undefined;
  const made = { site, stage, variant, disturb };
  if (variant === 'after a reset') await livedBefore(made);
  if (variant === 'beside an old peer') await besideOldPeer(made);
  return made;
}

export const variantNames = ['fresh', 'after hibernation', 'after a reset', 'beside an old peer'] as const;
export type VariantName = (typeof variantNames)[number];

/** A provider was bound when everything stopped: the database says offline within the bound with nobody connecting. */
async function livedBefore({ site, stage }: Scene): Promise<void> {
  const peer = await site.bound({ instance: 'former life' });
  await site.api('POST', '/v1/channels', { name: 'unused' });
  await stage.reset(site.at);
  await peer.gone();
  await until(
    async () => (await site.providerRow('broker'))?.status === 'offline',
    'the database says offline after the reset',
    REAP_MS * 4,
  );
  await stage.sql(sql('DELETE FROM workspace_events WHERE workspace_id = ?', site.workspace));
}

async function besideOldPeer({ site }: Scene): Promise<void> {
  const old = await site.open();
  const reply = await old.ask(site.oldRegisterFrame());
  expect(reply).toMatchObject({ type: 'reply', data: { provider: { name: 'default' } } });
  old.beat();
}
