/** One server of three that says nothing: as long as the others know of it, nothing follows from who is missing. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { accountOf } from '../../../src/domain/claims.ts';
import { inboxPrefix } from '../../../src/domain/permissions.ts';
import { readCreds } from '../../../src/services/credential.ts';
import { credsPath } from '../../../src/services/local/mint.ts';
import { connectOnce } from '../../../src/services/nats/connect.ts';
import { readSubscribers, type SubscribersRead } from '../../../src/services/nats/subscribers.ts';
import { Ground, SPACE } from '../../../src/torture/ground.ts';
import { until } from '../../support/until.ts';

/** A cluster elects its leaders for as long as a busy machine lets it. */
const PATIENCE_MS = 90_000;

it('from a server that stands still nothing is concluded, and one that has left the cluster is not waited for', {
  timeout: 300_000,
}, async () => {
  const folder = mkdtempSync(join(tmpdir(), 'plane3-silent-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const ground = await Ground.make({
    ...{ folder, servers: 3, durability: 'relaxed', leaseTtlMs: 10_000, ackWaitMs: 10_000 },
    clientsMove: true,
  });
  onTestFinished(() => ground.dispose());
  const [asked, , silent] = ground.brokers.servers;
  if (asked === undefined || silent === undefined) throw new Error('there are no servers');
  const credential = readCreds(readFileSync(credsPath(ground.root, SPACE, 'observer'), 'utf8'), 'observer.creds');
  const { credential: agent } = await ground.addAgent('alice', { read: ['>'], post: ['>'] });
  const account = accountOf(agent.claims);
  let last: SubscribersRead | undefined;
  /** Over a connection of its own, as every look is. */
  const look = async () => {
    const connection = await connectOnce({ url: asked.url, name: 'observer', credential });
    last = await readSubscribers({ connection, inboxPrefix: inboxPrefix(credential.publicKey), account });
    await connection.close();
    return last;
  };
  const isRead = async () => (await look()).kind === 'read';
  await until(isRead, () => JSON.stringify(last), PATIENCE_MS);

  silent.signal('SIGSTOP');
  await until(
    async () => (await look()).kind === 'incomplete',
    () => JSON.stringify(last),
    PATIENCE_MS,
  );
  expect(last).toEqual({ kind: 'incomplete', why: 'only 2 of 3 servers answered' });

  await silent.kill();
  await until(isRead, () => JSON.stringify(last), PATIENCE_MS);
});
