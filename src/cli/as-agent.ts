/** Being an agent for one command: its credential of this root, its client, and which channels it joined from here. */
import { z } from 'zod';
import { type Agent, type AgentOptions, connectAgent } from '../client/client.ts';
import { type LogName, logCatalogue, operatorLine } from '../domain/log-events/catalogue.ts';
import { channelSchema } from '../domain/names.ts';
import { withFileLock } from '../services/local/file-lock.ts';
import { readJsonFile, SECRET_FILE, SECRET_FOLDER, writeAtomic } from '../services/local/files.ts';
import type { Journal } from '../services/ports.ts';
import type { Call } from './frame.ts';
import { actorNamed, agentCreds, agentCredsPath, isOpen, principalNamed } from './open-mesh.ts';
import type { Output } from './output.ts';
import { brokerOf, type Place } from './place.ts';

/** A short-lived process on a busy machine is slow to begin with: its own slowness is not to look like silence. */
const TIMEOUT_MS = 10_000;

/** Does a piece of work as the agent; its connection is closed afterwards. */
export async function asAgent<T>(
  call: Call,
  name: string,
  work: (agent: Agent, place: Place) => Promise<T>,
  more: Partial<AgentOptions> = {},
): Promise<T> {
  const place = call.place();
  const address = brokerOf(place);
  const agent = await connectAgent({
    url: address.url,
    ...(isOpen(address)
      ? { open: { space: place.space, name: actorNamed(name) } }
      : { creds: agentCreds(place, name, address) }),
    journal: warningsOf(call.out),
    timeoutMs: TIMEOUT_MS,
    ...(address.tls === undefined ? {} : { tls: address.tls }),
    ...more,
  });
  try {
    return await work(agent, place);
  } finally {
    await agent.close();
  }
}

/** Events that a command's own answer says anyhow. */
const ANSWERED: readonly LogName[] = ['client.unestablished', 'client.durable', 'client.left'];

/** Tells the operator lines of events as remarks; `all`: also of those that the answer of a short command says anyhow. */
export function warningsOf(out: Output, all = false): Journal {
  return {
    tell: (event, ...[facts]) => {
      const line = operatorLine(event, (facts ?? {}) as never);
      const wanted = all || (logCatalogue[event].level !== 'info' && !ANSWERED.includes(event));
      if (line !== undefined && wanted) out.remark(line);
    },
  };
}

const joinedSchema = z.object({
  version: z.literal(1),
  channels: z.record(channelSchema, z.object({ joinedAt: z.number() })),
});

/**
 * The channels that an agent joined from this root: what the registry cannot know while no daemon is there. A command that
 * stays (`inbox --follow`) subscribes to them, and the next one that finds a daemon has them established.
 *
 *   <root>/.cotal/space.<key>/agents/<owner>.<actor>.channels.json        changed under its .lock: commands run side by side
 */
export class JoinedChannels {
  readonly #path: string;

  constructor(place: Place, name: string) {
    this.#path = agentCredsPath(place, principalNamed(name)).replace(/creds$/, 'channels.json');
  }

  /** Channel → when it was joined, wall clock. */
  read(): Map<string, number> {
    const channels = readJsonFile(this.#path, joinedSchema)?.channels ?? {};
    return new Map(Object.entries(channels).map(([channel, { joinedAt }]) => [channel, joinedAt]));
  }

  /** @throws Plane3Error `file.locked` where another process holds the file and does not let go. */
  add(channel: string, joinedAt = Date.now()): Promise<void> {
    return this.#change((channels) => {
      channels.set(channel, joinedAt);
      return true;
    });
  }

  /**
   * @param joinedAt Only where it was joined then: one that was joined again meanwhile stays.
   * @throws Plane3Error `file.locked` where another process holds the file and does not let go.
   */
  remove(channel: string, joinedAt?: number): Promise<void> {
    return this.#change(
      (channels) => (joinedAt === undefined || channels.get(channel) === joinedAt) && channels.delete(channel),
    );
  }

  /** Reads, changes and writes as one: a write that goes by an older reading would drop what came in between. */
  #change(change: (channels: Map<string, number>) => boolean): Promise<void> {
    return withFileLock({
      path: this.#path,
      work: async () => {
        const channels = this.read();
        if (change(channels)) this.#write(channels);
      },
    });
  }

  #write(channels: Map<string, number>): void {
    const rows = Object.fromEntries([...channels].map(([channel, joinedAt]) => [channel, { joinedAt }]));
    writeAtomic(this.#path, `${JSON.stringify({ version: 1, channels: rows })}\n`, SECRET_FILE, SECRET_FOLDER);
  }
}
