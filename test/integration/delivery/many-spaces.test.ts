/** Twenty spaces on one broker, each an account of its own, with a daemon each: all serve, and none reaches another's members. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectAgent } from '../../../src/client/client.ts';
import { credsText } from '../../../src/services/credential.ts';
import { type InProcess, startInProcess } from '../../support/delivery/daemon.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';
import type { MeshSpace } from '../../support/mesh-space.ts';
import { until } from '../../support/until.ts';

const CHANNEL = 'team.general';
const NAMES = Array.from({ length: 20 }, (_, n) => `space${n}`);

let mesh: Mesh;
const daemons = new Map<string, InProcess>();
const spaces = (): readonly MeshSpace[] => [mesh, ...mesh.others];

beforeAll(async () => {
  const [first = '', ...besides] = NAMES;
  mesh = await startMesh({ space: first, besides });
  for (const each of spaces()) daemons.set(each.space, await startInProcess(each));
}, 120_000);
afterAll(async () => {
  await Promise.all([...daemons.values()].map((each) => each.stop()));
  await mesh?.dispose();
});

/** A post by alice of the space on the channel that every space has; what its bob, who is away meanwhile, then reads. */
async function told(each: MeshSpace): Promise<string[]> {
  const alice = await each.addAgent({ name: 'alice', post: ['>'] });
  const bob = await each.addAgent({ name: 'bob', read: ['>'] });
  const as = (credential: typeof alice.credential) =>
    // What is live waits for its copy: only what the daemon delivered counts.
    connectAgent({ url: mesh.url, creds: credsText(credential), preferDurableMs: 600_000 });
  const reader = await as(bob.credential);
  expect(await reader.join(CHANNEL)).toMatchObject({ state: 'durable' });
  const sender = await as(alice.credential);
  await sender.post({ channel: CHANNEL, text: `told in ${each.space}` });
  await sender.close();
  const texts: string[] = [];
  for await (const post of reader.read({ follow: true })) {
    texts.push(String(post.message.parts[0]?.text));
    await post.confirm();
    break;
  }
  await reader.close();
  return texts;
}

describe('twenty spaces on one broker', () => {
  it('are all served, each by its own daemon, which delivers to its own members and to nobody else', async () => {
    for (const each of spaces()) expect(await told(each)).toEqual([`told in ${each.space}`]);
    for (const [name, { daemon, state }] of daemons) {
      await until(() => daemon.tally.get('entries.settled') === 1, state);
      const counts = ['posts.settled', 'copies.stored', 'copies.handed-off', 'entries.settled'];
      expect([name, ...counts.map((count) => daemon.tally.get(count))]).toEqual([name, 1, 1, 1, 1]);
    }
  }, 120_000);
});
