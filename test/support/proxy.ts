/** A TCP proxy between a client and the broker, with faults in words: hold (one way or both), cut, slow. Loopback only. */
import { createConnection, createServer, type Server, type Socket } from 'node:net';

type Way = 'toBroker' | 'toClient';

export class TcpProxy {
  readonly #server: Server;
  readonly #pairs = new Set<{ client: Socket; broker: Socket }>();
  readonly #held: Record<Way, boolean> = { toBroker: false, toClient: false };
  readonly #kept: Record<Way, (() => void)[]> = { toBroker: [], toClient: [] };
  #delayMs = 0;
  /** Connections that were made through it so far. */
  accepted = 0;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Listens on a free loopback port and forwards to the broker. */
  static async to(brokerUrl: string): Promise<TcpProxy> {
    const { hostname, port } = new URL(brokerUrl);
    const server = createServer();
    const proxy = new TcpProxy(server);
    server.on('connection', (client) => proxy.#join(client, createConnection(Number(port), hostname)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    return `nats://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  #join(client: Socket, broker: Socket): void {
    this.accepted++;
    const pair = { client, broker };
    this.#pairs.add(pair);
    const end = () => {
      this.#pairs.delete(pair);
      client.destroy();
      broker.destroy();
    };
    for (const [from, into, way] of [
      [client, broker, 'toBroker'],
      [broker, client, 'toClient'],
    ] as const) {
      from.on('data', (data) => this.#carry(way, () => into.writable && into.write(data)));
      from.on('close', end);
      from.on('error', end);
    }
  }

  #carry(way: Way, send: () => void): void {
    if (this.#held[way]) this.#kept[way].push(send);
    else if (this.#delayMs > 0) setTimeout(send, this.#delayMs);
    else send();
  }

  /** Keeps bytes back; the sockets stay open. */
  hold(...ways: Way[]): void {
    for (const way of ways) this.#held[way] = true;
  }

  /** Lets what was kept back through, in order, and everything after it. */
  release(): void {
    for (const way of ['toBroker', 'toClient'] as const) {
      this.#held[way] = false;
      for (const send of this.#kept[way].splice(0)) send();
    }
  }

  /** Every byte takes this much longer from now on. */
  slow(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Ends every connection at once. */
  cut(): void {
    for (const { client, broker } of this.#pairs) {
      client.destroy();
      broker.destroy();
    }
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
