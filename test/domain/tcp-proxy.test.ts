/** What both ends of a connection through the proxy of the fault runs see of it. */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TcpProxy } from '../../src/torture/proxy.ts';

async function connectTo(port: number): Promise<{ readonly socket: Socket; heard(): string }> {
  const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true });
  let heard = '';
  socket.on('data', (data) => {
    heard += String(data);
  });
  await once(socket, 'connect');
  return { socket, heard: () => heard };
}

describe('a connection through the proxy', () => {
  const taken: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    taken.push(socket);
    socket.on('data', (data) => socket.write(data));
    socket.on('end', () => socket.end('goodbye'));
  });
  let proxy: TcpProxy;
  beforeEach(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    proxy = await TcpProxy.to(`tcp://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`);
  });
  afterEach(async () => {
    await proxy.close();
    for (const socket of taken.splice(0)) socket.destroy();
    server.close();
    await once(server, 'close');
  });

  it('may be ended by one end, which then still hears what the other one says', async () => {
    const client = await connectTo(proxy.port);
    client.socket.end('hello');
    await once(client.socket, 'end');
    expect(client.heard()).toBe('hellogoodbye');
  });

  it('that is stranded carries nothing more, not even its end, while a new one goes through', async () => {
    const stranded = await connectTo(proxy.port);
    stranded.socket.write('hello');
    await once(stranded.socket, 'data');
    proxy.hold('toBroker', 'toClient');
    stranded.socket.write('lost');
    proxy.strand();
    stranded.socket.end();
    const next = await connectTo(proxy.port);
    next.socket.end('after it');
    await once(next.socket, 'end');
    expect(next.heard()).toBe('after itgoodbye');
    expect([stranded.heard(), stranded.socket.readableEnded]).toEqual(['hello', false]);
    expect(taken[0]?.readableEnded).toBe(false);
    stranded.socket.destroy();
  });
});
