/** Posts, copies that count what is done with them, and a receiver for both. */
import { type Confirmed, type CopyInHand, Receiver, type ReceiverSetting } from '../../src/client/receiver.ts';
import type { Message } from '../../src/domain/message.ts';

export const post = (id: string, { from = 'local.alice', channel = 'team' } = {}): Message => ({
  id,
  ts: 1,
  space: 'main',
  from: { id: from, name: 'Alice' },
  channel,
  parts: [{ kind: 'text', text: id }],
});

export interface TestCopy extends CopyInHand {
  confirmed: number;
  givenBack: number;
}
export const copyOf = (
  copySeq: number,
  more: { redelivered?: boolean; answer?: Confirmed; generation?: number; seq?: number } = {},
): TestCopy => {
  const copy: TestCopy = {
    channel: 'team',
    seq: more.seq ?? 100 + copySeq,
    generation: more.generation ?? 1,
    copySeq,
    redelivered: more.redelivered ?? false,
    confirmed: 0,
    givenBack: 0,
    confirm: async () => {
      copy.confirmed++;
      return more.answer ?? { kind: 'confirmed' };
    },
    giveBack: () => {
      copy.givenBack++;
    },
  };
  return copy;
};

export function receiverOf(more: Partial<ReceiverSetting> = {}) {
  const seen = { announced: 0, dropped: 0 };
  const receiver = new Receiver({
    remembered: 100,
    waitingLive: 100,
    announced: () => {
      seen.announced++;
    },
    dropped: (count) => {
      seen.dropped += count;
    },
    ...more,
  });
  const takeAll = () => {
    const all = [];
    for (let next = receiver.take(); next !== undefined; next = receiver.take()) all.push(next);
    return all;
  };
  return { receiver, seen, takeAll };
}
