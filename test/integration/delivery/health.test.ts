/** Metrics and health of a real daemon: what they say is what its machines say. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Watch, watchProcess } from '../../../src/inspector/watch.ts';
import { createDaemon, type DeliveryDaemon } from '../../../src/main.ts';
import { Agent, texts } from '../../support/delivery/agent.ts';
import { TestJournal } from '../../support/delivery/daemon.ts';
import { type Mesh, startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

const CHANNEL = 'team.general';
const WAIT_MS = 30_000;

let mesh: Mesh;
let watch: Watch | undefined;
let daemon: DeliveryDaemon;
let journal: TestJournal;
let url: string;
beforeEach(async () => {
  mesh = await startMesh();
  process.env.COTAL_HOME = mesh.root;
  journal = new TestJournal();
  watch = watchProcess({ root: mesh.root, what: 'delivery', space: mesh.space, journal, inspect: undefined, http: 0 });
  await until(
    () => journal.count('door.opened') === 1,
    () => journal.told,
  );
  url = String(journal.told.find(({ name }) => name === 'door.opened')?.facts.url);
});
afterEach(async () => {
  if (daemon?.actor.getSnapshot().status === 'active') daemon.stop();
  watch?.close();
  await mesh.dispose();
});

const start = (): Promise<unknown> => {
  daemon = createDaemon({
    space: mesh.space,
    root: mesh.root,
    server: mesh.url,
    journal,
    env: { COTAL_DELIVERY_BROKER_GONE_MS: '60000' },
    signals: false,
    ...(watch === undefined ? {} : { inspect: watch.inspect }),
  });
  watch?.show(daemon.exhibit);
  return daemon.run();
};

const statusOf = async (path: string): Promise<number> => (await fetch(`${url}${path}`)).status;

/** Values by name and labels, of the text that Prometheus reads. */
async function scraped(): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}
const becomes = (name: string, is: (value: number | undefined) => boolean) =>
  until(
    async () => is((await scraped()).get(name)),
    async () => `${name} is ${(await scraped()).get(name)}: ${JSON.stringify(daemon.tally.all())}`,
    WAIT_MS,
  );

describe('metrics and health', () => {
  it('are true from before the start to after the end: ready only while it serves, alive only while it runs', async () => {
    expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([503, 503]);
    const ended = start();
    await until(
      async () => (await statusOf('/readyz')) === 200,
      () => journal.told,
      WAIT_MS,
    );
    expect(await statusOf('/healthz')).toBe(200);
    const body = (await (await fetch(`${url}/readyz`)).json()) as { machines: Record<string, string> };
    expect(body.machines).toMatchObject({ brokerWatch: 'Connected', system: expect.stringContaining('Serving') });
    await mesh.killBroker();
    await until(
      async () => (await statusOf('/readyz')) === 503,
      () => journal.told,
      WAIT_MS,
    );
    expect(await statusOf('/healthz')).toBe(200);
    await becomes('plane3_outage_seconds', (value) => value !== undefined && value > 0);
    const away = await scraped();
    expect(away.get('plane3_ready')).toBe(0);
    await becomes('plane3_owed_entries', (value) => value === undefined);
    await mesh.startBroker();
    await until(
      async () => (await statusOf('/readyz')) === 200,
      () => journal.told,
      WAIT_MS,
    );
    await becomes('plane3_outage_seconds', (value) => value === 0);
    daemon.stop();
    await ended;
    expect([await statusOf('/healthz'), await statusOf('/readyz')]).toEqual([503, 503]);
  });

  it('say that a daemon which stops is not ready any more, however long its end takes', async () => {
    const ended = start();
    await until(
      async () => (await statusOf('/readyz')) === 200,
      () => journal.told,
      WAIT_MS,
    );
    mesh.freeze();
    daemon.stop();
    expect(await statusOf('/readyz')).toBe(503);
    mesh.thaw();
    await ended;
  });

  it('count posts, copies, hand-offs and confirmations, what is owed and since when, and the steps of machines', async () => {
    const ended = start();
    await until(
      async () => (await statusOf('/readyz')) === 200,
      () => journal.told,
      WAIT_MS,
    );
    const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
    await bob.join(CHANNEL);
    for (const text of ['one', 'two', 'three']) await alice.post(CHANNEL, { text });
    await becomes('plane3_posts_total', (value) => value === 3);
    await becomes('plane3_copies_handed_off_total', (value) => value === 3);
    await becomes('plane3_owed_entries', (value) => value === 3);
    await becomes('plane3_owed_oldest_age_seconds', (value) => value !== undefined && value > 0);
    expect(texts(await bob.read(3))).toEqual(['one', 'two', 'three']);
    await becomes('plane3_owed_entries', (value) => value === 0);
    await becomes('plane3_copies_settled_total{how="confirmed"}', (value) => value === 3);
    const now = await scraped();
    expect(now.get('plane3_copies_stored_total')).toBe(3);
    expect(now.get('plane3_lease_held')).toBe(1);
    expect(now.get('plane3_ready')).toBe(1);
    expect(now.get('plane3_machine_transitions_total{machine="fanout"}')).toBeGreaterThan(0);
    expect([...now.keys()].filter((name) => /alice|bob|team/.test(name))).toEqual([]);
    expect(now.get('process_cpu_seconds_total')).toBeDefined();
    daemon.stop();
    await ended;
  });
});
