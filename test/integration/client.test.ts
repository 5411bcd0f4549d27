import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Agent, type AgentOptions, connectAgent, type Standing, type Surfaced } from '../../src/client/client.ts';
import type { AddedAgent } from '../../src/manager/lifecycle.ts';
import { credsText } from '../../src/services/credential.ts';
import { keepingJournal, type ServingDaemon, startDaemon } from '../support/daemon.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';
import { until } from '../support/until.ts';

let mesh: Mesh;
let daemon: ServingDaemon | undefined;
let agents: Agent[] = [];

beforeEach(async () => {
  mesh = await startMesh();
});
afterEach(async () => {
  for (const agent of agents) await agent.close();
  agents = [];
  await daemon?.stop();
  daemon = undefined;
  await mesh.dispose();
});

const serve = async (env?: Record<string, string>): Promise<ServingDaemon> => {
  daemon = startDaemon(mesh, env === undefined ? {} : { env });
  await daemon.ready();
  return daemon;
};
const add = (name: string, read = ['team.>'], post = ['team.>']) => mesh.addAgent({ name, read, post });
const connect = async (added: AddedAgent, more: Partial<AgentOptions> = {}): Promise<Agent> => {
  const agent = await connectAgent({ url: mesh.url, creds: credsText(added.credential), timeoutMs: 2_000, ...more });
  agents.push(agent);
  return agent;
};
const textOf = ({ message }: Surfaced): unknown => (message.parts[0] as { text?: unknown }).text;
/** Reads to the end and confirms each. */
async function readAll(agent: Agent, options: { limit?: number; idleMs?: number } = {}): Promise<Surfaced[]> {
  const read: Surfaced[] = [];
  for await (const post of agent.read({ idleMs: 1_000, ...options })) {
    expect((await post.confirm()).kind).not.toBe('unanswered');
    read.push(post);
  }
  return read;
}

describe('the client', () => {
  it('joins durable, goes away, and reads what was posted meanwhile once', async () => {
    await serve();
    const [alice, bob] = [await add('alice'), await add('bob')];
    const away = await connect(bob);
    expect(await away.join('team.general')).toMatchObject({ state: 'durable', generation: 1 });
    await away.close();
    const sender = await connect(alice);
    const posted = await sender.post({ channel: 'team.general', text: 'one' });
    expect(posted).toMatchObject({ duplicate: false, delivery: 'durable' });
    const back = await connect(bob);
    const read = await readAll(back);
    expect(read.map(textOf)).toEqual(['one']);
    expect(read[0]).toMatchObject({ seq: posted.seq, durable: true, channel: 'team.general', redelivered: false });
    expect(await readAll(back, { idleMs: 0 })).toEqual([]);
    await until(async () => (await back.pendingCount()).pending === 0, 'it is owed still');
  });
});
