/** Writes that are stored in their turn or never, over a stream that stores what it is told to, when it is told to. */
import { expect, it } from 'vitest';
import type { BatchOutcome, EachOutcome, Outgoing } from '../../src/services/nats/batch.ts';
import { Chain } from '../../src/services/nats/chain.ts';
import type { Silent } from '../../src/services/ports.ts';

const message = (subject: string): Outgoing => ({ subject, data: new Uint8Array() });
const silent = { kind: 'silent', why: 'timeout' } as const;

/** A stream with sequences, and a network that may keep what is sent. */
function ground() {
  const stored: string[] = [];
  const kept: (() => void)[] = [];
  let seq = 0;
  let keeps = false;
  const refusals: EachOutcome[] = [];
  const put = ({ subject, expectLastSeq }: Outgoing): EachOutcome => {
    const refusal = refusals.shift();
    if (refusal !== undefined) return refusal;
    if (expectLastSeq !== undefined && expectLastSeq !== seq) return { kind: 'conflict' };
    stored.push(subject);
    return { kind: 'stored', seq: ++seq };
  };
  const send = async <T>(work: () => T): Promise<T | Silent> => {
    if (!keeps) return work();
    kept.push(work);
    return silent;
  };
  const broker = {
    each: (messages: readonly Outgoing[]) => send(() => messages.map(put)),
    batch: (messages: readonly Outgoing[]) =>
      send((): BatchOutcome => {
        const [head, ...rest] = messages;
        const first = head === undefined ? undefined : put(head);
        if (first?.kind !== 'stored') return first?.kind === 'duplicate' ? { kind: 'duplicate' } : (first ?? silentOne);
        for (const each of rest) put(each);
        return { kind: 'stored', lastSeq: first.seq + rest.length, count: messages.length };
      }),
    api: async () => silent,
  };
  return {
    /** What was stored, a barrier as one. */
    stored: () => stored.filter((subject, i) => subject !== 'barrier' || stored[i - 1] !== 'barrier'),
    refusals,
    chain: new Chain({ broker, stream: 'S', subject: 'barrier' }),
    /** Somebody else's. */
    steer: () => put(message('steered')),
    keep: () => {
      keeps = true;
    },
    release: () => {
      keeps = false;
      for (const work of kept.splice(0)) work();
    },
    pass: () => {
      keeps = false;
    },
  };
}
const silentOne: BatchOutcome = { kind: 'unanswered', why: 'timeout' };

it('what is sent in a row takes one turn', async () => {
  const { chain, stored } = ground();
  expect(await chain.batch([message('a'), message('b')])).toMatchObject({ kind: 'stored', lastSeq: 18 });
  expect(await chain.each([message('c'), message('d')])).toEqual([
    { kind: 'stored', seq: 19 },
    { kind: 'stored', seq: 20 },
  ]);
  expect(await chain.batch([message('e')])).toMatchObject({ lastSeq: 21 });
  expect(await chain.barrier()).toEqual({ kind: 'stands' });
  expect(stored()).toEqual(['barrier', 'a', 'b', 'c', 'd', 'e']);
});

it.each([
  ['batch', (chain: Chain) => chain.batch([message('late'), message('later')])],
  ['messages', (chain: Chain) => chain.each([message('late'), message('later')])],
])('%s that arrive after the next turn was taken are not stored', async (_what, send) => {
  const { chain, stored, keep, pass, release } = ground();
  await chain.batch([message('a')]);
  keep();
  expect(await send(chain)).toEqual(silent);
  pass();
  expect(await chain.barrier()).toEqual({ kind: 'stands' });
  release();
  expect(stored()).toEqual(['barrier', 'a', 'barrier']);
  expect(await chain.batch([message('b')])).toMatchObject({ kind: 'stored' });
});

it('what arrived before the turn was taken is there when it stands', async () => {
  const { chain, stored, keep, release } = ground();
  await chain.barrier();
  keep();
  await chain.batch([message('late')]);
  release();
  await chain.barrier();
  expect(stored()).toEqual(['barrier', 'late', 'barrier']);
});

it('a turn that is not answered stands for nothing', async () => {
  const { chain, keep } = ground();
  keep();
  expect(await chain.barrier()).toEqual(silent);
  expect(await chain.batch([message('a')])).toEqual(silent);
  expect(await chain.each([message('a')])).toEqual(silent);
});

it('a turn that is denied is told as a denial', async () => {
  const { chain, refusals } = ground();
  const denied = { kind: 'denied', subject: 'barrier', operation: 'publish' } as const;
  refusals.push(denied, denied, denied);
  expect(await chain.batch([message('a')])).toEqual(denied);
  expect(await chain.each([message('a'), message('b')])).toEqual([denied, denied]);
  expect(await chain.barrier()).toEqual(denied);
});

it('whoever lost the turn to somebody else takes it anew', async () => {
  const { chain, stored, steer } = ground();
  await chain.batch([message('a')]);
  steer();
  expect(await chain.batch([message('b')])).toMatchObject({ kind: 'stored' });
  steer();
  expect(await chain.each([message('c'), message('d')])).toMatchObject([{ kind: 'stored' }, { kind: 'stored' }]);
  // What came right behind the steered one found its own turn.
  expect(stored()).toEqual(['barrier', 'a', 'steered', 'barrier', 'b', 'steered', 'd', 'barrier', 'c']);
});

it('whoever loses three turns in a row goes without: nobody keeps it from going on', async () => {
  const { chain, refusals } = ground();
  const conflict = { kind: 'conflict' } as const;
  // A turn is of sixteen messages, of which the first one decides.
  const turn = Array.from({ length: 16 }, (_, n) => ({ kind: 'stored', seq: n + 1 }) as const);
  refusals.push(...turn, conflict, ...turn, conflict, ...turn, conflict, ...turn);
  expect(await chain.batch([message('a')])).toMatchObject({ kind: 'stored', lastSeq: 1 });
  refusals.push(conflict, ...turn, conflict, ...turn, conflict, ...turn);
  expect(await chain.each([message('b')])).toEqual([{ kind: 'stored', seq: 2 }]);
});

it('a message that is refused by itself keeps none of the others back', async () => {
  const { chain, refusals, stored } = ground();
  await chain.barrier();
  refusals.push({ kind: 'refused', code: 10_054, message: 'too large' });
  expect(await chain.each(['a', 'b', 'c'].map(message))).toMatchObject([
    { kind: 'refused' },
    { kind: 'stored' },
    { kind: 'stored' },
  ]);
  expect(stored()).toEqual(['barrier', 'b', 'c']);
});

it('more side by side than the barrier takes sequences are not sent', async () => {
  const { chain } = ground();
  await expect(chain.each(Array.from({ length: 17 }, () => message('a')))).rejects.toThrow('17 messages side by side');
});
