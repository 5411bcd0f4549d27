/** The rows that routing goes by cannot be followed any more, over a connection that stands. */
import { jetstreamManager } from '@nats-io/jetstream';
import { expect, it, vi } from 'vitest';
import { bucketStream, buckets } from '../../../src/domain/subjects.ts';
import { GatedBroker } from '../../../src/services/nats/gated-broker.ts';
import { texts } from '../../support/delivery/agent.ts';
import { deliverySuite } from '../../support/delivery/suite.ts';
import { until } from '../../support/until.ts';

const CHANNEL = 'team.general';
const suite = deliverySuite();

it('a daemon whose watch of the ACL is lost begins its service anew, and says that it serves', async () => {
  const { mesh } = suite;
  const isStarted = () => suite.running.daemon.actor.system.get('daemon')?.getSnapshot().hasTag('started');
  const [alice, bob] = [await suite.agent('alice'), await suite.agent('bob')];
  await bob.join(CHANNEL);
  const made = vi.spyOn(GatedBroker.prototype, 'api');
  await suite.restart();
  const subjects = made.mock.calls.map(([subject]) => subject);
  made.mockRestore();
  const acl = bucketStream(buckets(mesh.space).acl);
  const watches = subjects.filter((subject) => subject.startsWith(`CONSUMER.CREATE.${acl}.`));
  expect(watches).toHaveLength(1);
  await until(isStarted, () => suite.running.state());
  const api = await jetstreamManager(await mesh.connect('delivery'), { checkAPI: false });
  await api.consumers.delete(acl, watches[0]?.split('.')[3] ?? '');
  await until(
    () => suite.running.journal.count('daemon.quiesced') === 1,
    () => suite.running.state(),
    60_000,
  );
  await until(isStarted, () => suite.running.state());
  await alice.post(CHANNEL, { text: 'one' });
  expect(texts(await bob.read(1, 10_000))).toEqual(['one']);
});
