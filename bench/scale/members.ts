/**
 * What a copy costs by how many members a channel has, on a mesh of its own: of a few posts after a pause, when every member is
 * away and its lane was let go (`wake…Us`, until nothing is left to do), and of the same number of copies each time.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { numbers } from '../../src/domain/numbers.ts';
import { startDaemon } from '../child.ts';
import { mib } from '../figures.ts';
import { addMembers, openSpace } from '../space.ts';
import { CHANNEL, copying } from './copying.ts';

export async function membersCurve(of: {
  members: readonly number[];
  copies: number;
  say: (line: string) => void;
  at: (part: number) => void;
}) {
  const curve = [];
  for (const [i, members] of of.members.entries()) {
    const space = await openSpace({ durability: 'relaxed' });
    try {
      await addMembers(space, { channel: CHANNEL, count: members });
      const daemon = await startDaemon(space.mesh);
      // Once before it counts: code is warm and the lanes have their places.
      await copying(space, daemon, { count: Math.max(1, Math.ceil(of.copies / 10 / members)), members });
      await pause(numbers.laneRestMs + 1_000);
      const wake = await copying(space, daemon, {
        count: Math.max(2, Math.min(20, Math.ceil(1_000 / members))),
        members,
      });
      const cost = await copying(space, daemon, { count: Math.ceil(of.copies / members), members });
      const { rss } = await daemon.ask();
      await daemon.stop();
      const [wakeDaemonUs, wakeBrokerUs] = [wake.daemonToRestUs, wake.brokerToRestUs];
      curve.push({ members, ...cost, wakeDaemonUs, wakeBrokerUs, daemonRssMiB: mib(rss) });
      of.say(
        `${members} members: ${cost.copiesPerSecond} copies/s, ${cost.daemonUs} µs a copy in the daemon, ${mib(rss)} MiB`,
      );
    } finally {
      await space.mesh.dispose();
    }
    of.at((i + 1) / of.members.length);
  }
  return curve;
}
