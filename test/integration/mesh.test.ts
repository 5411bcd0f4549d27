import { jetstream } from '@nats-io/jetstream';
import { afterEach, describe, expect, it } from 'vitest';
import { chatSubject, copySubject, deliveryConsumer, streams } from '../../src/domain/subjects.ts';
import { connectOnce } from '../../src/services/nats/connect.ts';
import { type Mesh, type MeshOptions, startMesh } from '../support/mesh.ts';

let mesh: Mesh | undefined;
const start = async (options?: MeshOptions): Promise<Mesh> => {
  mesh = await startMesh(options);
  return mesh;
};
afterEach(async () => {
  await mesh?.dispose();
  mesh = undefined;
});

describe('the mesh of a test', () => {
  it('lets an agent post, and read its own handed-off copies', async () => {
    const { space, addAgent, connect } = await start();
    const alice = await addAgent({ name: 'alice', read: ['team.>'], post: ['team.>'] });
    const agent = await connect(alice.credential);
    const daemon = await connect('delivery');

    await jetstream(agent).publish(chatSubject(space, alice.principal, 'team.a'), 'hello');
    await jetstream(daemon).publish(copySubject(space, alice.member, 'team.a'), 'a copy');
    const consumer = await jetstream(agent).consumers.get(streams(space).dlv, deliveryConsumer(alice.member));
    const copy = await consumer.next({ expires: 10_000 });
    expect(copy?.string()).toBe('a copy');
    expect(await copy?.ackAck()).toBe(true);
  });

  it('keeps its port and its store over a restart and over a kill -9', async () => {
    const { space, addAgent, connect, url, ...broker } = await start();
    const bob = await addAgent({ name: 'bob', post: ['x'] });
    const agent = await connect(bob.credential);
    // It is sent again where the answer is late; by its id it is still stored once.
    const post = (msgID: string) =>
      jetstream(agent).publish(chatSubject(space, bob.principal, 'x'), 'hello', { timeout: 200, retries: 50, msgID });
    expect((await post('one')).seq).toBe(1);
    await broker.restartBroker();
    expect((await post('two')).seq).toBe(2);
    await broker.killBroker();
    await broker.startBroker();
    expect(mesh?.url).toBe(url);
    expect((await post('three')).seq).toBe(3);
  });

  it('refuses a plaintext client when it has TLS, and a TLS client when it has none', async () => {
    const secure = await start({ tls: true });
    const credential = await secure.credsFor('provisioner');
    await expect(connectOnce({ url: secure.url, name: 'plain', credential })).rejects.toThrow();
    expect((await secure.connect(credential)).isClosed()).toBe(false);
    await secure.dispose();
    const plain = await start();
    await expect(
      connectOnce({ url: plain.url, name: 'tls', credential: await plain.credsFor('provisioner'), tls: {} }),
    ).rejects.toThrow(/tls/i);
  });

  it('is open to everyone in open mode, and to nobody without a credential otherwise', async () => {
    const open = await start({ open: true });
    const anyone = await connectOnce({ url: open.url, name: 'anyone' });
    await anyone.close();
    await open.dispose();
    const closed = await start();
    await expect(connectOnce({ url: closed.url, name: 'anyone' })).rejects.toThrow(/authorization/i);
  });
});
