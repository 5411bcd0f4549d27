/**
 * The provider plane: frames through gate and engine in Node; deliver → ack round trips on real workerd against a bare
 * WebSocket echo of the same runtime, the same client, and the same number in flight; replay of 10,000 rows to one socket.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { WebSocket } from 'ws';
import { roomy } from '../test/worker/support/bounds.ts';
import type { Heard, Peer } from '../test/worker/support/peer.ts';
import { plantRows } from '../test/worker/support/rows.ts';
import { Site } from '../test/worker/support/site.ts';
import type { Stage } from '../test/worker/support/stage.ts';
import { openWorkerd } from '../test/worker/support/workerd-stage.ts';
import type { Bench } from './bench.ts';
import { engineFrames } from './provider/engine.ts';

/** Frames in flight, in the echo as in the deliveries: the window of a socket. */
const IN_FLIGHT = 1_000;

export const bench: Bench = {
  async run({ quick, say }) {
    const rows = quick ? 1_000 : 10_000;
    const folder = mkdtempSync(join(tmpdir(), 'plane3-bench-'));
    say('frames through gate and engine in Node');
    const frames = await engineFrames(join(folder, 'hosted.db'), quick ? 2_000 : 20_000);
    rmSync(folder, { recursive: true, force: true });
    const stage = await openWorkerd({ bounds: roomy });
    try {
      say('echo');
      const echoPerSecond = await echo(stage.url, rows);
      say('deliver → ack');
      const roundTripsPerSecond = await roundTrips(stage, rows);
      say('replay');
      const replayRowsPerSecond = await replay(stage, rows);
      say('echo again');
      const echoAgain = await echo(stage.url, rows);
      const echoMean = (echoPerSecond + echoAgain) / 2;
      return {
        framesPerSecond: Math.round(frames.framesPerSecond),
        heartbeatsPerSecond: Math.round(frames.heartbeatsPerSecond),
        storageWritesPerHeartbeat: frames.writesPerHeartbeat,
        roundTripsPerSecond: Math.round(roundTripsPerSecond),
        echoPerSecond: Math.round(echoMean),
        ratioToEcho: Number((roundTripsPerSecond / echoMean).toFixed(3)),
        replayRowsPerSecond: Math.round(replayRowsPerSecond),
        rows,
        inFlight: IN_FLIGHT,
      };
    } finally {
      await stage.close();
    }
  },
};

/** Frames a second through a bare echo, as many in flight as a window has. */
async function echo(url: string, count: number): Promise<number> {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/test/echo`, { perMessageDeflate: false });
  await new Promise((resolve) => socket.once('open', resolve));
  const text = JSON.stringify({ v: 1, type: 'delivery.ack', agent: 'Ann', up_to_seq: 123_456, pad: 'x'.repeat(200) });
  const started = performance.now();
  await new Promise<void>((resolve) => {
    let sent = 0;
    let heard = 0;
    const send = () => {
      while (sent < count && sent - heard < IN_FLIGHT) {
        socket.send(text);
        sent += 1;
      }
    };
    socket.on('message', () => {
      heard += 1;
      if (heard === count) resolve();
      else send();
    });
    send();
  });
  const seconds = (performance.now() - started) / 1_000;
  socket.close();
  return count / seconds;
}

/** A peer that is bound, and an agent of before with that many rows, which is not declared ready yet. */
async function owed(stage: Stage, count: number) {
  const site = await Site.make(stage);
  const earlier = await site.bound();
  const ann = await site.agent(earlier, 'Ann');
  earlier.close();
  await earlier.gone();
  await plantRows(site, ann, count);
  return { site, ann, peer: await site.bound({ instance: 'i2' }) };
}

/** Each row is delivered and acknowledged on its own; the clock stops when the last cursor is in D1. */
async function roundTrips(stage: Stage, count: number): Promise<number> {
  const { site, peer, ann } = await owed(stage, count);
  peer.acks = true;
  const all = heardAll(peer, count);
  const started = performance.now();
  await site.inventory(peer, [{ id: ann, name: 'Ann' }]);
  await all;
  await acknowledged(site, peer, ann, count);
  const seconds = (performance.now() - started) / 1_000;
  await site.leave();
  return count / seconds;
}

/** Rows a second to one socket whose peer acknowledges every hundredth. */
async function replay(stage: Stage, count: number): Promise<number> {
  const { site, peer, ann } = await owed(stage, count);
  const all = heardAll(peer, count, (frame, heard) => {
    if (heard % 100 === 0) peer.send({ type: 'delivery.ack', agent: 'Ann', up_to_seq: frame.seq });
  });
  const started = performance.now();
  await site.inventory(peer, [{ id: ann, name: 'Ann' }]);
  const seconds = ((await all) - started) / 1_000;
  await acknowledged(site, peer, ann, count);
  await site.leave();
  return count / seconds;
}

/** Resolves with the time at which the last delivery was heard. */
const heardAll = (peer: Peer, count: number, each?: (frame: Heard, heard: number) => void): Promise<number> =>
  new Promise((resolve) => {
    let heard = 0;
    peer.onDeliver = (frame) => {
      heard += 1;
      each?.(frame, heard);
      if (heard === count) resolve(performance.now());
    };
  });

/** The queue keeps the order: what is answered after the acks was answered after they were stored. */
async function acknowledged(site: Site, peer: Peer, agent: string, count: number): Promise<void> {
  await peer.ask({ type: 'agent.recover', name: 'nobody', expected_agent_id: 'x' });
  const cursor = await site.cursor(agent);
  if (cursor !== count) throw new Error(`acknowledged up to ${cursor} of ${count}`);
}
