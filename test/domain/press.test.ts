import { expect, it } from 'vitest';
import type { BatchOutcome, EachOutcome, Outgoing } from '../../src/services/nats/batch.ts';
import { Press } from '../../src/services/nats/press.ts';
import type { Silent } from '../../src/services/ports.ts';

const message = (subject: string): Outgoing => ({ subject, data: new Uint8Array(1) });
const silent = { kind: 'silent', why: 'timeout' } as const;

/** A broker that answers what it was asked when it is told to. */
function slowBroker() {
  const asked: { how: 'batch' | 'each'; subjects: string[] }[] = [];
  const answers: ((outcome: never) => void)[] = [];
  const hear =
    <O>(how: 'batch' | 'each') =>
    (messages: readonly Outgoing[]) =>
      new Promise<O>((answer) => {
        asked.push({ how, subjects: messages.map(({ subject }) => subject) });
        answers.push(answer);
      });
  return {
    asked,
    batch: hear<BatchOutcome | Silent>('batch'),
    each: hear<EachOutcome[] | Silent>('each'),
    answer: (outcome: BatchOutcome | EachOutcome[] | Silent) => answers.at(-1)?.(outcome as never),
  };
}
const turn = () => new Promise((resolve) => setImmediate(resolve));

it('sends what came meanwhile together, in one batch, and tells each group where its last message is', async () => {
  const broker = slowBroker();
  const press = new Press(broker);
  const first = press.store([message('a'), message('b')]);
  await turn();
  const others = [press.store([message('c'), message('d')]), press.store([message('e')])];
  broker.answer({ kind: 'stored', lastSeq: 2, count: 2 });
  expect(await first).toEqual({ kind: 'stored', lastSeq: 2 });
  await turn();
  expect(broker.asked).toEqual([
    { how: 'batch', subjects: ['a', 'b'] },
    { how: 'batch', subjects: ['c', 'd', 'e'] },
  ]);
  broker.answer({ kind: 'stored', lastSeq: 5, count: 3 });
  expect(await Promise.all(others)).toEqual([
    { kind: 'stored', lastSeq: 4 },
    { kind: 'stored', lastSeq: 5 },
  ]);
});

it('publishes a few groups of one message side by side, each with an outcome of its own, and many in one batch', async () => {
  const broker = slowBroker();
  const press = new Press(broker);
  const few = ['a', 'b', 'c'].map((subject) => press.store([message(subject)]));
  await turn();
  expect(broker.asked).toEqual([{ how: 'each', subjects: ['a', 'b', 'c'] }]);
  broker.answer([
    { kind: 'stored', seq: 7 },
    { kind: 'refused', code: 10054, message: 'too large' },
    { kind: 'duplicate', seq: 3 },
  ]);
  expect(await Promise.all(few)).toEqual([
    { kind: 'stored', lastSeq: 7 },
    { kind: 'refused', code: '10054', message: 'too large' },
    { kind: 'duplicate' },
  ]);
  await turn();
  const many = Array.from({ length: 17 }, (_, i) => press.store([message(`${i}`)]));
  await turn();
  expect(broker.asked[1]).toMatchObject({ how: 'batch' });
  broker.answer({ kind: 'stored', lastSeq: 27, count: 17 });
  expect(await many[0]).toEqual({ kind: 'stored', lastSeq: 11 });
});

it('tries the groups of a refused batch one by one: one group’s fault is not another’s', async () => {
  const broker = slowBroker();
  const press = new Press(broker);
  const groups = [press.store([message('a'), message('b')]), press.store([message('c'), message('d')])];
  await turn();
  const refused = { kind: 'refused', code: 10054, message: 'too large' } as const;
  broker.answer(refused);
  await turn();
  broker.answer({ kind: 'stored', lastSeq: 2, count: 2 });
  await turn();
  broker.answer(refused);
  expect(await Promise.all(groups)).toEqual([
    { kind: 'stored', lastSeq: 2 },
    { kind: 'refused', code: '10054', message: 'too large' },
  ]);
  expect(broker.asked.map(({ subjects }) => subjects.join(''))).toEqual(['abcd', 'ab', 'cd']);
});

it.each([
  ['one batch', ['a', 'b'], silent],
  ['one message', ['a'], [{ kind: 'unanswered', why: 'timeout' }] satisfies EachOutcome[]],
] as const)(
  'does not send what waited behind %s that was never answered: it was authorized before that',
  async (_, subjects, outcome) => {
    const broker = slowBroker();
    const press = new Press(broker);
    const first = press.store(subjects.map(message));
    await turn();
    const waiting = press.store([message('c')]);
    broker.answer(Array.isArray(outcome) ? [...outcome] : (outcome as Silent));
    expect(await Promise.all([first, waiting])).toEqual([silent, silent]);
    await turn();
    expect(broker.asked).toHaveLength(1);
    const next = press.store([message('d')]);
    await turn();
    broker.answer([{ kind: 'stored', seq: 7 }]);
    expect(await next).toEqual({ kind: 'stored', lastSeq: 7 });
  },
);
