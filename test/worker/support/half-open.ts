/** A TCP proxy that can stop forwarding without closing anything: what a half-open connection looks like to both ends. */

import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

export interface TcpProxy {
  readonly url: string;
  /** From now on nothing is forwarded, not even a close. */
  freeze(): void;
  /** New connections go through again; those that were frozen stay so. */
  thaw(): void;
  close(): Promise<void>;
}

export async function proxyTo(target: string): Promise<TcpProxy> {
  const { hostname, port } = new URL(target);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  const frozen = new WeakSet<Socket>();
  const holds = (socket: Socket): boolean => isFrozen || frozen.has(socket);
  const forward = (from: Socket, to: Socket): void => {
    sockets.add(from);
    from.on('data', (data) => holds(from) || to.write(data));
    from.on('end', () => holds(from) || to.end());
    from.on('close', () => holds(from) || to.destroy());
    from.on('error', () => undefined);
  };
  const server: Server = createServer({ allowHalfOpen: true }, (near) => {
    const far = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    forward(near, far);
    forward(far, near);
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    freeze() {
      isFrozen = true;
    },
    thaw() {
      for (const socket of sockets) frozen.add(socket);
      isFrozen = false;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
