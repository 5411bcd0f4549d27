import { describe, expect, it } from 'vitest';
import { copyOf, post, receiverOf } from '../support/receiver.ts';

describe('the receiver, told that a post was surfaced', () => {
  it('confirms the copy of a post that was surfaced live, when the caller says so and not before', async () => {
    const { receiver, takeAll } = receiverOf();
    receiver.offerLive(post('a'));
    const [live] = takeAll();
    const copy = copyOf(1);
    receiver.offerCopy(post('a'), copy);
    expect(copy.confirmed).toBe(0);
    expect(await live?.confirm()).toEqual({ kind: 'confirmed' });
    expect(copy.confirmed).toBe(1);
  });

  it('confirms a copy that comes after the caller said surfaced, without announcing it', async () => {
    const { receiver, takeAll } = receiverOf();
    receiver.offerLive(post('a'));
    expect(await takeAll()[0]?.confirm()).toEqual({ kind: 'noted' });
    const copy = copyOf(1);
    receiver.offerCopy(post('a'), copy);
    expect([takeAll(), copy.confirmed]).toEqual([[], 1]);
  });

  it('confirms the redelivery of a confirmation that was not answered, without announcing it', async () => {
    const { receiver, takeAll } = receiverOf();
    receiver.offerCopy(post('a'), copyOf(1, { answer: { kind: 'unanswered', why: 'timeout' } }));
    expect(await takeAll()[0]?.confirm()).toEqual({ kind: 'unanswered', why: 'timeout' });
    const again = copyOf(1, { redelivered: true });
    receiver.offerCopy(post('a'), again);
    expect([takeAll(), again.confirmed]).toEqual([[], 1]);
  });

  it.each(['again', 'never again'])(
    'forgets in its turn what was confirmed without an answer and came %s',
    async (comes) => {
      const { receiver, takeAll } = receiverOf({ remembered: 1 });
      receiver.offerCopy(post('a'), copyOf(1, { answer: { kind: 'unanswered', why: 'timeout' } }));
      await receiver.take()?.confirm();
      if (comes === 'again') receiver.offerCopy(post('a'), copyOf(1, { redelivered: true }));
      for (const id of ['b', 'c']) {
        receiver.offerLive(post(id));
        await takeAll()[0]?.confirm();
      }
      expect([receiver.size, receiver.knows(post('a')), receiver.knows(post('c'))]).toEqual([1, false, true]);
    },
  );

  it('does not hand out again what the caller confirmed while its redelivery was queued', async () => {
    const { receiver, takeAll } = receiverOf();
    receiver.offerCopy(post('a'), copyOf(1));
    const first = receiver.take();
    const again = copyOf(1, { redelivered: true });
    receiver.offerCopy(post('a'), again);
    expect(await first?.confirm()).toEqual({ kind: 'confirmed' });
    expect([takeAll(), again.confirmed, receiver.duplicates]).toEqual([[], 1, 1]);
  });

  it('confirms one that was forgotten and came again meanwhile, and does not hand it out again', async () => {
    const { receiver, takeAll } = receiverOf({ remembered: 1 });
    receiver.offerLive(post('a'));
    const [first] = takeAll();
    receiver.offerLive(post('b'));
    takeAll();
    const copy = copyOf(1);
    receiver.offerCopy(post('a'), copy);
    await first?.confirm();
    expect([takeAll(), copy.confirmed]).toEqual([[], 1]);
  });
});
