/**
 * The provider link against a peer that does what no server of ours would: its own rules, alone.
 *
 * Longer than 300 lines: it is one list.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { resolving } from '../support/resolver.ts';
import { until } from '../support/until.ts';
import { deliverOf, type FakePeer, obliging, openFakePeer, refusing } from './support/fake-peer.ts';
import { Linked, type LinkedOptions } from './support/linked.ts';
import { CURSOR, type Heard } from './support/peer.ts';

describe('the provider link', () => {
  let peer: FakePeer;
  let links: Linked[] = [];
  beforeEach(async () => {
    peer = await openFakePeer();
  });
  afterEach(async () => {
    for (const link of links) await link.leave();
    links = [];
    await peer.close();
  });
  const linked = (more: Partial<LinkedOptions> = {}): Linked => {
    const link = new Linked({ url: peer.url, node: 'n1', token: 'nt_live_planted_secret', agents: ['Ann'], ...more });
    links.push(link);
    return link;
  };
  const frames = (type: string): Heard[] =>
    peer.connections.flatMap((each) => each.heard.filter((frame) => frame.type === type));
  const failed = (link: Linked, code: string, times = 1) =>
    until(
      () => Number(link.health.counters[`failures{${code}}`] ?? 0) >= times,
      () => link.health,
      30_000,
    );

  it('sends node.register and nothing else until it is accepted', async () => {
    peer.answer = () => undefined;
    const link = linked({ numbers: { registerMs: 400 } });
    await failed(link, 'register_timeout', 2);
    expect(new Set(peer.connections.flatMap((each) => each.heard.map((frame) => frame.type)))).toEqual(
      new Set(['node.register']),
    );
    expect(link.healths.some((health) => health.connected)).toBe(false);
  });

  it('closes the socket with every failure, and has none open while it waits', async () => {
    // Longer than a busy machine takes to look: what is seen of the first link is its wait.
    peer.answer = refusing('provider_instance_conflict', { retry_after_ms: 50_000 });
    const link = linked();
    await until(
      () => link.health.state === 'BackingOff' && link.health.nextRetryAt !== null,
      () => link.health,
    );
    await until(() => peer.connections.every((each) => !each.isOpen()), 'every socket is closed');
    expect(link.health.transport).toEqual({ open: false, since: null });
    expect(peer.connections.length).toBe(1);
    expect(link.told.find(({ event }) => event === 'link.waiting')?.facts.waitMs).toBeGreaterThanOrEqual(50_000);
    expect(link.told.find(({ event }) => event === 'link.waiting')?.facts.waitMs).toBeLessThanOrEqual(50_010);
    peer.answer = refusing('provider_instance_conflict', { retry_after_ms: 20 });
    const next = linked();
    await until(() => next.health.lastError, 'its refusal');
    peer.answer = obliging();
    await next.certified('Ann');
    expect(next.health.previousError?.code).toBe('provider_instance_conflict');
  });

  it.each([
    ['the suffix of the message', { message: 'taken (retry_after_ms=150)' }, 150, 160],
    ['zero', { retry_after_ms: 0 }, 10, 20],
    ['less than nothing', { retry_after_ms: -1 }, 10, 20],
    ['a million million', { retry_after_ms: 1e12 }, 10, 20],
    ['a text', { retry_after_ms: 'soon' }, 10, 20],
    ['nothing', {}, 10, 20],
  ])('believes guidance that makes sense and nothing else: %s (PRV-06)', async (_, more, least, most) => {
    peer.answer = refusing('provider_instance_conflict', more);
    const link = linked();
    const waiting = await until(
      () => link.told.find(({ event }) => event === 'link.waiting'),
      () => link.health,
    );
    expect(waiting.facts.waitMs).toBeGreaterThanOrEqual(least);
    expect(waiting.facts.waitMs).toBeLessThanOrEqual(most);
    peer.answer = obliging();
    await link.certified('Ann');
  });

  it('never is Ready with a peer that does not take cursors (an old server)', async () => {
    peer.answer = (frame, connection) =>
      connection.say({
        type: 'reply',
        id: frame.id,
        ok: true,
        data: {
          provider: frame.provider,
          accepted_capabilities: [{ name: CURSOR, accepted: false, reason: 'unknown' }],
        },
      });
    const link = linked();
    await until(
      () => Number(link.health.counters['registrations.rejected{cursor_not_accepted}'] ?? 0) >= 2,
      () => link.health,
    );
    expect(link.healths.some((health) => health.connected)).toBe(false);
    expect(frames('inventory.sync')).toEqual([]);
  });

  it('ends the attempt at a deliver that comes before the registration was accepted, without an ack', async () => {
    peer.answer = (frame, connection) => {
      if (frame.type === 'node.register') connection.say(deliverOf('Ann', 1));
    };
    const link = linked();
    await failed(link, 'early_deliver', 2);
    expect(frames('delivery.ack')).toEqual([]);
    expect(link.deliveries).toEqual([]);
  });

  it('takes no deliver for an identity without a cursor on this connection', async () => {
    const ready = obliging();
    peer.answer = (frame, connection) => {
      ready(frame, connection);
      if (frame.type === 'node.register') connection.say(deliverOf('Ann', 1));
    };
    const link = linked();
    await link.certified('Ann');
    expect(link.deliveries).toEqual([]);
    expect(link.health.counters['deliveries{uncertified}']).toBe(1);
    expect(frames('delivery.ack')).toEqual([]);
  });

  it('surfaces only the next one; a duplicate is acknowledged again, a gap is not, and one that stays ends the session', async () => {
    const link = linked();
    await link.certified('Ann');
    const [connection] = peer.connections;
    for (const seq of [1, 2, 2, 4]) connection?.say(deliverOf('Ann', seq));
    await failed(link, 'sequence_gap');
    expect(link.seqs('Ann')).toEqual([1, 2]);
    expect(connection?.heard.filter((frame) => frame.type === 'delivery.ack').map((frame) => frame.up_to_seq)).toEqual([
      1, 2, 2,
    ]);
    expect(link.told.filter(({ event }) => event === 'link.gap')[0]?.facts).toMatchObject({ expected: 3, seq: 4 });
  });

  it('acknowledges the contiguous prefix of what was confirmed, in whatever order that happens', async () => {
    const link = linked({ confirms: false });
    await link.certified('Ann');
    for (const seq of [1, 2, 3]) peer.connections[0]?.say(deliverOf('Ann', seq));
    await link.surfaced('Ann', [1, 2, 3]);
    link.deliveries[2]?.confirm();
    link.deliveries[1]?.confirm();
    link.deliveries[0]?.confirm();
    await until(
      () => frames('delivery.ack').length > 0,
      () => link.health,
    );
    expect(frames('delivery.ack').map((frame) => frame.up_to_seq)).toEqual([3]);
  });

  it('says an acknowledgement again that the peer did not store, until an inventory has it, and no more after that', async () => {
    const oblige = obliging();
    let acks = 0;
    peer.answer = (frame, connection) => {
      if (frame.type !== 'delivery.ack') return oblige(frame, connection);
      acks += 1;
      const error = { type: 'error', id: 'srv_1', ok: false, code: 'storage_failed', message: 'not stored' };
      if (acks <= 2) connection.say(error);
      else oblige(frame, connection);
    };
    const link = linked();
    await link.certified('Ann');
    peer.connections[0]?.say(deliverOf('Ann', 1));
    await until(
      () => frames('delivery.ack').length === 3,
      () => ({ acks: frames('delivery.ack'), health: link.health }),
    );
    const asked = frames('inventory.sync').length;
    // An inventory that has it was answered, and the next one asked for.
    await until(
      () => frames('inventory.sync').length >= asked + 2,
      () => link.health,
    );
    expect(frames('delivery.ack').map((frame) => frame.up_to_seq)).toEqual([1, 1, 1]);
    expect(link.health.counters['acks.again']).toBe(2);
    expect(peer.connections.length).toBe(1);
  });

  it('moves over what the peer says will not come, and counts it as skipped', async () => {
    const cursors = new Map([['id_Ann', 0]]);
    peer.answer = obliging(cursors);
    const link = linked();
    await link.certified('Ann');
    cursors.set('id_Ann', 3);
    await until(
      () => link.health.cursors[0]?.acked === 3,
      () => link.health,
    );
    peer.connections[0]?.say(deliverOf('Ann', 4));
    await link.surfaced('Ann', [4]);
    expect(link.health.counters.skipped).toBe(3);
    expect(link.told.find(({ event }) => event === 'link.skipped')?.facts).toMatchObject({ from: 1, to: 3 });
  });

  it('lets its back-off start over only after an answered inventory (PRV-05)', async () => {
    peer.upgrade = (count) => (count <= 4 || count === 6 ? 503 : undefined);
    const link = linked({ numbers: { backOffMs: 20, backOffLimitMs: 10_000 } });
    await link.certified('Ann');
    const before = link.told.filter(({ event }) => event === 'link.waiting').map(({ facts }) => facts.failures);
    expect(before).toEqual([1, 2, 3, 4]);
    peer.connections[0]?.close(1012);
    await until(
      () => peer.connections.length === 2,
      () => link.health,
    );
    const after = link.told.filter(({ event }) => event === 'link.waiting').map(({ facts }) => facts.failures);
    expect(after.slice(4)).toEqual([1, 2]);
  });

  it('dials again after a 503 and after no answer at all, each try within its bound (ENG-04)', async () => {
    peer.upgrade = (count) => (count <= 2 ? 503 : undefined);
    const link = linked();
    await link.certified('Ann');
    expect(link.health.counters['failures{http_503}']).toBe(2);
  });

  it.each([
    ['its own token', 'nt_live_planted_secret'],
    [
      'a token to be made there',
      { kind: 'made', workspaceKey: 'rk_live_planted', store: { read: () => undefined, write: () => {} } } as const,
    ],
  ])(
    'waits with longer and longer rests for a peer whose name does not resolve, says so each time, and is ready when it does, with %s (UPD-21)',
    async (_, token) => {
      const name = 'node.mesh.invalid';
      let tries = 0;
      resolving(name, () => ++tries > 4);
      peer.table = (request, response) => {
        const data = request.method === 'POST' ? { token: 'nt_live_made' } : undefined;
        if (data === undefined)
          response.writeHead(404).end(JSON.stringify({ ok: false, error: { code: 'agent_not_found' } }));
        else response.writeHead(200).end(JSON.stringify({ ok: true, data }));
      };
      const link = linked({ url: peer.url.replace('127.0.0.1', name), token });
      await link.certified('Ann');
      const lines = link.told.filter(({ event }) => event === 'link.failed').map(({ facts }) => facts.code);
      expect(lines).toEqual(Array(4).fill('EAI_AGAIN'));
      const waits = link.told.filter(({ event }) => event === 'link.waiting').map(({ facts }) => facts);
      expect(waits.map(({ failures }) => failures)).toEqual([1, 2, 3, 4]);
      expect(Number(waits[3]?.waitMs)).toBeGreaterThan(Number(waits[0]?.waitMs));
    },
  );

  it('asks again when the directory does not answer, and takes nobody offline meanwhile', async () => {
    let asked = 0;
    peer.table = (_, response) => {
      asked += 1;
      if (asked <= 2) response.writeHead(503).end('{}');
      else
        response.writeHead(404).end(JSON.stringify({ ok: false, error: { code: 'agent_not_found', message: 'none' } }));
    };
    const link = linked();
    await link.certified('Ann');
    expect(link.health.counters['inventories.refused{directory_unavailable}']).toBe(2);
    expect(frames('inventory.sync').every((frame) => (frame.agents as unknown[]).length === 1)).toBe(true);
  });

  it('takes a peer for gone that answers nothing, however open its socket is and whatever it sends (PRV-04)', async () => {
    const link = linked({ numbers: { deadMs: 3_000, inventoryMs: 100 } });
    await link.certified('Ann');
    const before = Number(link.health.counters['failures{no_reply}'] ?? 0);
    peer.answer = (frame, connection) => {
      if (frame.type === 'node.heartbeat') connection.say({ type: 'reply', id: 'nobody asked', ok: true, data: {} });
    };
    await failed(link, 'no_reply', before + 1);
    expect(Number(link.health.counters['frames.unasked{reply}'])).toBeGreaterThan(0);
  });

  it.each(['BackingOff', 'Registering'] as const)(
    'is over at once when it is stopped in %s, and dials no more (PRV-10)',
    async (state) => {
      peer.answer =
        state === 'BackingOff' ? refusing('provider_instance_conflict', { retry_after_ms: 300 }) : () => undefined;
      const link = linked();
      await until(
        () => link.health.state === state,
        () => link.health,
      );
      link.link.stop();
      expect(await link.link.ended).toEqual({
        end: 'stopped',
        failure: state === 'BackingOff' ? expect.anything() : null,
      });
      await until(() => peer.connections.every((each) => !each.isOpen()), 'the socket is closed');
      // Longer than any wait of this link: another link comes and goes, and nobody else has dialled.
      const { length } = peer.connections;
      peer.answer = refusing('provider_instance_conflict', { retry_after_ms: 400 });
      const other = linked();
      await until(
        () => other.health.attempt >= 3,
        () => other.health,
      );
      expect(peer.connections.length - other.health.attempt).toBeLessThanOrEqual(length);
    },
  );

  it('passes over what it cannot read, counts it, and tells each kind once', async () => {
    const link = linked();
    await link.certified('Ann');
    const [connection] = peer.connections;
    for (const text of ['{', '[]', '{"v":1,"type":"deliver"}', '{', '{"v":1,"type":"action.invoke"}'])
      connection?.say(text);
    connection?.say(deliverOf('Ann', 1));
    await link.surfaced('Ann', [1]);
    expect(link.health.counters).toMatchObject({
      'frames.unreadable{not-json}': 2,
      'frames.unreadable{shape}': 1,
      'frames.unreadable{deliver}': 1,
      'frames.unreadable{action.invoke}': 1,
    });
    expect(link.told.filter(({ event }) => event === 'link.unreadable').length).toBe(4);
  });

  it('tells every transition and every rejection, and never the token', async () => {
    peer.answer = refusing('provider_instance_conflict', { retry_after_ms: 20, message: 'held by another' });
    const link = linked();
    await until(
      () => link.health.attempt >= 2,
      () => link.health,
    );
    peer.answer = obliging();
    await link.certified('Ann');
    const moves = link.told.filter(({ event }) => event === 'link.moved').map(({ facts }) => facts.to);
    expect(moves.slice(0, 3)).toEqual(['TransportConnected', 'Registering', 'BackingOff']);
    expect(JSON.stringify([link.told, link.healths])).not.toContain('planted_secret');
  });

  it.each([
    ['two lines', 'nt_live_one\nnt_live_two'],
    ['a letter that no header takes', 'nt_live_ł'],
  ])('dials again when the token is %s, says so each time, and is ready with one that fits', async (_, unfit) => {
    let token = unfit;
    const link = linked({ token: () => token });
    await failed(link, 'dial_refused', 2);
    expect(peer.connections).toEqual([]);
    expect(JSON.stringify([link.told, link.healths])).not.toContain('nt_live');
    token = 'nt_live_planted_secret';
    await link.certified('Ann');
  });
});
