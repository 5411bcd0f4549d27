/**
 * A daemon is killed, stopped for good, or frozen at twenty random instants of its start, two of them at a time. Afterwards
 * a new one serves, no record lies, and never did two daemons have effects at a time. `INSTANTS_SEED` repeats a run.
 */
import { readFileSync } from 'node:fs';
import { expect, it, onTestFinished } from 'vitest';
import { inboxPrefix } from '../../../src/domain/permissions.ts';
import { streams } from '../../../src/domain/subjects.ts';
import { recordPath } from '../../../src/services/local/process-record.ts';
import { GatedBroker } from '../../../src/services/nats/gated-broker.ts';
import { StreamStore } from '../../../src/services/nats/stream-store.ts';
import { Random } from '../../../src/torture/random.ts';
import { Agent, texts } from '../../support/delivery/agent.ts';
import { type DaemonProcess, startInProcess, startProcess } from '../../support/delivery/daemon.ts';
import { startMesh } from '../../support/mesh.ts';
import { until } from '../../support/until.ts';

const QUICK = {
  COTAL_DELIVERY_LEASE_TTL_MS: '2000',
  COTAL_DELIVERY_LEASE_RENEW_MS: '300',
  COTAL_DELIVERY_LEASE_FENCE_MS: '1500',
  COTAL_DELIVERY_STANDBY_PROBE_MS: '100',
};
const ROUNDS = 10;
/** A start takes about this long. */
const LONGEST_MS = 1_200;
const SIGNALS = ['SIGKILL', 'SIGTERM', 'SIGSTOP'] as const;

it('killed, stopped or frozen at twenty random instants of its start: a new daemon serves, no record lies, one at a time had effects', async () => {
  const seed = Number(process.env.INSTANTS_SEED ?? 20_261_130);
  process.stdout.write(`INSTANTS_SEED=${seed}\n`);
  const random = new Random(seed);
  const mesh = await startMesh({ leaseTtlMs: 2_000 });
  onTestFinished(() => mesh.dispose());
  const daemons: DaemonProcess[] = [];
  onTestFinished(async () => void (await Promise.all(daemons.map((daemon) => daemon.kill()))));
  const start = () => {
    const daemon = startProcess(mesh, { env: { ...QUICK, COTAL_HOME: mesh.root }, standby: true });
    daemons.push(daemon);
    return daemon;
  };
  const [alice, bob] = [await Agent.add(mesh, 'alice'), await Agent.add(mesh, 'bob')];
  process.env.COTAL_HOME = mesh.root;
  const first = await startInProcess(mesh, QUICK);
  await bob.join('team');
  await first.stop();

  const frozen: DaemonProcess[] = [];
  const told: string[] = [];
  const meet = async () => {
    const [signal, afterMs] = [random.pick(SIGNALS), random.below(LONGEST_MS)];
    told.push(`${signal} after ${afterMs} ms`);
    const daemon = start();
    const began = performance.now();
    await until(() => performance.now() - began >= afterMs, '');
    daemon.process.kill(signal);
    if (signal === 'SIGSTOP') frozen.push(daemon);
    else await daemon.exit;
  };
  for (let round = 0; round < ROUNDS; round++) {
    await alice.post('team', { text: `${round}` });
    await Promise.all([meet(), meet()]);
  }
  const heir = start();
  const state = () => `${told.join(', ')}\n${heir.stderr()}`;
  await heir.serving();
  for (const { process: daemon } of frozen) daemon.kill('SIGCONT');
  await alice.post('team', { text: 'last' });

  const all = [...Array.from({ length: ROUNDS }, (_, round) => `${round}`), 'last'];
  const credential = await mesh.credsFor('delivery');
  const store = new StreamStore(
    new GatedBroker({
      connection: await mesh.connect(credential),
      inboxPrefix: inboxPrefix(credential.publicKey),
      gate: () => undefined,
      timeoutMs: 10_000,
    }),
    streams(mesh.space).inbox,
  );
  const entries = async () => {
    const page = await store.page({ filter: `cotal.${mesh.space}.dinbox.>`, after: 0, limit: 256 });
    return page.kind === 'read' ? page.messages : [];
  };
  await until(async () => (await entries()).length === all.length, state, 60_000);
  const writers = (await entries()).map(({ header }) => header('Plane3-Writer'));
  const turns = writers.filter((writer, n) => writer !== writers[n - 1]);
  expect(new Set(turns).size, `${state()}\n${writers.join(' ')}`).toBe(turns.length);
  expect(texts(await bob.read(all.length, 30_000))).toEqual(all);

  const record = readFileSync(recordPath({ root: mesh.root, what: 'delivery', space: mesh.space }), 'utf8');
  expect(Number(record.split('\n')[0]), state()).toBe(heir.process.pid);
}, 240_000);
