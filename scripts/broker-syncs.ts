/**
 * Counts, with strace, how often nats-server syncs to disk for one atomic batch of 500 messages and for one single publish,
 * strict and relaxed, and measures batches. Needs strace and the right to attach it. COTAL_NATS_SERVER chooses the server.
 *
 *   node --conditions=plane3-source scripts/broker-syncs.ts
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { NatsConnection } from '@nats-io/nats-core';
import { publishBatch, publishOne } from '../src/services/nats/batch.ts';
import { type Mesh, startMesh } from '../test/support/mesh.ts';

const SIZE = 500;
const ROUNDS = 10;
const message = { subject: 'cotal.main.dinbox.local.a.u.ch', data: new Uint8Array(200) };
const messages = Array.from({ length: SIZE }, () => message);

/** Syncs that the broker makes while the work runs. */
async function syncsOf(mesh: Mesh, work: () => Promise<unknown>): Promise<number> {
  const trace = spawn('strace', ['-f', '-p', String(mesh.pid()), '-e', 'trace=fsync,fdatasync'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let text = '';
  const attached = new Promise<void>((resolve) => {
    trace.stderr.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('attached')) resolve();
    });
  });
  await attached;
  await work();
  trace.kill('SIGINT');
  await once(trace, 'close');
  return text.match(/\bf(data)?sync\(/g)?.length ?? 0;
}

async function batchesASecond(connection: NatsConnection): Promise<number> {
  const started = performance.now();
  for (let i = 0; i < ROUNDS; i++) await publishBatch({ connection, messages, timeoutMs: 20_000 });
  return (SIZE * ROUNDS * 1000) / (performance.now() - started);
}

for (const durability of ['strict', 'relaxed'] as const) {
  const mesh = await startMesh({ durability });
  try {
    const connection = await mesh.connect('delivery');
    await publishBatch({ connection, messages, timeoutMs: 20_000 });
    const batch = await syncsOf(mesh, () => publishBatch({ connection, messages, timeoutMs: 60_000 }));
    const single = await syncsOf(mesh, () => publishOne({ connection, message, timeoutMs: 20_000 }));
    const rate = Math.round(await batchesASecond(connection));
    const version = mesh.binary.version;
    process.stdout.write(`${JSON.stringify({ version, durability, batch, single, messagesPerSecond: rate })}\n`);
  } finally {
    await mesh.dispose();
  }
}
