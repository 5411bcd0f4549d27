import { jetstreamManager } from '@nats-io/jetstream';
import { Kvm } from '@nats-io/kv';
import type { NatsConnection } from '@nats-io/nats-core';
import { afterEach, describe, expect, it } from 'vitest';
import { describeDifference } from '../../src/domain/differences.ts';
import { standingConsumers, streamLayouts } from '../../src/domain/layout.ts';
import { buckets, LEASE_KEY, streams } from '../../src/domain/subjects.ts';
import { makeDeliveryDurable, newUid } from '../../src/manager/lifecycle.ts';
import { type ProvisionOutcome, provision } from '../../src/services/nats/provision.ts';
import { readRow, writeRow } from '../../src/services/nats/rows.ts';
import { type Mesh, type MeshOptions, startMesh } from '../support/mesh.ts';
import { until } from '../support/until.ts';

let mesh: Mesh | undefined;
afterEach(async () => {
  await mesh?.dispose();
  mesh = undefined;
});
async function begin(options: MeshOptions = {}): Promise<{ mesh: Mesh; connection: NatsConnection }> {
  mesh = await startMesh({ provisioned: false, ...options });
  return { mesh, connection: await mesh.connect('provisioner') };
}
const told = (outcome: ProvisionOutcome): string[] =>
  outcome.kind === 'differs' ? outcome.differences.map(describeDifference) : [];
const layoutOf = (name: string) => {
  const found = streamLayouts({ space: 'main' }).find((each) => each.name === name);
  if (found === undefined) throw new Error(`no layout of ${name}`);
  return found;
};

describe('provisioning a space', () => {
  it('makes everything once, and finds nothing to do the second time', async () => {
    const { connection } = await begin();
    const first = await provision({ connection, space: 'main' });
    const wanted = streamLayouts({ space: 'main' }).length + standingConsumers('main').length;
    expect(first.kind === 'ready' ? first.created : first).toHaveLength(wanted);
    expect(await provision({ connection, space: 'main' })).toEqual({ kind: 'ready', created: [] });
  });

  it('makes what is missing beside what is there', async () => {
    const { connection } = await begin();
    const manager = await jetstreamManager(connection, { checkAPI: false });
    await manager.streams.add(layoutOf('CHAT_main'));
    const outcome = await provision({ connection, space: 'main' });
    expect(outcome.kind === 'ready' ? outcome.created : outcome).not.toContain('stream CHAT_main');
    expect((await provision({ connection, space: 'main' })).kind).toBe('ready');
  });

  it('names each difference, changes nothing and makes nothing', async () => {
    const { connection } = await begin();
    const manager = await jetstreamManager(connection, { checkAPI: false });
    await manager.streams.add({ ...layoutOf('CHAT_main'), max_msgs_per_subject: 500, allow_atomic: false });
    expect(told(await provision({ connection, space: 'main' }))).toEqual([
      'stream CHAT_main: max_msgs_per_subject is 500, wanted 10000',
      'stream CHAT_main: allow_atomic is false, wanted true',
    ]);
    expect((await manager.streams.info('CHAT_main')).config.max_msgs_per_subject).toBe(500);
    await expect(manager.streams.info('INBOX_main')).rejects.toThrow('stream not found');
  });

  it('names a bucket of an older layout in which leases would never end', async () => {
    const { connection } = await begin();
    const manager = await jetstreamManager(connection, { checkAPI: false });
    const { max_age, subject_delete_marker_ttl, allow_msg_ttl, ...older } = layoutOf('KV_cotal_delivery_main');
    await manager.streams.add(older);
    expect(told(await provision({ connection, space: 'main' }))).toEqual([
      'stream KV_cotal_delivery_main: max_age is none, wanted 30 s',
      'stream KV_cotal_delivery_main: allow_msg_ttl is false, wanted true',
      'stream KV_cotal_delivery_main: subject_delete_marker_ttl is none, wanted 30 s',
    ]);
  });

  it('names another quota and another history', async () => {
    const { connection } = await begin();
    await provision({ connection, space: 'main' });
    expect(told(await provision({ connection, space: 'main', history: 5, quota: 7 }))).toEqual([
      'stream CHAT_main: max_msgs_per_subject is 10000, wanted 5',
      'stream INBOX_main: metadata plane3-quota is 100000, wanted 7',
    ]);
  });

  it('names a fan-out consumer that has another acknowledgement deadline', async () => {
    const { connection } = await begin();
    const manager = await jetstreamManager(connection, { checkAPI: false });
    for (const layout of streamLayouts({ space: 'main' })) await manager.streams.add(layout);
    const fanout = standingConsumers('main')[0]?.config;
    await manager.consumers.add('CHAT_main', { ...fanout, ack_wait: 1_000_000_000 });
    expect(told(await provision({ connection, space: 'main' }))).toEqual([
      'consumer fanout on CHAT_main: ack_wait is 1 s, wanted 60 s',
    ]);
  });

  it('reports what a credential may not do by subject and operation', async () => {
    const { mesh } = await begin();
    const outcome = await provision({ connection: await mesh.connect('claims'), space: 'main' });
    expect(outcome).toMatchObject({
      kind: 'failed',
      what: 'stream CHAT_main',
      failure: { kind: 'denied', operation: 'publish', subject: '$JS.API.STREAM.INFO.CHAT_main' },
    });
  });

  it('reports what the broker refuses: replicas on a single server', async () => {
    const { connection } = await begin();
    const outcome = await provision({ connection, space: 'main', replicas: 3 });
    expect(outcome).toMatchObject({ kind: 'failed', failure: { kind: 'refused' } });
  });
});

describe('the store of a space', () => {
  it('takes the durables of more than a thousand members', async () => {
    mesh = await startMesh();
    const connection = await mesh.connect('manager');
    const make = (i: number) =>
      makeDeliveryDurable({ connection, space: 'main', member: { owner: 'local', actor: `m${i}`, uid: newUid() } });
    for (let from = 0; from < 1001; from += 77) await Promise.all(Array.from({ length: 77 }, (_, i) => make(from + i)));
    const info = await (await jetstreamManager(connection, { checkAPI: false })).streams.info(streams('main').dlv);
    expect(info.state.consumer_count).toBe(1001);
  });

  it('ends a lease row that is not renewed, and says so on the watch', async () => {
    // Its delete marker lives as long: the claims must come while it is there.
    mesh = await startMesh({ leaseTtlMs: 4_000 });
    const connection = await mesh.connect('delivery');
    const bucket = buckets('main').delivery;
    const watch = await (await new Kvm(connection).open(bucket)).watch({ key: LEASE_KEY });
    const seen: string[] = [];
    const watching = (async () => {
      for await (const change of watch) seen.push(change.operation);
    })();
    const row = { connection, bucket, key: LEASE_KEY };
    await writeRow({ ...row, value: { holder: 'local.one' }, expect: 0 });
    await until(
      () => seen.length === 2,
      () => seen,
    );
    expect(seen[0]).toBe('PUT');
    watch.stop();
    await watching;

    const gone = await readRow(row);
    expect(gone).toMatchObject({ kind: 'absent', deleted: true });
    const revision = gone.kind === 'absent' ? gone.revision : -1;
    const claims = await Promise.all(
      ['one', 'two', 'three'].map((holder) => writeRow({ ...row, value: { holder }, expect: revision })),
    );
    expect(claims.map(({ kind }) => kind).sort()).toEqual(['conflict', 'conflict', 'stored']);
  });
});
