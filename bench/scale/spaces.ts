/** Spaces on one broker, a daemon each, all under this process: what they do together, and what they hold when idle. */
import { setTimeout as pause } from 'node:timers/promises';
import { startMesh } from '../../test/support/mesh.ts';
import { type ChildDaemon, startDaemon } from '../child.ts';
import { mib, rounded } from '../figures.ts';
import { heldBy } from '../processes.ts';
import { addMembers, atHand } from '../space.ts';
import { CHANNEL, copying, rest } from './copying.ts';

const IDLE_MS = 10_000;

export async function spacesCurve(of: {
  spaces: readonly number[];
  members: number;
  copies: number;
  say: (line: string) => void;
  at: (part: number) => void;
}) {
  const curve = [];
  for (const [i, count] of of.spaces.entries()) {
    const [first = 's0', ...besides] = Array.from({ length: count }, (_, n) => `s${n}`);
    const mesh = await startMesh({ space: first, besides });
    const daemons: ChildDaemon[] = [];
    try {
      const spaces = [];
      for (const each of [mesh, ...mesh.others]) {
        const space = await atHand(each);
        await addMembers(space, { channel: CHANNEL, count: of.members });
        spaces.push(space);
        daemons.push(await startDaemon(each));
      }
      for (const [n, space] of spaces.entries()) {
        const daemon = daemons[n];
        if (daemon !== undefined) await rest(space, daemon);
      }
      const idle = await idling(daemons, mesh.pid());
      const posts = Math.ceil(of.copies / count / of.members);
      const began = performance.now();
      const costs = await Promise.all(
        spaces.map((space, n) => {
          const daemon = daemons[n];
          if (daemon === undefined) throw new Error('a daemon for each space');
          return copying(space, daemon, { count: posts, members: of.members });
        }),
      );
      // A space's own rate is that of all of them at work at once; together they store so many times as much.
      const copiesPerSecond = costs.reduce((sum, cost) => sum + cost.copiesPerSecond, 0);
      const held = daemons.map(({ process }) => heldBy(process.pid ?? 0).rss);
      curve.push({
        spaces: count,
        copiesPerSecond,
        toRestMs: Math.round(performance.now() - began),
        daemonRssMiB: mib(held.reduce((sum, rss) => sum + rss, 0) / count),
        largestDaemonRssMiB: mib(Math.max(...held)),
        brokerRssMiB: mib(heldBy(mesh.pid()).rss),
        ...idle,
      });
      of.say(`${count} spaces: ${copiesPerSecond} copies/s together, ${mib(Math.max(...held))} MiB the largest daemon`);
    } finally {
      for (const daemon of daemons) await daemon.stop();
      await mesh.dispose();
    }
    of.at((i + 1) / of.spaces.length);
  }
  return curve;
}

/** Share of one processor that each daemon, and the broker, has while nothing is posted. */
async function idling(daemons: readonly ChildDaemon[], broker: number) {
  const all = () => daemons.map(({ process }) => heldBy(process.pid ?? 0).cpuMs).reduce((sum, ms) => sum + ms, 0);
  const [before, brokerBefore, began] = [all(), heldBy(broker).cpuMs, performance.now()];
  await pause(IDLE_MS);
  const passed = performance.now() - began;
  return {
    idleShareOfDaemon: rounded((all() - before) / passed / daemons.length, 4),
    idleShareOfBroker: rounded((heldBy(broker).cpuMs - brokerBefore) / passed, 4),
  };
}
