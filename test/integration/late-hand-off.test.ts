/** A hand-off that is held up on its way, on a real broker behind a proxy (docs/decisions/turns.md). */
import { connect } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { encodeCopy } from '../../src/domain/copy.ts';
import { inboxPrefix } from '../../src/domain/permissions.ts';
import { connectOptions } from '../../src/services/nats/connect.ts';
import { natsCopies } from '../../src/services/nats/copies.ts';
import { GatedBroker } from '../../src/services/nats/gated-broker.ts';
import { TcpProxy } from '../../src/torture/proxy.ts';
import { type Mesh, startMesh } from '../support/mesh.ts';
import { until } from '../support/until.ts';

let mesh: Mesh;
let proxy: TcpProxy;
beforeAll(async () => {
  mesh = await startMesh();
  proxy = await TcpProxy.to(mesh.url);
});
afterAll(async () => {
  await proxy.close();
  await mesh.dispose();
});

/** DLV as a daemon at this address sees it. */
async function copiesAt(url: string, timeoutMs: number) {
  const credential = await mesh.credsFor('delivery');
  const connection = await connect(connectOptions({ url, name: 'test', credential }));
  const broker = new GatedBroker({
    ...{ connection, timeoutMs, gate: () => undefined },
    inboxPrefix: inboxPrefix(credential.publicKey),
  });
  return { connection, copies: natsCopies({ broker, space: mesh.space, incarnation: 'test' }) };
}

it.each([
  ['one copy', 1],
  ['several copies', 5],
])('%s: stored before its turn is over, and never after it', async (_what, count) => {
  const { member } = await mesh.addAgent({ name: `ann${count}`, read: ['>'] });
  const handed = Array.from({ length: count }, (_, n) => ({
    entrySeq: n + 1,
    channel: 'ops',
    data: encodeCopy(new TextEncoder().encode('{}'), { channel: 'ops', seq: n + 1, generation: 1 }),
  }));
  // The hand-off that is held up takes the whole time of the first one; those that are not must be done within it.
  const [before, after] = [await copiesAt(proxy.url, 2_000), await copiesAt(mesh.url, 10_000)];
  const held = async () => {
    const read = await after.copies.held({ member });
    return read.kind === 'read' ? read.copies.length : read;
  };
  expect(await before.copies.storeAll({ member, copies: handed })).toMatchObject({ kind: 'stored' });
  expect(await held()).toBe(count);
  proxy.hold('toBroker');
  expect(await before.copies.storeAll({ member, copies: handed })).toMatchObject({ kind: 'silent' });
  expect(await after.copies.barrier()).toEqual({ kind: 'stands' });
  proxy.release();
  // What was held back has arrived when what was sent behind it has been answered.
  await until(async () => (await before.copies.counts({ member })).kind === 'read', 'the line is open again');
  expect(await held()).toBe(count);
  expect(await after.copies.storeAll({ member, copies: handed })).toMatchObject({ kind: 'stored' });
  expect(await held()).toBe(2 * count);
  expect(await after.copies.counts({})).toMatchObject({ foreign: [] });
  await Promise.all([before.connection.close(), after.connection.close()]);
});
