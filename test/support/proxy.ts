/**
 * A TCP proxy between a client and the broker, with faults in words: hold (one way or both), cut, slow, refuse. It writes
 * down what each client presents itself with. Loopback only.
 */
import { createConnection, createServer, type Server, type Socket } from 'node:net';

type Way = 'toBroker' | 'toClient';

/** What a client said of itself in its CONNECT. */
export interface Presented {
  readonly jwt: string;
  readonly name: string;
  readonly atMs: number;
}

export class TcpProxy {
  readonly #server: Server;
  readonly #pairs = new Set<{ client: Socket; broker: Socket }>();
  readonly #held: Record<Way, boolean> = { toBroker: false, toClient: false };
  readonly #kept: Record<Way, (() => void)[]> = { toBroker: [], toClient: [] };
  #delayMs = 0;
  #host = '';
  #port = 0;
  /** Connections that were made through it so far. */
  accepted = 0;
  /** Every CONNECT that was sent through it, in order. Empty where TLS hides them. */
  readonly presented: Presented[] = [];
  readonly #refused = new Set<string>();

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Listens on a free loopback port and forwards to the broker. */
  static async to(brokerUrl: string): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server);
    proxy.redirect(brokerUrl);
    server.on('connection', (client) => proxy.#join(client, createConnection(proxy.#port, proxy.#host)));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    return `nats://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  /** Connections that are open through it now. */
  get open(): number {
    return this.#pairs.size;
  }

  #join(client: Socket, broker: Socket): void {
    this.accepted++;
    const pair = { client, broker };
    this.#note(client);
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

  #note(client: Socket): void {
    let head = '';
    const look = (data: Buffer) => {
      head += data.toString('latin1');
      const [, json] = /CONNECT (\{.*\})\r\n/.exec(head) ?? [];
      if (json === undefined) return;
      client.off('data', look);
      const { jwt = '', name = '' } = JSON.parse(json) as { jwt?: string; name?: string };
      this.presented.push({ jwt, name, atMs: Date.now() });
      if (this.#refused.has(name)) client.destroy();
    };
    client.on('data', look);
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

  /** Forwards every further connection to another broker. */
  redirect(brokerUrl: string): void {
    const { hostname, port } = new URL(brokerUrl);
    this.#host = hostname;
    this.#port = Number(port);
  }

  /** Ends every further connection that presents itself by this name. */
  refuse(name: string): void {
    this.#refused.add(name);
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
