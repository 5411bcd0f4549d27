/** How long a daemon takes from its spawn to a ready lease, with nothing pending and with a large backlog; and its memory. */
import { encodeEntry, MEMBER_HEADER, WRITER_HEADER } from '../../src/domain/entry.ts';
import { memberKey } from '../../src/domain/names.ts';
import { entrySubject } from '../../src/domain/subjects.ts';
import { until } from '../../test/support/until.ts';
import { startDaemon } from '../child.ts';
import { mib, rounded } from '../figures.ts';
import { addMembers, openSpace, posts, storeAll } from '../space.ts';

const CHANNEL = 'bench.general';

export async function measureStarts(of: { members: number; entries: number; say: (line: string) => void }) {
  const space = await openSpace({ durability: 'relaxed' });
  try {
    const members = await addMembers(space, { channel: CHANNEL, count: of.members });
    await (await startDaemon(space.mesh)).stop();
    const empty = await startDaemon(space.mesh);
    const idle = await empty.ask();
    await empty.stop();
    of.say(`start with nothing pending: ${Math.round(empty.readyMs)} ms, ${mib(idle.rss)} MiB`);

    const [post] = posts(space.mesh.space, { channel: CHANNEL, count: 1, bytes: 200 });
    const body = post?.data ?? new Uint8Array();
    for (let i = 0; i < of.entries; i++) {
      await storeAll(
        space.delivery,
        members.map((member) => ({
          subject: entrySubject(space.mesh.space, member, CHANNEL),
          data: encodeEntry(body, { channel: CHANNEL, seq: i + 1, reason: 'durable-channel', generation: 1 }),
          headers: { [WRITER_HEADER]: 'bench', [MEMBER_HEADER]: memberKey(member) },
        })),
      );
    }
    const total = of.members * of.entries;
    // Once so that everything is handed off, then the start that is measured.
    const first = await startDaemon(space.mesh);
    await until(
      async () => ((await first.ask()).tally['copies.handed-off'] ?? 0) >= total,
      async () => (await first.ask()).tally,
      300_000,
    );
    const handing = await first.ask();
    await first.stop();
    const again = await startDaemon(space.mesh);
    await until(async () => (await again.ask()).rss > 0, 'the daemon says nothing');
    const peak = await watchRss(again.ask, 10_000);
    await again.stop();
    of.say(`start with ${total} pending: ${Math.round(again.readyMs)} ms, at most ${mib(peak)} MiB`);
    return {
      spawnToReadyMs: Math.round(empty.readyMs),
      pending: total,
      handOffToReadyMs: Math.round(first.readyMs),
      withPendingToReadyMs: Math.round(again.readyMs),
      ratio: rounded(again.readyMs / empty.readyMs),
      idleRssMiB: mib(idle.rss),
      handingOffRssMiB: mib(handing.rss),
      rssGrowthMiB: mib(peak) - mib(idle.rss),
    };
  } finally {
    await space.mesh.dispose();
  }
}

/** Largest resident set seen while the daemon takes its places up again. */
async function watchRss(ask: () => Promise<{ rss: number }>, forMs: number): Promise<number> {
  let peak = 0;
  for (const end = performance.now() + forMs; performance.now() < end; ) {
    peak = Math.max(peak, (await ask()).rss);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return peak;
}
