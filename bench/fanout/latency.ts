/** From a post to its confirmation-ready surfacing: ten posts a second, ten members, beside two awaited publishes. */
import { jetstream } from '@nats-io/jetstream';
import { deliveryConsumer, streams } from '../../src/domain/subjects.ts';
import { publishOne } from '../../src/services/nats/batch.ts';
import { startDaemon } from '../child.ts';
import { quantile, rounded } from '../figures.ts';
import { railJoin } from '../rail.ts';
import { openSpace, posts, TIMEOUT_MS } from '../space.ts';

const CHANNEL = 'bench.general';
const MEMBERS = 10;
const GAP_MS = 100;

export async function measureLatency(of: { seconds: number; say: (line: string) => void }) {
  const space = await openSpace({ durability: 'strict' });
  try {
    const daemon = await startDaemon(space.mesh);
    const sender = await space.mesh.addAgent({ name: 'sender', post: ['>'] });
    const posting = await space.mesh.connect(sender.credential);
    const sentAt = new Map<string, number>();
    const took: number[] = [];
    for (let i = 0; i < MEMBERS; i++) {
      const agent = await space.mesh.addAgent({ name: `reader${i}`, read: ['>'] });
      const connection = await space.mesh.connect(agent.credential);
      await railJoin(connection, space.mesh.space, agent.principal, CHANNEL);
      const consumer = await jetstream(connection).consumers.get(
        streams(space.mesh.space).dlv,
        deliveryConsumer(agent.member),
      );
      await consumer.consume({
        callback: (message) => {
          const at = sentAt.get(message.json<{ msg: { id: string } }>().msg.id);
          if (at !== undefined) took.push(performance.now() - at);
          message.ack();
        },
      });
    }
    const two: number[] = [];
    const all = posts(space.mesh.space, {
      channel: CHANNEL,
      count: of.seconds * 10,
      bytes: 200,
      from: sender.principal,
    });
    for (const message of all) {
      const { id } = JSON.parse(Buffer.from(message.data).toString()) as { id: string };
      sentAt.set(id, performance.now());
      await publishOne({ connection: posting, message, timeoutMs: TIMEOUT_MS });
      await pause(GAP_MS);
      const started = performance.now();
      for (const twice of ['a', 'b']) {
        const subject = `cotal.${space.mesh.space}.dinbox.bench.probe.abcdefghijklmnopqrstuvwxyz.${twice}`;
        await publishOne({
          connection: space.delivery,
          message: { subject, data: message.data },
          timeoutMs: TIMEOUT_MS,
        });
      }
      two.push(performance.now() - started);
    }
    await pause(1_000);
    await daemon.stop();
    const result = {
      samples: took.length,
      p50Ms: rounded(quantile(took, 0.5)),
      p99Ms: rounded(quantile(took, 0.99)),
      twoPublishesP50Ms: rounded(quantile(two, 0.5)),
      p99ToTwoPublishes: rounded(quantile(took, 0.99) / quantile(two, 0.5)),
    };
    of.say(
      `latency: p50 ${result.p50Ms} ms, p99 ${result.p99Ms} ms; two awaited publishes ${result.twoPublishesP50Ms} ms`,
    );
    return result;
  } finally {
    await space.mesh.dispose();
  }
}

/** The load's own pace; nothing is waited for with it. */
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
