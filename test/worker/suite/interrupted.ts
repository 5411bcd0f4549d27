/**
 * Registration, replay and departure cut between any two of their named steps: every socket and all memory gone, without
 * a close event. The database says offline within the bound with nobody connecting; nothing is lost, nothing acknowledged
 * comes again, nothing was delivered before its identity was ready, nothing is stamped default.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { StepName } from '../../../src/provider/registry/ports.ts';
import { until } from '../../support/until.ts';
import { REAP_MS } from '../support/bounds.ts';
import type { Peer } from '../support/peer.ts';
import { Site } from '../support/site.ts';
import type { Stage } from '../support/stage.ts';

const steps: readonly StepName[] = [
  'register.owed',
  'register.written',
  'register.bound',
  'replay.read',
  'replay.sent',
  'replay.marked',
  'departure.owed',
  'departure.written',
];

/** One life up to the step, where it stands parked. */
async function parkedAt(stage: Stage, step: StepName): Promise<{ readonly site: Site; readonly ann: string }> {
  const site = await Site.make(stage);
  const first = await site.bound();
  const ann = await site.agent(first, 'Ann');
  for (let index = 1; index <= 3; index += 1) await site.post(`post ${index}`);
  await first.delivered('Ann', [1, 2, 3]);
  first.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 1 });
  await until(async () => (await site.cursor(ann)) === 1, 'the ack is taken');
  if (!step.startsWith('departure')) await departed(site, first);
  await site.post('post 4');
  await stage.park(site.at, step);
  const second = step.startsWith('departure') ? first : await site.open();
  if (second === first) first.close();
  else {
    second.send({ id: 'r', ...site.registerFrame({ instance: 'i2' }) });
    second.send({ id: 'i', type: 'inventory.sync', agents: [{ agent_id: ann, name: 'Ann' }] });
  }
  // An inventory that came before the registration was accepted was refused: it is sent again once that is.
  if (step.startsWith('replay')) {
    await second.heard((frame) => frame.id === 'r', 'the registration');
    second.send({ id: 'j', type: 'inventory.sync', agents: [{ agent_id: ann, name: 'Ann' }] });
  }
  await until(
    async () => (await stage.parked(site.at)) === step,
    async () => ({ parked: await stage.parked(site.at) }),
  );
  return { site, ann };
}

/** The database says offline with nobody connecting; then a new instance gets everything that is owed, once. */
async function keepsItsPromises(stage: Stage, { site, ann }: { site: Site; ann: string }): Promise<void> {
  await until(
    async () => (await site.providerRow('broker'))?.status === 'offline',
    async () => ({ provider: await site.providerRow('broker'), object: await stage.objectDump(site.at) }),
    REAP_MS * 6,
  );
  const { tables } = await stage.objectDump(site.at);
  expect(tables.bound).toEqual([]);
  await until(
    async () => ((await stage.objectDump(site.at)).tables.owed ?? []).length === 0,
    'nothing is owed any more',
  );
  const last = await site.bound({ instance: 'i3' });
  const reply = await site.inventory(last, [{ id: ann, name: 'Ann' }]);
  expect(reply.data).toMatchObject({ cursors: [{ agent_id: ann, delivery_ack_seq: 1 }] });
  await last.delivered('Ann', [2, 3, 4]);
  await site.post('post 5');
  await last.delivered('Ann', [5]);
  expect(last.seqs('Ann')).toEqual([2, 3, 4, 5]);
  expect(
    await site.rows("SELECT id FROM agents WHERE workspace_id = ? AND provider_name = 'default'", site.workspace),
  ).toEqual([]);
  last.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 5 });
  await until(async () => (await site.cursor(ann)) === 5, 'the last ack is taken');
}

const departed = async (site: Site, peer: Peer) => {
  peer.cut();
  await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'the provider goes offline');
};

export function interruptedOver(name: string, open: () => Promise<Stage>): void {
  describe(`${name}, interrupted`, () => {
    let stage: Stage;
    let site: Site;
    beforeAll(async () => {
      stage = await open();
    });
    afterAll(() => stage?.close());
    afterEach(() => site?.leave());

    it.each(steps)('at %s keeps every promise', async (step) => {
      const parked = await parkedAt(stage, step);
      site = parked.site;
      await stage.reset(site.at);
      await keepsItsPromises(stage, parked);
    });
  });
}

/** Two starts of a real worker and eight lives, on a machine that is busy with other things. */
const STARTS_MS = 300_000;

/** The same where a reset takes everything with it and is slow: a node stands at each of the steps, and all are cut at once. */
export function interruptedTogetherOver(name: string, open: () => Promise<Stage>): void {
  describe(`${name}, interrupted`, () => {
    let stage: Stage;
    const parked = new Map<StepName, { readonly site: Site; readonly ann: string }>();
    beforeAll(async () => {
      stage = await open();
      for (const step of steps) parked.set(step, await parkedAt(stage, step));
      const [any] = parked.values();
      if (any !== undefined) await stage.reset(any.site.at);
    }, STARTS_MS);
    afterAll(async () => {
      for (const { site } of parked.values()) await site.leave();
      await stage?.close();
    });

    it.each(steps)('at %s keeps every promise', async (step) => {
      const life = parked.get(step);
      if (life === undefined) throw new Error(`no node stands at ${step}`);
      await keepsItsPromises(stage, life);
    });
  });
}

/** Registrations whose database work fails, or loses its answer, or whose arbitration is lost while it was done. */
export function troubledOver(name: string, open: () => Promise<Stage>): void {
  describe(`${name}, with a database in trouble`, () => {
    let stage: Stage;
    let site: Site;
    beforeAll(async () => {
      stage = await open();
    });
    afterAll(() => stage?.close());
    afterEach(() => site?.leave());

    it.each([
      ['fails', 'before', 'storage_failed'],
      ['loses its answer', 'after', 'storage_failed'],
      ['does not answer in time', 'hang', 'storage_timeout'],
    ] as const)('a registration that %s leaves neither half deliverable', async (_, kind, code) => {
      site = await Site.make(stage);
      const earlier = await site.bound();
      await site.agent(earlier, 'Ann');
      earlier.close();
      await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'the provider goes offline');
      await stage.trouble(site.at, { match: 'INSERT INTO node_providers', kind, times: 1, hangMs: 5_000 });
      const peer = await site.open();
      expect(await peer.ask(site.registerFrame({ instance: 'i2' }))).toMatchObject({ type: 'error', code });
      expect(await peer.ask({ type: 'agent.register', name: 'Eve' })).toMatchObject({
        code: 'provider_not_registered',
      });
      expect(await site.post('unroutable')).toMatchObject([{ agent: 'Ann', state: 'queued' }]);
      await until(
        async () =>
          (await site.providerRow('broker'))?.status === 'offline' &&
          ((await stage.objectDump(site.at)).tables.owed ?? []).length === 0,
        async () => ({ provider: await site.providerRow('broker'), object: await stage.objectDump(site.at) }),
      );
      // The same connection may try again, and then it holds.
      expect(await peer.ask(site.registerFrame({ instance: 'i2' }))).toMatchObject({ type: 'reply' });
      expect(await site.providerRow('broker')).toMatchObject({ status: 'online', instance_id: 'i2' });
    });

    it('a failed re-registration withdraws what was ready, and a later one starts from nothing', async () => {
      site = await Site.make(stage);
      const peer = await site.bound();
      const ann = await site.agent(peer, 'Ann');
      await stage.trouble(site.at, { match: 'INSERT INTO node_providers', kind: 'before', times: 1 });
      expect(await peer.ask(site.registerFrame())).toMatchObject({ code: 'storage_failed' });
      expect(await site.post('one')).toMatchObject([{ state: 'queued', reason: 'not_ready' }]);
      expect(await peer.ask(site.registerFrame())).toMatchObject({ type: 'reply' });
      expect(await site.post('two')).toMatchObject([{ state: 'queued', reason: 'not_ready' }]);
      await site.inventory(peer, [{ id: ann, name: 'Ann' }]);
      await peer.delivered('Ann', [1, 2]);
    });

    it('a challenger that wrote its row while the incumbent spoke again loses, and the incumbent’s row is put back', async () => {
      site = await Site.make(stage);
      const capabilities = [{ name: 'relay:delivery-cursor-v1' }, { name: 'spawn:of-the-incumbent' }];
      const incumbent = await site.open();
      await incumbent.ask(site.registerFrame({ instance: 'incumbent', capabilities }));
      const registered = await site.providerRow('broker');
      const challenger = await site.open();
      const conflict = await challenger.ask(site.registerFrame({ instance: 'challenger' }));
      const waited = performance.now() + Number(conflict.retry_after_ms);
      await until(() => performance.now() > waited, 'the guidance is over');
      await stage.park(site.at, 'register.written');
      challenger.send({
        id: 'again',
        ...site.registerFrame({ instance: 'challenger', capabilities: [{ name: 'spawn:other' }] }),
      });
      await until(
        async () => (await stage.parked(site.at)) === 'register.written',
        'the row of the challenger is written',
      );
      expect(await site.providerRow('broker')).toMatchObject({ instance_id: 'challenger' });
      incumbent.beat();
      incumbent.raw('{');
      // Whoever is answered was heard, and so was what it said before.
      await incumbent.heard((frame) => frame.code === 'invalid_message', 'the incumbent was heard');
      await stage.release(site.at);
      expect(await challenger.heard((frame) => frame.id === 'again', 'the answer')).toMatchObject({
        code: 'provider_instance_conflict',
      });
      await until(
        async () => (await site.providerRow('broker'))?.instance_id === 'incumbent',
        async () => site.providerRow('broker'),
      );
      expect(await site.providerRow('broker')).toMatchObject({
        status: 'online',
        capabilities: registered?.capabilities ?? null,
      });
      const actions = await site.rows('SELECT name, provider_name FROM actions WHERE node_id = ?', site.node);
      expect(actions).toEqual([{ name: 'spawn:of-the-incumbent', provider_name: 'broker' }]);
      expect(incumbent.closed).toBeUndefined();
      await site.agent(incumbent, 'Ann');
      expect(await site.post('still here')).toMatchObject([{ state: 'delivered' }]);
    });

    it('a page that could not be written down is met again, and nothing of it is lost or sent twice here', async () => {
      site = await Site.make(stage);
      const first = await site.bound();
      const ann = await site.agent(first, 'Ann');
      first.close();
      await until(async () => (await site.providerRow('broker'))?.status === 'offline', 'the provider goes offline');
      for (let index = 1; index <= 3; index += 1) await site.post(`post ${index}`);
      const second = await site.bound();
      await stage.trouble(site.at, { match: "SET status = 'delivered'", kind: 'before', times: 1 });
      await site.inventory(second, [{ id: ann, name: 'Ann' }]);
      await second.delivered('Ann', [1, 2, 3]);
      await until(
        async () => (await site.statuses(ann)).every((status) => status === 'delivered'),
        async () => ({ statuses: await site.statuses(ann), object: await stage.objectDump(site.at) }),
      );
      expect(second.seqs('Ann')).toEqual([1, 2, 3]);
      second.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 3 });
      await until(async () => (await site.cursor(ann)) === 3, 'the ack is taken');
    });

    it('a departure that could not be written stays owed, and the alarm carries it out', async () => {
      site = await Site.make(stage);
      const peer = await site.bound();
      await stage.trouble(site.at, { match: "SET status = 'offline'", kind: 'before', times: 3 });
      peer.close();
      await until(
        async () => (await site.providerRow('broker'))?.status === 'offline',
        async () => stage.objectDump(site.at),
      );
      await until(
        async () => ((await stage.objectDump(site.at)).tables.owed ?? []).length === 0,
        'nothing is owed any more',
      );
    });

    it('an ack that could not be stored is answered, and may be sent again', async () => {
      site = await Site.make(stage);
      const peer = await site.bound();
      const ann = await site.agent(peer, 'Ann');
      await site.post('one');
      await peer.delivered('Ann', [1]);
      await stage.trouble(site.at, { match: "SET status = 'acked'", kind: 'before', times: 1 });
      expect(await peer.ask({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 1 })).toMatchObject({
        code: 'storage_failed',
      });
      expect(await site.cursor(ann)).toBe(0);
      peer.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: 1 });
      await until(async () => (await site.cursor(ann)) === 1, 'the ack is taken');
    });
  });
}
