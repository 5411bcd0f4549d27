/** A lost compare-and-set comes with either of two numbers (LSE-09); a broker of the test's own answers with the one it is told. */
import type { NatsConnection } from '@nats-io/nats-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buckets, keySubject, LEASE_KEY } from '../../src/domain/subjects.ts';
import { publishBatch } from '../../src/services/nats/batch.ts';
import { connectOnce } from '../../src/services/nats/connect.ts';
import { GatedBroker } from '../../src/services/nats/gated-broker.ts';
import { natsLeaseRows } from '../../src/services/nats/lease-rows.ts';
import { deleteRow, writeRow } from '../../src/services/nats/rows.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';

let mesh: Mesh;
let connection: NatsConnection;
let store: NatsConnection;
let code = 0;

beforeAll(async () => {
  mesh = await startMesh({ open: true });
  [connection, store] = [
    await connectOnce({ url: mesh.url, name: 'asks' }),
    await connectOnce({ url: mesh.url, name: 'answers' }),
  ];
  const bucket = buckets(mesh.space).delivery;
  store.subscribe(keySubject(bucket, '>'), {
    callback: (_, message) => {
      const error = { code: 400, err_code: code, description: 'wrong last sequence: 7' };
      message.respond(JSON.stringify({ error, stream: `KV_${bucket}`, seq: 0 }));
    },
  });
  await store.flush();
});
afterAll(async () => {
  await Promise.all([connection, store].map((each) => each.close()));
  await mesh.dispose();
});

const row = {
  holder: 'local.delivery',
  incarnation: 'one',
  since: 1,
  acquiredAt: 1,
  ready: false,
  proofKey: '',
  proofAttestation: '',
};

describe.each([10071, 10164])('a lost compare-and-set with the number %i', (number) => {
  beforeAll(() => {
    code = number;
  });
  const lease = () => {
    const broker = new GatedBroker({ connection, inboxPrefix: '_INBOX', gate: () => undefined, timeoutMs: 2_000 });
    return natsLeaseRows({ broker, space: mesh.space });
  };
  const address = () => ({ connection, bucket: buckets(mesh.space).delivery, key: LEASE_KEY });

  it.each([
    ['created', () => lease().write({ row, revision: 0 })],
    ['renewed', () => lease().write({ row, revision: 5 })],
    ['given back', () => lease().remove({ revision: 5 })],
  ] as const)('is a conflict where the lease is %s', async (_, ask) => {
    expect(await ask()).toEqual({ kind: 'conflict' });
  });

  it('is a conflict where any other row is written or removed, and in a batch', async () => {
    expect(await writeRow({ ...address(), value: row, expect: 5 })).toEqual({ kind: 'conflict' });
    expect(await deleteRow({ ...address(), expect: 5 })).toEqual({ kind: 'conflict' });
    const subject = keySubject(buckets(mesh.space).delivery, 'x');
    const message = { subject, data: new Uint8Array(), expectLastSubjectSeq: 5 };
    expect(await publishBatch({ connection, messages: [message, message], timeoutMs: 2_000 })).toEqual({
      kind: 'conflict',
    });
  });
});
