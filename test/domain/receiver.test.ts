import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Receiver } from '../../src/client/receiver.ts';
import { copyOf, post, receiverOf } from '../support/receiver.ts';

describe('the receiver', () => {
  it('surfaces a post once, whether it comes live, as history and as a copy, in any order', async () => {
    const ways = {
      live: (receiver: Receiver) => receiver.offerLive(post('a')),
      backfill: (receiver: Receiver) => receiver.offerBackfill(post('a'), 7),
      durable: (receiver: Receiver) => receiver.offerCopy(post('a'), copyOf(1)),
    };
    for (const order of [
      ['live', 'backfill', 'durable'],
      ['durable', 'live', 'backfill'],
      ['backfill', 'durable', 'live'],
    ] as const) {
      const { receiver, takeAll } = receiverOf();
      const surfaced = [];
      for (const way of order) {
        ways[way](receiver);
        surfaced.push(...takeAll());
      }
      expect(surfaced.map(({ source }) => source)).toEqual([order[0]]);
    }
  });

  it('tells the sequence of the copy where a live post still waits to be taken', () => {
    const { receiver, takeAll } = receiverOf();
    receiver.offerLive(post('a'));
    receiver.offerCopy(post('a'), copyOf(1));
    expect(takeAll()).toMatchObject([{ seq: 101, durable: true, source: 'durable' }]);
  });

  it('announces a redelivery of a copy that was not confirmed again (RDR-11)', async () => {
    const { receiver, seen, takeAll } = receiverOf();
    receiver.offerCopy(post('a'), copyOf(1));
    takeAll();
    const again = copyOf(1, { redelivered: true });
    receiver.offerCopy(post('a'), again);
    expect(seen.announced).toBe(2);
    const [surfaced] = takeAll();
    expect(surfaced?.redelivered).toBe(true);
    await surfaced?.confirm();
    expect(again.confirmed).toBe(1);
  });

  it('announces it again also where the first announcement was a live one that nobody confirmed (RDR-11)', () => {
    const { receiver, takeAll } = receiverOf();
    receiver.offerLive(post('a'));
    takeAll();
    receiver.offerCopy(post('a'), copyOf(1));
    expect(takeAll()).toEqual([]);
    receiver.offerCopy(post('a'), copyOf(1, { redelivered: true }));
    expect(takeAll()).toMatchObject([{ durable: true, redelivered: true }]);
  });

  it('does not announce a redelivery twice while the first announcement still waits', () => {
    const { receiver, takeAll } = receiverOf();
    receiver.offerCopy(post('a'), copyOf(1));
    receiver.offerCopy(post('a'), copyOf(1, { redelivered: true }));
    expect(takeAll()).toHaveLength(1);
  });

  it('never takes two posts without an id for one, but knows a copy by its own sequence', async () => {
    const { receiver, takeAll } = receiverOf();
    receiver.offerCopy(post(''), copyOf(1));
    receiver.offerCopy(post(''), copyOf(2));
    receiver.offerLive(post(''));
    receiver.offerLive(post(''));
    const surfaced = takeAll();
    expect(surfaced).toHaveLength(4);
    await surfaced[0]?.confirm();
    const again = copyOf(1, { redelivered: true });
    receiver.offerCopy(post(''), again);
    expect([takeAll(), again.confirmed]).toEqual([[], 1]);
  });

  it('takes a copy without an id for another one where the broker gave its sequence out again', async () => {
    const { receiver, takeAll } = receiverOf();
    receiver.offerCopy(post(''), copyOf(1, { seq: 7 }));
    await receiver.take()?.confirm();
    const other = copyOf(1, { seq: 8 });
    receiver.offerCopy(post(''), other);
    expect([takeAll().map(({ seq }) => seq), other.confirmed]).toEqual([[8], 0]);
  });

  it('takes the same id of another sender, or on another channel, for another post', () => {
    const { receiver, takeAll } = receiverOf();
    receiver.offerLive(post('a'));
    receiver.offerLive(post('a', { from: 'local.bob' }));
    receiver.offerLive(post('a', { channel: 'news' }));
    expect(takeAll()).toHaveLength(3);
  });

  it('gives back every copy that was not confirmed, taken or not, and keeps live posts', async () => {
    const { receiver, takeAll } = receiverOf();
    const [confirmed, taken, waiting] = [copyOf(1), copyOf(2), copyOf(3)];
    receiver.offerCopy(post('a'), confirmed);
    await receiver.take()?.confirm();
    receiver.offerCopy(post('b'), taken);
    receiver.take();
    receiver.offerCopy(post('c'), waiting);
    receiver.offerLive(post('d'));
    receiver.giveBack();
    expect([confirmed, taken, waiting].map(({ givenBack }) => givenBack)).toEqual([0, 1, 1]);
    expect(takeAll().map(({ message }) => message.id)).toEqual(['d']);
    receiver.offerCopy(post('c'), copyOf(3, { redelivered: true }));
    expect(takeAll().map(({ message }) => message.id)).toEqual(['c']);
  });

  it('passes over a copy that is not wanted, neither confirming it nor giving it back', () => {
    const { receiver } = receiverOf();
    const unwanted = copyOf(1, { generation: 1 });
    receiver.offerCopy(post('a'), unwanted);
    receiver.offerCopy(post('b'), copyOf(2, { generation: 2 }));
    expect(receiver.take(({ generation }) => generation > 1)?.message.id).toBe('b');
    receiver.giveBack();
    expect([unwanted.confirmed, unwanted.givenBack]).toEqual([0, 0]);
  });

  it('forgets what of one channel waits without a copy, and nothing else', () => {
    const { receiver, seen, takeAll } = receiverOf({ waitingLive: 2 });
    receiver.offerLive(post('a'));
    receiver.offerBackfill(post('b'), 7);
    receiver.dropUncopied('team');
    receiver.offerCopy(post('c'), copyOf(1));
    receiver.offerLive(post('d', { channel: 'news' }));
    receiver.dropUncopied('team');
    receiver.offerBackfill(post('a'), 6);
    expect(takeAll().map(({ message }) => message.id)).toEqual(['c', 'd', 'a']);
    expect(seen.dropped).toBe(0);
  });

  it('remembers a bounded number of posts, however many come', () => {
    const { receiver, takeAll } = receiverOf({ remembered: 10 });
    for (let n = 0; n < 1_000; n++) {
      receiver.offerLive(post(`p${n}`));
      takeAll();
    }
    expect(receiver.size).toBe(10);
    receiver.offerLive(post('p999'));
    expect(takeAll()).toEqual([]);
    receiver.offerLive(post('p1'));
    expect(takeAll()).toHaveLength(1);
  });

  it('drops the oldest live posts where nobody takes them, and no copy', () => {
    const { receiver, seen, takeAll } = receiverOf({ waitingLive: 2 });
    receiver.offerCopy(post('copy'), copyOf(1));
    for (const id of ['a', 'b', 'c']) receiver.offerLive(post(id));
    expect(seen.dropped).toBe(1);
    expect(takeAll().map(({ message }) => message.id)).toEqual(['copy', 'b', 'c']);
  });

  it('holds over random histories: announced at least once, never again once the caller said surfaced', async () => {
    type Act = { kind: 'live' | 'copy' | 'take' | 'giveBack'; id: number };
    const act = fc.record<Act>({
      kind: fc.constantFrom('live', 'copy', 'take', 'giveBack'),
      id: fc.integer({ min: 0, max: 4 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 60 }), async (acts) => {
        const { receiver } = receiverOf();
        const offered = new Set<string>();
        const said = new Set<string>();
        const delivered = new Map<number, number>();
        for (const { kind, id } of acts) {
          if (kind === 'live') receiver.offerLive(post(`${id}`));
          if (kind === 'copy') {
            const times = (delivered.get(id) ?? 0) + 1;
            delivered.set(id, times);
            receiver.offerCopy(post(`${id}`), copyOf(id, { redelivered: times > 1 }));
          }
          if (kind === 'live' || kind === 'copy') offered.add(`${id}`);
          if (kind === 'giveBack') receiver.giveBack();
          if (kind !== 'take') continue;
          const next = receiver.take();
          if (next === undefined) continue;
          expect(said.has(next.message.id)).toBe(false);
          await next.confirm();
          said.add(next.message.id);
        }
        for (const [id] of delivered) receiver.offerCopy(post(`${id}`), copyOf(id, { redelivered: true }));
        for (let next = receiver.take(); next !== undefined; next = receiver.take()) {
          expect(said.has(next.message.id)).toBe(false);
          await next.confirm();
          said.add(next.message.id);
        }
        for (const [id] of delivered) expect(said.has(`${id}`)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});
