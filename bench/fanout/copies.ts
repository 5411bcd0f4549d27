/** Copies a second of the writer, against the same copies published one by one, pipelined, and in raw atomic batches. */
import { MEMBER_HEADER, WRITER_HEADER } from '../../src/domain/entry.ts';
import { memberKey } from '../../src/domain/names.ts';
import { entrySubject } from '../../src/domain/subjects.ts';
import { type Outgoing, publishEach } from '../../src/services/nats/batch.ts';
import { until } from '../../test/support/until.ts';
import { rounded } from '../figures.ts';
import { addMembers, type BenchSpace, openSpace, posts, storeAll, TIMEOUT_MS } from '../space.ts';
import { openWriter } from '../writer.ts';

export type Durability = 'strict' | 'relaxed';
type Say = (line: string) => void;
const CHANNEL = 'bench.general';
const SENDER = 'local.sender';

export async function measureFanout(of: { durability: Durability; posts: number; members: number; say: Say }) {
  const space = await openSpace({ durability: of.durability });
  try {
    const broker = space.mesh.binary.version;
    const members = await addMembers(space, { channel: CHANNEL, count: of.members });
    const copies = of.posts * of.members;
    const like = (run: string): Outgoing[] =>
      Array.from({ length: copies }, (_, i) => {
        const member = members[i % members.length] ?? { owner: 'x', actor: 'x', uid: 'x' };
        return {
          subject: entrySubject(space.mesh.space, member, CHANNEL),
          data: new Uint8Array(300).fill(120),
          headers: { [WRITER_HEADER]: 'bench', [MEMBER_HEADER]: memberKey(member) },
          msgId: `${run}-${i}-0123456789abcdef0123456789abcdef0123456789abcdef`,
        };
      });
    const singles = like('single');
    const pipelined = await perSecond(copies, () => publishAll(space, singles));
    of.say(`${of.durability}: ${Math.round(pipelined)} copies/s published one by one, pipelined`);
    const whole = like('whole');
    const atomic = await perSecond(copies, () => storeAll(space.delivery, whole));
    of.say(`${of.durability}: ${Math.round(atomic)} copies/s in raw atomic batches of 1000`);
    const copiesPerSecond = await fanOut(space, of.posts, copies);
    of.say(`${of.durability}: ${Math.round(copiesPerSecond)} copies/s by the writer`);
    return {
      broker,
      members: of.members,
      copies,
      copiesPerSecond: Math.round(copiesPerSecond),
      pipelinedPerSecond: Math.round(pipelined),
      atomicPerSecond: Math.round(atomic),
      ratioToPipelined: rounded(copiesPerSecond / pipelined),
      ratioToAtomic: rounded(copiesPerSecond / atomic),
    };
  } finally {
    await space.mesh.dispose();
  }
}

/** The writer over a backlog that waits: copies a second from its start until every post is settled. */
async function fanOut(space: BenchSpace, count: number, copies: number): Promise<number> {
  const sender = await space.mesh.addAgent({ name: 'sender', post: ['>'] });
  const connection = await space.mesh.connect(sender.credential);
  await storeAll(connection, posts(space.mesh.space, { channel: CHANNEL, count, bytes: 200, from: SENDER }));
  const writer = await openWriter(space);
  try {
    return await perSecond(copies, async () => {
      writer.start();
      await until(
        () => writer.tally.get('posts.settled') >= count,
        () => JSON.stringify(writer.tally.all()),
        300_000,
      );
    });
  } finally {
    await writer.stop();
  }
}

/** Milliseconds a copy, by how many members the channel has; each on a mesh of its own. */
export async function measureCostPerCopy(of: { members: readonly number[]; copies: number; say: Say }) {
  const cost: Record<string, number> = {};
  for (const count of of.members) {
    const space = await openSpace({ durability: 'relaxed' });
    try {
      await addMembers(space, { channel: CHANNEL, count });
      const rate = await fanOut(space, Math.ceil(of.copies / count), of.copies);
      cost[String(count)] = rounded(1000 / rate, 5);
      of.say(`${count} members: ${Math.round(rate)} copies/s`);
    } finally {
      await space.mesh.dispose();
    }
  }
  const all = Object.values(cost);
  return { ...cost, spread: rounded(Math.max(...all) / Math.min(...all)) };
}

async function publishAll(space: BenchSpace, messages: readonly Outgoing[]): Promise<void> {
  const outcomes = await publishEach({ connection: space.delivery, messages, timeoutMs: TIMEOUT_MS });
  const bad = outcomes.find((outcome) => outcome.kind !== 'stored');
  if (bad !== undefined) throw new Error(`a single publish of the bench: ${JSON.stringify(bad)}`);
}

async function perSecond(count: number, work: () => Promise<void>): Promise<number> {
  const started = performance.now();
  await work();
  return count / ((performance.now() - started) / 1000);
}
