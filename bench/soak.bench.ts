/**
 * A long run at 70 % of what the first minute of the same run could do: whether throughput, latency, memory, descriptors and
 * backlog stay what they are, and what it can do after all that. A real broker with strict durability, a real daemon process, members that are whole agents in
 * processes of their own, which read and confirm.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { connectAgent } from '../src/client/client.ts';
import { FANOUT_CONSUMER, streams } from '../src/domain/subjects.ts';
import { credsText } from '../src/services/credential.ts';
import type { Asked, Bench } from './bench.ts';
import { type ChildDaemon, startDaemon } from './child.ts';
import { mib, quantile, rounded } from './figures.ts';
import { heldBy } from './processes.ts';
import { syncMs } from './soak/disk.ts';
import { Load } from './soak/load.ts';
import { type Readers, startReaders } from './soak/readers.ts';
import { type Sample, verdictOver } from './soak/verdict.ts';
import { type BenchSpace, openSpace } from './space.ts';

const CHANNEL = 'bench.general';
const MEMBERS = 20;
const PROCESSES = 2;
const SHARE = 0.7;
const MINUTE_MS = 60_000;
const SAMPLE_MS = 10_000;
const DRAIN_MS = 120_000;
const FULL_MINUTES = 30;

export const bench: Bench = {
  minutes: FULL_MINUTES,
  async run(asked) {
    const minutes = asked.minutes ?? (asked.quick ? 1 : FULL_MINUTES);
    const space = await openSpace({ durability: 'strict' });
    const readers: Readers[] = [];
    let daemon: ChildDaemon | undefined;
    try {
      daemon = await startDaemon(space.mesh);
      const agents = await Promise.all(
        Array.from({ length: MEMBERS }, (_, n) => space.mesh.addAgent({ name: `reader${n}`, read: ['>'] })),
      );
      const creds = agents.map(({ credential }) => credsText(credential));
      for (let n = 0; n < PROCESSES; n++) {
        const own = creds.filter((_, i) => i % PROCESSES === n);
        readers.push(await startReaders({ url: space.mesh.url, channel: CHANNEL, creds: own }));
      }
      const { credential } = await space.mesh.addAgent({ name: 'sender', post: ['>'] });
      const sender = await connectAgent({ url: space.mesh.url, creds: credsText(credential) });
      const load = new Load({ sender, readers, members: MEMBERS, channel: CHANNEL });
      const figures = await soak({ ...asked, space, daemon, load, minutes });
      await sender.close();
      return figures;
    } finally {
      for (const each of readers) await each.stop();
      await daemon?.stop();
      await space.mesh.dispose();
    }
  },
};

interface Soak extends Pick<Asked, 'say' | 'at'> {
  readonly space: BenchSpace;
  readonly daemon: ChildDaemon;
  readonly load: Load;
  readonly minutes: number;
}

async function soak({ space, daemon, load, minutes, say, at }: Soak) {
  const totalMs = minutes * MINUTE_MS;
  const disk = [syncMs(space.mesh.root)];
  const first = Math.min(MINUTE_MS, totalMs / 4);
  say(`measuring what it can do for ${Math.round(first / 1_000)} s`);
  const most = await load.measure(first, (passed) => at(passed / totalMs));
  if ((await load.drain(DRAIN_MS)) > 0) throw new Error('what was posted in the first minute did not surface');
  load.took();
  const wanted = (most * SHARE) / MEMBERS;
  say(`${Math.round(most)} copies/s at the most; ${rounded(wanted)} posts/s to ${MEMBERS} members from now on`);

  const samples: Sample[] = [];
  const end = new AbortController();
  const posting = load.keep(wanted, end.signal);
  posting.catch(() => {});
  const began = performance.now();
  let [lastAt, lastSurfaced] = [began, load.surfaced];
  const every = Math.min(SAMPLE_MS, (totalMs - first) / 12);
  for (let n = 1; performance.now() - began + every <= totalMs - first + 1; n++) {
    await pause(began + n * every - performance.now());
    await Promise.race([load.look(), posting]);
    const now = performance.now();
    const copiesPerSecond = (load.surfaced - lastSurfaced) / ((now - lastAt) / 1_000);
    [lastAt, lastSurfaced] = [now, load.surfaced];
    const sample = await sampled({ space, daemon, load, copiesPerSecond, at: (now - began) / 1_000 });
    samples.push(sample);
    at((now - began + first) / totalMs);
    say(
      `${Math.round(sample.at)} s: ${sample.copiesPerSecond} copies/s, p99 ${sample.p99Ms} ms, daemon ${sample.daemonRssMiB} MiB, nats-server ${sample.brokerRssMiB} MiB, ${sample.owed} owed`,
    );
  }
  end.abort();
  await posting;
  await load.drain(DRAIN_MS);
  say('measuring once more what it can do');
  disk.push(syncMs(space.mesh.root));
  const mostAfter = await load.measure(first, () => {});
  const lost = await load.drain(DRAIN_MS);
  const verdict = verdictOver(samples);
  return {
    verdict: verdict.flat && lost === 0 ? 'flat' : 'not flat',
    notFlat: verdict.notFlat,
    ratios: verdict.ratios,
    diskRatio: verdict.diskRatio,
    notSurfaced: lost,
    minutes,
    members: MEMBERS,
    mostCopiesPerSecond: Math.round(most),
    mostCopiesPerSecondAfter: Math.round(mostAfter),
    syncMsBeforeAndAfter: disk,
    wantedCopiesPerSecond: Math.round(most * SHARE),
    posts: load.posted,
    surfaced: load.surfaced,
    samples,
  };
}

async function sampled(of: Pick<Soak, 'space' | 'daemon' | 'load'> & { copiesPerSecond: number; at: number }) {
  const { space, daemon, load } = of;
  const name = streams(space.mesh.space);
  const messages = async (stream: string): Promise<number> => {
    const info = await space.delivery.request(`$JS.API.STREAM.INFO.${stream}`, '{}');
    return info.json<{ state: { messages: number } }>().state.messages;
  };
  const writer = async (): Promise<number> => {
    const info = await space.delivery.request(`$JS.API.CONSUMER.INFO.${name.chat}.${FANOUT_CONSUMER}`, '{}');
    const { num_pending, num_ack_pending } = info.json<{ num_pending: number; num_ack_pending: number }>();
    return num_pending + num_ack_pending;
  };
  const [owed, handedOff, unrouted] = await Promise.all([messages(name.inbox), messages(name.dlv), writer()]);
  const took = load.took();
  const [own, broker] = [heldBy(daemon.process.pid ?? 0), heldBy(space.mesh.pid())];
  return {
    at: Math.round(of.at),
    copiesPerSecond: Math.round(of.copiesPerSecond),
    p50Ms: rounded(quantile(took, 0.5), 1),
    p99Ms: rounded(quantile(took, 0.99), 1),
    syncMs: syncMs(space.mesh.root),
    daemonRssMiB: mib(own.rss),
    brokerRssMiB: mib(broker.rss),
    daemonDescriptors: own.descriptors,
    brokerDescriptors: broker.descriptors,
    owed,
    handedOff,
    unrouted,
  };
}
