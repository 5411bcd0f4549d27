/** A daemon over pending entries of members that are away: its start, its memory, and what a copy then costs. */
import { setTimeout as pause } from 'node:timers/promises';
import { encodeEntry, MEMBER_HEADER, WRITER_HEADER } from '../../src/domain/entry.ts';
import { type Member, memberKey } from '../../src/domain/names.ts';
import { entrySubject } from '../../src/domain/subjects.ts';
import { until } from '../../test/support/until.ts';
import { type ChildDaemon, startDaemon } from '../child.ts';
import { mib } from '../figures.ts';
import { heldBy } from '../processes.ts';
import { addMembers, openSpace, posts, type SpaceAtHand, storeAll } from '../space.ts';
import { CHANNEL, copying, rest } from './copying.ts';

const LOOK_MS = 200;
/** Memory is watched for so long after the start. */
const WATCH_MS = 15_000;
/** Longest that places are waited for. */
const PLACING_MS = 600_000;
/** Entries that are stored in one go, members after members. */
const ROUND = 10;

export async function backlogCurve(of: {
  pending: readonly number[];
  members: number;
  posts: number;
  say: (line: string) => void;
  at: (part: number) => void;
}) {
  const curve = [];
  let idleRss = 0;
  for (const [i, pending] of of.pending.entries()) {
    const space = await openSpace({ durability: 'relaxed' });
    try {
      const members = await addMembers(space, { channel: CHANNEL, count: of.members });
      await (await startDaemon(space.mesh)).stop();
      of.say(`storing ${pending} pending entries`);
      await owe(space, members, Math.round(pending / of.members));
      // Over entries that nobody has looked at, and over the same ones handed off.
      const first = await startDaemon(space.mesh);
      const peak = await watchRss(first);
      await rest(space, first);
      await first.stop();
      const placing = { began: performance.now(), cpuMs: heldBy(space.mesh.pid()).cpuMs };
      const daemon = await startDaemon(space.mesh);
      const watched = watchRss(daemon);
      const { placedS, brokerMs } = await placed(space, daemon, {
        ...placing,
        members: pending === 0 ? 0 : of.members,
      });
      const again = await watched;
      await rest(space, daemon);
      if (i === 0) idleRss = peak;
      const cost = await copying(space, daemon, { count: of.posts, members: of.members });
      const { rss } = await daemon.ask();
      await daemon.stop();
      curve.push({
        pending,
        startToReadyMs: Math.round(first.readyMs),
        restartToReadyMs: Math.round(daemon.readyMs),
        // From its start until every lane has found its place again, and the broker's time for it, by entry.
        placedS,
        placedBrokerUs: pending === 0 ? 0 : Math.round((brokerMs * 1_000) / pending),
        rssGrowthMiB: mib(peak - idleRss),
        rssGrowthAtRestartMiB: mib(again - idleRss),
        ...cost,
        daemonRssMiB: mib(rss),
      });
      of.say(`${pending} pending: ready in ${Math.round(first.readyMs)} ms, ${cost.daemonUs} µs a copy in the daemon`);
    } finally {
      await space.mesh.dispose();
    }
    of.at((i + 1) / of.pending.length);
  }
  return curve;
}

async function owe(space: SpaceAtHand, members: readonly Member[], each: number): Promise<void> {
  const [post] = posts(space.mesh.space, { channel: CHANNEL, count: 1, bytes: 200 });
  const body = post?.data ?? new Uint8Array();
  for (let from = 0; from < each; from += ROUND) {
    const round = Array.from({ length: Math.min(ROUND, each - from) }, (_, n) => from + n + 1);
    await storeAll(
      space.delivery,
      round.flatMap((seq) =>
        members.map((member) => ({
          subject: entrySubject(space.mesh.space, member, CHANNEL),
          data: encodeEntry(body, { channel: CHANNEL, seq, reason: 'durable-channel', generation: 1 }),
          headers: { [WRITER_HEADER]: 'bench', [MEMBER_HEADER]: memberKey(member) },
        })),
      ),
    );
  }
}

/** Waits until the lanes of so many members have found their place. */
async function placed(
  space: SpaceAtHand,
  daemon: ChildDaemon,
  { began, cpuMs, members }: { began: number; cpuMs: number; members: number },
) {
  const count = ({ tally }: { tally: Record<string, number> }) =>
    Object.entries(tally).reduce((sum, [name, n]) => sum + (name.startsWith('lanes.placed') ? n : 0), 0);
  await until(
    async () => count(await daemon.ask()) >= members,
    async () => (await daemon.ask()).tally,
    PLACING_MS,
  );
  const placedS = Number(((performance.now() - began) / 1_000).toFixed(1));
  return { placedS, brokerMs: heldBy(space.mesh.pid()).cpuMs - cpuMs };
}

/** Largest resident set seen in the time after the start. */
async function watchRss(daemon: ChildDaemon): Promise<number> {
  let peak = 0;
  for (const end = performance.now() + WATCH_MS; performance.now() < end; await pause(LOOK_MS)) {
    peak = Math.max(peak, (await daemon.ask()).rss);
  }
  return peak;
}
