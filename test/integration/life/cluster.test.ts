/** One server of three goes into lame duck mode, as it does when it is stopped to be updated: the others carry on. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { type Agent, connectAgent } from '../../../src/client/client.ts';
import { createDaemon } from '../../../src/main.ts';
import { credsText } from '../../../src/services/credential.ts';
import { Ground, SPACE } from '../../../src/torture/ground.ts';
import { TestJournal } from '../../support/delivery/daemon.ts';
import { passed } from '../../support/delivery/outage.ts';
import { until } from '../../support/until.ts';

/** A cluster elects its leaders for as long as a busy machine lets it. */
const PATIENCE_MS = 90_000;
const LEASE = {
  COTAL_DELIVERY_LEASE_RENEW_MS: '500',
  COTAL_DELIVERY_LEASE_FENCE_MS: '8000',
  COTAL_DELIVERY_LEASE_TTL_MS: '10000',
};

it('a server of three that goes into lame duck mode is left for another one by daemon and agents: what was confirmed surfaces, and the daemon serves on', {
  timeout: 300_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plane3-lame-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const ground = await Ground.make({
    folder,
    servers: 3,
    durability: 'relaxed',
    leaseTtlMs: 10_000,
    ackWaitMs: 10_000,
    clientsMove: true,
  });
  onTestFinished(() => ground.dispose());
  const [lame] = ground.brokers.servers;
  if (lame === undefined) throw new Error('there is no server');
  const journal = new TestJournal();
  const creds = await ground.deliveryCreds({ daemon: 'daemon' });
  const { root } = ground;
  const daemon = createDaemon({ space: SPACE, root, server: lame.url, creds, journal, env: LEASE, signals: false });
  const ended = daemon.run();
  onTestFinished(async () => {
    if (daemon.actor.getSnapshot().status === 'active') daemon.stop();
    await ended;
  });
  const serves = () => daemon.actor.getSnapshot().hasTag('serving');
  const said = () => JSON.stringify(journal.told.slice(-8));
  const connected = async (name: string): Promise<Agent> => {
    const { credential } = await ground.addAgent(name, { read: ['>'], post: ['>'] });
    const agent = await connectAgent({ url: lame.url, creds: credsText(credential), preferDurableMs: PATIENCE_MS });
    onTestFinished(() => agent.close());
    return agent;
  };
  await until(serves, said, PATIENCE_MS);
  const [alice, bob] = [await connected('alice'), await connected('bob')];
  await until(async () => (await bob.join('team')).state === 'durable', said, PATIENCE_MS);

  const confirmed: string[] = [];
  /** What is not confirmed to its sender is sent again, under the same id. */
  const post = async (id: string) => {
    await until(async () => (await alice.post({ channel: 'team', id, text: id })).id === id, said, PATIENCE_MS);
    confirmed.push(id);
  };
  await post('before');
  // What `nats-server --signal ldm` sends.
  process.kill(lame.pid, 'SIGUSR2');
  for (let n = 0; lame.isUp; n++) {
    await post(`meanwhile ${n}`);
    await passed(50);
  }
  await until(serves, said, PATIENCE_MS);
  await post('after');

  // A copy that was on its way to bob when his connection was closed comes again, after later ones.
  const owed = new Set(confirmed);
  for await (const each of bob.read({ follow: true })) {
    owed.delete(each.message.id);
    await each.confirm();
    if (owed.size === 0) break;
  }
  expect(journal.count('daemon.quiesced')).toBeGreaterThan(0);
  expect(journal.lines().filter((line) => line.startsWith('✗'))).toEqual([]);
});
