/** The bridge over a space and a disk of the test's own. Longer than 300 lines: one set-up of both serves all of it. */
import { afterEach, describe, expect, it } from 'vitest';
import type { Member } from '../../../src/domain/names.ts';
import { bridgedPost, parseMap, segment } from '../../../src/domain/provider/bridge.ts';
import { Bridge, type HostedInbox } from '../../../src/provider/link/bridge.ts';
import type { BridgeMarks } from '../../../src/provider/link/bridged-agent.ts';
import type { Delivery } from '../../../src/provider/link/ports.ts';
import { Tally } from '../../../src/services/tally.ts';
import { until } from '../../support/until.ts';

const member: Member = { owner: 'local', actor: 'ann', uid: 'a'.repeat(26) };
const later: Member = { ...member, uid: 'b'.repeat(26) };
const other: Member = { owner: 'local', actor: 'bob', uid: 'c'.repeat(26) };

/**
 * A space in memory: entries by their sequence; `stored` answers in order, then with entries. `readers`: the lifecycle of each
 * actor that reads; an entry of any other one is removed when it is met.
 */
class Space implements HostedInbox {
  readonly entries = new Map<number, string>();
  readonly answers: Awaited<ReturnType<HostedInbox['store']>>[] = [];
  readonly readers = new Map([member, other].map((each) => [each.actor, each]));
  isSilent = false;
  #next = 1;
  readonly #uids = new Map<number, string>();

  async store({ msgId, member: { uid } }: { msgId: string; member: Member }) {
    const planned = this.answers.shift();
    if (planned !== undefined) return planned;
    const entrySeq = this.#next++;
    this.entries.set(entrySeq, msgId);
    this.#uids.set(entrySeq, uid);
    return { kind: 'stored' as const, entrySeq };
  }

  async living({ member: { actor } }: { member: Member }) {
    const reader = this.readers.get(actor);
    return reader === undefined ? { kind: 'nobody' as const } : { kind: 'living' as const, member: reader };
  }

  /** Ids of what lies there for a lifecycle. */
  for = ({ uid }: Member) => [...this.entries].filter(([seq]) => this.#uids.get(seq) === uid).map(([, id]) => id);

  retire({ actor, uid }: Member): void {
    this.readers.delete(actor);
    for (const seq of this.entries.keys()) if (this.#uids.get(seq) === uid) this.entries.delete(seq);
  }

  async gone({ entrySeqs }: { entrySeqs: readonly number[] }) {
    if (this.isSilent) return { kind: 'silent' as const, why: 'timeout' };
    return { kind: 'read' as const, entrySeqs: entrySeqs.filter((seq) => !this.entries.has(seq)) };
  }
}

/** What is on disk outlives a bridge. `fails`: what the next calls meet, in order. */
class Disk {
  readonly kept = new Map<string, BridgeMarks>();
  readonly fails: { read: string[]; write: string[] } = { read: [], write: [] };
  read = (agentId: string) => {
    this.#meet(this.fails.read);
    return this.kept.get(agentId);
  };
  write = (agentId: string, marks: BridgeMarks) => {
    this.#meet(this.fails.write);
    this.kept.set(agentId, structuredClone(marks));
  };
  #meet(planned: string[]): void {
    const code = planned.shift();
    if (code !== undefined) throw new Error(code);
  }
}

describe('the bridge', () => {
  const bridges: Bridge[] = [];
  const confirmed: number[] = [];
  const told: { event: string; facts: Record<string, unknown> }[] = [];
  afterEach(async () => {
    for (const bridge of bridges.splice(0)) await bridge.stop();
    confirmed.splice(0);
    told.splice(0);
  });
  const bridgeTo = (inbox: Space, marks = new Disk()) => {
    const bridge = new Bridge({
      inbox,
      members: new Map([
        ['Ann', member],
        ['Bob', other],
      ]),
      space: 'main',
      node: 'n1',
      marks,
      journal: { tell: (event, ...[facts]) => void told.push({ event, facts: { ...facts } }) },
      tally: new Tally(),
      pollMs: 5,
    });
    bridges.push(bridge);
    return bridge;
  };
  const deliver = (seq: number, ended = new AbortController()): Delivery => ({
    agentId: 'a1',
    agent: 'Ann',
    seq,
    msgId: `m${seq}`,
    mode: 'wait',
    payload: { type: 'message', data: { text: 'x' } },
    isRepeat: false,
    ended: ended.signal,
    confirm: () => void confirmed.push(seq),
  });

  it('acknowledges nothing before its entry is settled, in whatever order that happens', async () => {
    const space = new Space();
    const bridge = bridgeTo(space);
    for (const seq of [1, 2, 3]) bridge.take(deliver(seq));
    await until(() => space.entries.size === 3, 'they are stored');
    space.entries.delete(2);
    await until(
      () => confirmed.length === 1,
      () => confirmed,
    );
    expect(confirmed).toEqual([2]);
    space.entries.clear();
    await until(
      () => confirmed.length === 3,
      () => confirmed,
    );
    expect(bridge.owed).toBe(0);
  });

  it('finds the entry of a repeat after a crash, and counts one that is settled as confirmed', async () => {
    const space = new Space();
    const disk = new Disk();
    const first = bridgeTo(space, disk);
    for (const seq of [1, 2]) first.take(deliver(seq));
    await until(() => space.entries.size === 2, 'they are stored');
    space.entries.delete(1);
    await until(
      () => confirmed.length === 1,
      () => confirmed,
    );
    await first.stop();
    const second = bridgeTo(space, disk);
    for (const seq of [1, 2]) second.take(deliver(seq));
    await until(
      () => confirmed.length === 2,
      () => confirmed,
    );
    expect(confirmed).toEqual([1, 1]);
    expect([...space.entries.values()]).toEqual(['m2']);
    space.entries.clear();
    await until(
      () => confirmed.includes(2),
      () => confirmed,
    );
  });

  it('asks a silent space again, and acknowledges nothing meanwhile', async () => {
    const space = new Space();
    space.answers.push({ kind: 'silent', why: 'timeout' }, { kind: 'silent', why: 'timeout' });
    space.isSilent = true;
    const bridge = bridgeTo(space);
    bridge.take(deliver(1));
    await until(() => space.entries.size === 1, 'it is stored at last');
    space.entries.clear();
    expect(confirmed).toEqual([]);
    space.isSilent = false;
    await until(
      () => confirmed.length === 1,
      () => confirmed,
    );
  });

  it('waits for a disk that takes nothing: each entry is stored once, and confirmed when that is written down', async () => {
    const space = new Space();
    const disk = new Disk();
    disk.fails.read.push('EIO', 'EIO');
    disk.fails.write.push('ENOSPC', 'ENOSPC');
    const bridge = bridgeTo(space, disk);
    for (const seq of [1, 2]) bridge.take(deliver(seq));
    await until(() => bridge.owed === 2, 'both are stored and written down');
    expect([...space.entries.values()]).toEqual(['m1', 'm2']);
    expect(disk.kept.get('a1')?.held).toEqual({ 1: 1, 2: 2 });
    const heldUp = () => told.filter(({ event }) => event === 'link.bridge-held-up').map(({ facts }) => facts.why);
    expect(heldUp()).toEqual(['EIO', 'ENOSPC']);
    disk.fails.write.push('EROFS');
    space.entries.clear();
    await until(
      () => confirmed.length === 2,
      () => confirmed,
    );
    expect(confirmed).toEqual([1, 2]);
    expect(heldUp()).toEqual(['EIO', 'ENOSPC', 'EROFS']);
    expect(disk.kept.get('a1')).toMatchObject({ held: {}, settled: [1, 2] });
  });

  it('follows an agent that is retired and added again: what nobody read goes to the new lifecycle, and is confirmed there', async () => {
    const space = new Space();
    const disk = new Disk();
    const bridge = bridgeTo(space, disk);
    for (const seq of [1, 2]) bridge.take(deliver(seq));
    await until(() => bridge.owed === 2, 'they are stored');
    space.retire(member);
    bridge.take(deliver(3));
    // What comes for somebody else goes its way meanwhile.
    bridge.take({ ...deliver(7), agentId: 'b1', agent: 'Bob' });
    await until(() => space.for(other).length === 1, 'that of the other agent is stored');
    await until(
      () => told.some(({ event }) => event === 'link.bridge-held-up'),
      () => told,
    );
    await until(() => bridge.owed === 1, 'those of the retired lifecycle are to be placed again');
    expect([confirmed, space.for(member), space.for(later)]).toEqual([[], [], []]);
    space.readers.set(later.actor, later);
    await until(
      () => space.for(later).length === 3,
      () => [...space.entries],
    );
    expect(space.for(later)).toEqual(['m1', 'm2', 'm3']);
    expect(confirmed).toEqual([]);
    await until(() => bridge.owed === 4, 'all are written down');
    space.entries.clear();
    await until(
      () => confirmed.length === 4,
      () => confirmed,
    );
    expect(confirmed.toSorted()).toEqual([1, 2, 3, 7]);
    expect(told.filter(({ event }) => event === 'link.bridge-follows')).toHaveLength(1);
  });

  it('knows over a restart whose an entry was: one of a lifecycle that was retired meanwhile is not taken for settled', async () => {
    const space = new Space();
    const disk = new Disk();
    const first = bridgeTo(space, disk);
    first.take(deliver(1));
    await until(() => first.owed === 1, 'it is stored');
    await first.stop();
    space.retire(member);
    space.readers.set(later.actor, later);
    const second = bridgeTo(space, disk);
    second.take(deliver(1));
    await until(
      () => space.for(later).length === 1,
      () => confirmed,
    );
    expect(confirmed).toEqual([]);
  });

  it('drops what can never be an entry, and acknowledges it', async () => {
    const space = new Space();
    space.answers.push({ kind: 'unfit', why: 'too large' });
    const bridge = bridgeTo(space);
    bridge.take(deliver(1));
    await until(
      () => confirmed.length === 1,
      () => confirmed,
    );
    expect(space.entries.size).toBe(0);
  });

  it('forgets what came on a connection that is gone: it comes again', async () => {
    const space = new Space();
    const bridge = bridgeTo(space);
    const ended = new AbortController();
    bridge.take(deliver(1, ended));
    await until(() => space.entries.size === 1, 'it is stored');
    ended.abort();
    await until(
      () => bridge.owed === 0,
      () => bridge.owed,
    );
    space.entries.clear();
    expect(confirmed).toEqual([]);
  });
});

describe('a bridged post', () => {
  const read = (data: unknown) => {
    const arrived = { msgId: 'm1', payload: { type: 'message', data } };
    const { channel, post } = bridgedPost({ arrived, space: 'main', node: 'node one', at: 5 });
    return { channel, message: JSON.parse(new TextDecoder().decode(post)) as Record<string, unknown> };
  };

  it('has the channel of the node, the id of the message, and its text', () => {
    const { channel, message } = read({ channel: 'general', text: 'hello', from: 'Bob' });
    expect(channel).toMatch(/^hosted\.node_one_[a-z0-9]+\.general$/);
    expect(message).toMatchObject({
      id: 'm1',
      channel,
      from: { name: 'Bob' },
      parts: [{ kind: 'text', text: 'hello' }],
    });
    expect(read({ text: 'x' }).channel).toMatch(/\.dm$/);
    expect(read(7).message.parts).toEqual([{ kind: 'data', data: { type: 'message', data: 7 } }]);
  });

  it('keeps two names apart that differ in what does not fit', () => {
    expect(segment('general')).toBe('general');
    expect(segment('a b')).not.toBe(segment('a.b'));
    expect(segment('ä'.repeat(60)).length).toBeLessThan(80);
  });

  it('reads mappings, each name once', () => {
    expect([...parseMap(['A=local.a', 'B c=x.y'])]).toEqual([
      ['A', 'local.a'],
      ['B c', 'x.y'],
    ]);
    for (const bad of [['A'], ['=local.a'], ['A=local.a', 'A=local.b']])
      expect(() => parseMap(bad)).toThrow(/no mapping/);
  });
});
