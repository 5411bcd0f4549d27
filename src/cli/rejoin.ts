/** What an agent joined from this root, for a command that reads: established where it is not, followed where it stays. */
import { type Agent, Plane3Error } from '../client/client.ts';
import type { JoinedChannels } from './as-agent.ts';

export interface Established {
  readonly refusals: readonly string[];
  /** What was recorded as joined when this began. */
  readonly recorded: ReadonlySet<string>;
}

/**
 * Joins the channels that were joined from here and are not in the registry yet. `all`: also those that are, so that they
 * are subscribed to live. One that was left meanwhile with the same identity is not joined again.
 */
export async function establish(agent: Agent, joined: JoinedChannels, all: boolean): Promise<Established> {
  const recorded = joined.read();
  const nothing = { refusals: [], recorded: new Set(recorded.keys()) };
  if (recorded.size === 0 && !all) return nothing;
  const rows = await agent.memberships().catch((error: unknown) => {
    if (error instanceof Plane3Error && error.code === 'rail.silent') return undefined;
    throw error;
  });
  if (rows === undefined && !all) return nothing;
  const known = new Map((rows ?? []).map((row) => [row.channel, row]));
  const channels = new Set(all ? [...known.keys()].filter((channel) => known.get(channel)?.state !== 'left') : []);
  for (const [channel, joinedAt] of recorded) {
    const row = known.get(channel);
    if (row?.state === 'left' && row.updatedAt > joinedAt) await joined.remove(channel, joinedAt);
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
  return { ...nothing, refusals: refusals.flat() };
}

const LOOK_EVERY_MS = 1_000;

/**
 * Joins and leaves what other commands of this root join and leave with the same identity, until it is stopped.
 * @param from What was recorded when the channels were established: what changed since then counts.
 */
export function followJoined(
  agent: Agent,
  joined: JoinedChannels,
  from: ReadonlySet<string>,
  tell: (refusal: string) => void,
): () => void {
  let known = from;
  const refused = (error: unknown) => tell(error instanceof Error ? error.message : String(error));
  const timer = setInterval(() => {
    const now = new Set(joined.read().keys());
    for (const channel of now) if (!known.has(channel)) agent.join(channel).catch(refused);
    for (const channel of known) if (!now.has(channel)) agent.leave(channel).catch(refused);
    known = now;
  }, LOOK_EVERY_MS);
  return () => clearInterval(timer);
}
