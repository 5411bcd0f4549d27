/** Has what an agent joined from this root established, now that there is somebody to ask. */
import { type Agent, Plane3Error } from '../client/client.ts';
import type { JoinedChannels } from './as-agent.ts';

/**
 * Joins the channels that were joined from here and are not in the registry yet. `all`: also those that are, so that they
 * are subscribed to live. One that was left meanwhile with the same identity is not joined again. Answers with the refusals.
 */
export async function establish(agent: Agent, joined: JoinedChannels, all: boolean): Promise<string[]> {
  const recorded = joined.read();
  if (recorded.size === 0 && !all) return [];
  const rows = await agent.memberships().catch((error: unknown) => {
    if (error instanceof Plane3Error && error.code === 'rail.silent') return undefined;
    throw error;
  });
  if (rows === undefined && !all) return [];
  const known = new Map((rows ?? []).map((row) => [row.channel, row]));
  const channels = new Set(all ? [...known.keys()].filter((channel) => known.get(channel)?.state !== 'left') : []);
  for (const [channel, joinedAt] of recorded) {
    const row = known.get(channel);
    if (row?.state === 'left' && row.updatedAt > joinedAt) joined.remove(channel);
    else if (all || row === undefined || row.state === 'left') channels.add(channel);
  }
  // A channel that may not be joined any more is no reason not to read the others; the daemon withdraws what it held.
  const refusals = await Promise.all(
    [...channels].map((channel) =>
      agent.join(channel).then(
        () => [],
        (error: unknown) => {
          if (error instanceof Plane3Error && error.code === 'join.refused') return [error.message];
          throw error;
        },
      ),
    ),
  );
  return refusals.flat();
}
