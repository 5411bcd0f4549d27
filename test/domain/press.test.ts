import { expect, it } from 'vitest';
import type { BatchOutcome, Outgoing } from '../../src/services/nats/batch.ts';
import { Press } from '../../src/services/nats/press.ts';
import type { Silent } from '../../src/services/ports.ts';

const message = (subject: string): Outgoing => ({ subject, data: new Uint8Array(1) });

/** A broker that answers a batch when it is told to. */
function slowBroker() {
  const asked: { subjects: string[]; answer(outcome: BatchOutcome | Silent): void }[] = [];
  return {
    asked,
    batch: (messages: readonly Outgoing[]) =>
      new Promise<BatchOutcome | Silent>((answer) => {
        asked.push({ subjects: messages.map(({ subject }) => subject), answer });
      }),
  };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

it('sends what came during a batch together in the next one', async () => {
  const broker = slowBroker();
  const press = new Press(broker);
  const first = press.store([message('a')]);
  await turn();
  const others = [press.store([message('b'), message('c')]), press.store([message('d')])];
  broker.asked[0]?.answer({ kind: 'stored', lastSeq: 1, count: 1 });
  expect(await first).toEqual({ kind: 'stored', lastSeq: 1 });
  await turn();
  expect(broker.asked[1]?.subjects).toEqual(['b', 'c', 'd']);
  broker.asked[1]?.answer({ kind: 'stored', lastSeq: 4, count: 3 });
  expect(await Promise.all(others)).toEqual([
    { kind: 'stored', lastSeq: 3 },
    { kind: 'stored', lastSeq: 4 },
  ]);
});

it('does not send what waited behind a batch that was never answered: it was authorized before that', async () => {
  const broker = slowBroker();
  const press = new Press(broker);
  const first = press.store([message('a')]);
  await turn();
  const waiting = press.store([message('b')]);
  const silent = { kind: 'silent', why: 'timeout' } as const;
  broker.asked[0]?.answer(silent);
  expect(await Promise.all([first, waiting])).toEqual([silent, silent]);
  await turn();
  expect(broker.asked).toHaveLength(1);
  const next = press.store([message('c')]);
  await turn();
  broker.asked[1]?.answer({ kind: 'stored', lastSeq: 7, count: 1 });
  expect(await next).toEqual({ kind: 'stored', lastSeq: 7 });
});
