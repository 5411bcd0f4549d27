/**
 * Some members as one process: each is a whole agent over `plane3/client` that is a durable member, reads, and confirms. What
 * surfaced live is not counted: only what came through the durable plane says how that is.
 */
import { type Agent, connectAgent } from '../../src/client/client.ts';

export interface ReadersTask {
  readonly url: string;
  readonly channel: string;
  /** Text of one creds file a member; it comes as a message, so that no command line shows it. */
  readonly creds: readonly string[];
}
export interface ReadersWord {
  /** Posts surfaced and confirmed since the start, all members together. */
  readonly surfaced: number;
  /** From post to surfaced, milliseconds; those since this was last asked. */
  readonly tookMs: readonly number[];
}

/** What is live waits this long for its copy. */
const PATIENCE_MS = 600_000;
let surfaced = 0;
let tookMs: number[] = [];
const now = () => performance.timeOrigin + performance.now();

async function member(creds: string, { url, channel }: ReadersTask): Promise<Agent> {
  const agent = await connectAgent({ url, creds, preferDurableMs: PATIENCE_MS });
  for (;;) {
    const { state } = await agent.join(channel);
    if (state === 'durable') return agent;
  }
}

async function read(agent: Agent): Promise<void> {
  for await (const post of agent.read({ follow: true })) {
    const [part] = post.message.parts;
    if (post.source === 'durable' && part?.kind === 'text') {
      tookMs.push(now() - Number(String(part.text).split(' ')[0]));
      surfaced++;
    }
    await post.confirm();
  }
}

process.on('message', (said: ReadersTask | 'how') => {
  if (said === 'how') {
    process.send?.({ surfaced, tookMs } satisfies ReadersWord);
    tookMs = [];
    return;
  }
  void Promise.all(said.creds.map((creds) => member(creds, said))).then((agents) => {
    for (const agent of agents) void read(agent);
    process.send?.('joined');
  });
});
process.on('disconnect', () => process.exit(0));
