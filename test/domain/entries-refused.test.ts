/** What becomes of a round of which the broker takes one part and not the other (found on a cluster, torture seed 102). */
import { describe, expect, it } from 'vitest';
import type { EachOutcome } from '../../src/services/nats/batch.ts';
import { natsEntries } from '../../src/services/nats/entries.ts';
import type { GatedBroker } from '../../src/services/nats/gated-broker.ts';
import type { EntryToStore } from '../../src/services/ports.ts';

const member = { owner: 'local', actor: 'bob', uid: 'b'.repeat(26) };
const entry: EntryToStore = {
  member,
  key: `local.bob.${member.uid}`,
  channel: 'ops',
  data: new Uint8Array(1),
  id: 'id',
  entry: { channel: 'ops', seq: 1, reason: 'durable-channel', generation: 1 },
  post: new Uint8Array(1),
};
const refusedWith = (code: number): EachOutcome => ({ kind: 'refused', code, message: 'no' });
const answered = (...outcomes: EachOutcome[]) => {
  const broker = { each: async () => outcomes } as unknown as GatedBroker;
  return natsEntries({ broker, space: 'main', incarnation: 'd' }).storeEach({ entries: outcomes.map(() => entry) });
};

describe('entries that are stored one by one', () => {
  it('are all owed still when the broker refuses one for a reason of its own, whatever became of the others', async () => {
    for (const code of [10008, 10023, 10047, 10077]) {
      expect(await answered({ kind: 'stored', seq: 1 }, refusedWith(code))).toMatchObject({ kind: 'silent' });
    }
  });

  it('are owed still when an earlier one with the same id is not decided in the cluster', async () => {
    const inProcess: EachOutcome = { kind: 'unanswered', why: 'in-process' };
    expect(await answered({ kind: 'duplicate', seq: 1 }, inProcess)).toMatchObject({ kind: 'silent' });
  });

  it('are dropped by name where they are too large by themselves', async () => {
    expect(await answered({ kind: 'stored', seq: 1 }, refusedWith(10054))).toEqual({
      kind: 'stored',
      known: [],
      refused: [{ index: 1, code: '10054' }],
    });
  });
});
