/** A space for measuring: a real mesh, members without credentials of their own, posts on the shelf. */

import { randomBytes } from 'node:crypto';
import { jetstreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/nats-core';
import { memberConsumer } from '../src/domain/layout.ts';
import type { Member } from '../src/domain/names.ts';
import { memberKey } from '../src/domain/names.ts';
import {
  bucketStream,
  buckets,
  chatSubject,
  deliveryConsumer,
  keySubject,
  memberRowKey,
  streams,
} from '../src/domain/subjects.ts';
import { newUid } from '../src/manager/lifecycle.ts';
import { Fence } from '../src/services/fence.ts';
import { systemClock } from '../src/services/local/clock.ts';
import { BATCH_MAX, type Outgoing, publishBatch } from '../src/services/nats/batch.ts';
import type { Journal } from '../src/services/ports.ts';
import { type Mesh, type MeshOptions, startMesh } from '../test/support/mesh.ts';
import type { MeshSpace } from '../test/support/mesh-space.ts';

const encoder = new TextEncoder();
export const TIMEOUT_MS = 30_000;
export const silentJournal: Journal = { tell: () => {} };

/** A fence that holds for as long as the measurement may take. */
export function heldFence(): Fence {
  const fence = new Fence({ clock: systemClock, fenceMs: Number.MAX_SAFE_INTEGER });
  fence.renewed(systemClock.now());
  return fence;
}

export interface SpaceAtHand<M extends MeshSpace = MeshSpace> {
  readonly mesh: M;
  /** May do everything that the measurement needs: the rights of the daemon. */
  readonly delivery: NatsConnection;
  readonly manager: NatsConnection;
}
export type BenchSpace = SpaceAtHand<Mesh>;

export async function atHand<M extends MeshSpace>(mesh: M): Promise<SpaceAtHand<M>> {
  return { mesh, delivery: await mesh.connect('delivery'), manager: await mesh.connect('manager') };
}

export async function openSpace(options: MeshOptions): Promise<BenchSpace> {
  return atHand(await startMesh(options));
}

/** Stores messages in atomic batches as fast as they go. */
export async function storeAll(connection: NatsConnection, messages: readonly Outgoing[]): Promise<void> {
  for (let at = 0; at < messages.length; at += BATCH_MAX) {
    const outcome = await publishBatch({
      connection,
      messages: messages.slice(at, at + BATCH_MAX),
      timeoutMs: TIMEOUT_MS,
    });
    if (outcome.kind !== 'stored') throw new Error(`a batch of the bench was not stored: ${JSON.stringify(outcome)}`);
  }
}

/** Makes members of a channel by their rows alone: an ACL row and an active membership from the beginning. */
export async function addMembers(
  space: SpaceAtHand,
  of: { channel: string; count: number; durables?: boolean },
): Promise<Member[]> {
  const { mesh, delivery, manager } = space;
  const bucket = buckets(mesh.space);
  const stamp = randomBytes(3).toString('hex');
  const members = Array.from(
    { length: of.count },
    (_, i): Member => ({ owner: 'bench', actor: `m${stamp}${i}`, uid: newUid() }),
  );
  const row = (bucketName: string, key: string, value: object): Outgoing => ({
    subject: keySubject(bucketName, key),
    data: encoder.encode(JSON.stringify(value)),
  });
  const now = Date.now();
  await storeAll(
    manager,
    members.map((member) =>
      row(bucket.acl, memberKey(member), {
        name: member.actor,
        allowSubscribe: ['>'],
        issuedAllowSubscribe: ['>'],
        revision: 1,
        updatedAt: now,
      }),
    ),
  );
  await storeAll(
    delivery,
    members.map((member) =>
      row(bucket.members, memberRowKey(of.channel, member), {
        channel: of.channel,
        owner: `${member.owner}.${member.actor}`,
        lifecycleUid: member.uid,
        state: 'active',
        joinCursor: 0,
        generation: 1,
        writerIdentity: 'bench',
        updatedAt: now,
      }),
    ),
  );
  if (of.durables === true) {
    const jsm = await jetstreamManager(manager, { checkAPI: false });
    for (const member of members) {
      const { stream, config } = memberConsumer(mesh.space, member);
      await jsm.consumers.add(stream, config);
    }
  }
  return members;
}

/** Posts of about `bytes` bytes by one sender. */
export function posts(space: string, of: { channel: string; count: number; bytes: number; from?: string }): Outgoing[] {
  const sender = of.from ?? 'bench.sender';
  const run = randomBytes(4).toString('hex');
  return Array.from({ length: of.count }, (_, i) => {
    const id = `${run}-${i}`;
    const message = {
      id,
      ts: Date.now(),
      space,
      from: { id: sender, name: 'sender' },
      channel: of.channel,
      parts: [{ kind: 'text', text: '' }],
    };
    const room = of.bytes - JSON.stringify(message).length;
    const text = 'x'.repeat(Math.max(1, room));
    const body = { ...message, parts: [{ kind: 'text', text }] };
    return {
      subject: chatSubject(space, sender, of.channel),
      data: encoder.encode(JSON.stringify(body)),
      msgId: `${sender}/${of.channel}/${id}`,
    };
  });
}

export { bucketStream, deliveryConsumer, streams };
