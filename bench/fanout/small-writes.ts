/** What storing a few messages takes as one atomic batch and side by side, milliseconds: why the press publishes a few singly. */
import { copySubject } from '../../src/domain/subjects.ts';
import { type Outgoing, publishBatch, publishEach } from '../../src/services/nats/batch.ts';
import { quantile, rounded } from '../figures.ts';
import { openSpace, TIMEOUT_MS } from '../space.ts';
import type { Durability } from './copies.ts';

const ROUNDS = 60;
const WARM = 10;

export async function measureSmallWrites(of: {
  durability: Durability;
  counts: readonly number[];
  say: (line: string) => void;
}): Promise<Record<string, { batchMs: number; singlyMs: number }>> {
  const { delivery: connection, mesh } = await openSpace({ durability: of.durability });
  const messages = (count: number, round: number): Outgoing[] =>
    Array.from({ length: count }, (_, i) => ({
      subject: copySubject(mesh.space, { owner: 'bench', actor: `m${i}`, uid: 'x'.repeat(26) }, `c${round}`),
      data: new Uint8Array(300).fill(120),
    }));
  const timed = async (work: () => Promise<unknown>): Promise<number> => {
    const started = performance.now();
    await work();
    return performance.now() - started;
  };
  const figures: Record<string, { batchMs: number; singlyMs: number }> = {};
  try {
    for (const count of of.counts) {
      const [batch, singly]: [number[], number[]] = [[], []];
      for (let round = 0; round < ROUNDS; round++) {
        const asked = { connection, messages: messages(count, round), timeoutMs: TIMEOUT_MS };
        batch.push(await timed(() => publishBatch(asked)));
        singly.push(await timed(() => publishEach(asked)));
      }
      const [batchMs, singlyMs] = [batch, singly].map((all) => rounded(quantile(all.slice(WARM), 0.5))) as [
        number,
        number,
      ];
      figures[String(count)] = { batchMs, singlyMs };
      of.say(`${of.durability}: ${count} messages in ${batchMs} ms as one batch, in ${singlyMs} ms side by side`);
    }
    return figures;
  } finally {
    await mesh.dispose();
  }
}
