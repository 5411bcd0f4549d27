/** Lives of a daemon that are recorded: by the tests, and by `npm run golden` for test/golden. */
import { join } from 'node:path';
import { buckets, LEASE_KEY } from '../../../src/domain/subjects.ts';
import { type Watch, watchProcess } from '../../../src/inspector/watch.ts';
import { createDaemon, type DeliveryDaemon } from '../../../src/main.ts';
import { writeRow } from '../../../src/services/nats/rows.ts';
import type { Mesh } from '../mesh.ts';
import { until } from '../until.ts';
import { Agent } from './agent.ts';
import { TestJournal } from './daemon.ts';

const CHANNEL = 'team.general';
const WAIT_MS = 60_000;
/** In the body of every post: it must be in no recording. */
export const BODY = 'nobody’s business but bob’s';

/**
 * Machines whose steps are compared with a recording. Those that only put others together are not: what they start changes
 * with every part that is added.
 */
export const compared: ReadonlySet<string> = new Set([
  'lease',
  'brokerWatch',
  'registry',
  'membership',
  'fanout',
  'reader',
  'lane',
  'rails',
]);

interface Living {
  readonly mesh: Mesh;
  readonly daemon: DeliveryDaemon;
  readonly serves: () => Promise<unknown>;
}

export const histories: Readonly<Record<string, (of: Living) => Promise<void>>> = {
  /** A member joins, is away, reads what it was owed, and leaves. */
  'a-quiet-day': async ({ mesh, serves }) => {
    await serves();
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    await bob.join(CHANNEL);
    for (const n of [1, 2, 3]) await alice.post(CHANNEL, { text: `${BODY} ${n}` });
    await bob.read(3);
    await alice.post(CHANNEL, { text: BODY });
    await bob.leave(CHANNEL, 1);
  },
  /** The broker is killed under it, and comes back. */
  'the-broker-restarts': async ({ mesh, daemon, serves }) => {
    await serves();
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { text: BODY });
    await mesh.killBroker();
    await until(() => !daemon.exhibit.ready(), 'it still serves', WAIT_MS);
    await mesh.startBroker();
    await serves();
    await bob.read(1, WAIT_MS);
  },
  /** Another one writes itself on the lease row: it has lost, and ends without touching the row again. */
  'the-lease-is-lost': async ({ mesh, daemon, serves }) => {
    await serves();
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    await bob.join(CHANNEL);
    await alice.post(CHANNEL, { text: BODY });
    await bob.read(1);
    const connection = await mesh.connect('delivery');
    const other = { holder: 'local.other', incarnation: 'other', since: 1, acquiredAt: 1, ready: true };
    await writeRow({
      ...{ connection, bucket: buckets(mesh.space).delivery, key: LEASE_KEY },
      value: { ...other, proofKey: '', proofAttestation: '' },
    });
    await until(
      () => !daemon.exhibit.alive(),
      () => daemon.actor.getSnapshot().value,
      WAIT_MS,
    );
  },
};

/** Lives one of them and records it; answers with the file. */
export async function recordHistory(of: { mesh: Mesh; name: string; folder: string }): Promise<string> {
  const { mesh, name, folder } = of;
  const file = join(folder, `${name}.jsonl`);
  const journal = new TestJournal();
  const watch: Watch | undefined = watchProcess({
    ...{ root: mesh.root, what: 'delivery', space: mesh.space, journal },
    inspect: undefined,
    record: file,
  });
  if (watch === undefined) throw new Error('nothing is recorded');
  const daemon = createDaemon({
    ...{ space: mesh.space, root: mesh.root, server: mesh.url, journal, signals: false },
    env: { COTAL_DELIVERY_BROKER_GONE_MS: '60000' },
    inspect: watch.inspect,
  });
  const ended = daemon.run();
  const serves = () =>
    until(
      () => daemon.exhibit.ready(),
      () => journal.told.slice(-5),
      WAIT_MS,
    );
  try {
    await histories[name]?.({ mesh, daemon, serves });
  } finally {
    daemon.stop();
    await ended;
    await watch.close();
  }
  return file;
}
