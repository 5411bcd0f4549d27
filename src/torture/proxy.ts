/**
 * A TCP proxy in front of a server, with faults in words: hold (one way or both), release, drop, strand, cut, slow, refuse,
 * redirect.
 * Loopback only.
 */
import { createConnection, createServer, type Server, type Socket } from 'node:net';

export type Way = 'toBroker' | 'toClient';
const WAYS = ['toBroker', 'toClient'] as const;
type Pair = { readonly client: Socket; readonly broker: Socket };

export class TcpProxy {
  readonly #server: Server;
  readonly #look: (client: Socket) => void;
  #target: () => string;
  readonly #pairs = new Set<Pair>();
  readonly #stranded = new WeakSet<Pair>();
  readonly #held: Record<Way, boolean> = { toBroker: false, toClient: false };
  readonly #kept: Record<Way, (() => void)[]> = { toBroker: [], toClient: [] };
  #delayMs = 0;
  #refuses = false;
  /** Connections that were made through it so far. */
  accepted = 0;

  private constructor(server: Server, target: () => string, look: (client: Socket) => void) {
    this.#server = server;
    this.#target = target;
    this.#look = look;
  }

  /**
   * Listens on a free loopback port and forwards to a URL; where that may change, it is asked for at each connection.
   * `look` is shown each client before the first byte of it is carried.
   */
  static async to(target: string | (() => string), look: (client: Socket) => void = () => {}): Promise<TcpProxy> {
    // An end is carried like bytes: whoever is held hears no answer to its own.
    const server = createServer({ allowHalfOpen: true });
    const proxy = new TcpProxy(server, typeof target === 'string' ? () => target : target, look);
    server.on('connection', (client) => proxy.#join(client));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    return typeof address === 'object' && address !== null ? address.port : 0;
  }

  get url(): string {
    return this.urlOf('nats');
  }

  urlOf(scheme: string): string {
    return `${scheme}://127.0.0.1:${this.port}`;
  }

  /** Connections that are open through it now, those whose end is held back included. */
  get open(): number {
    return this.#pairs.size;
  }

  #join(client: Socket): void {
    if (this.#refuses) return void client.destroy();
    this.#look(client);
    const { hostname, port } = new URL(this.#target());
    const broker = createConnection({ port: Number(port), host: hostname, allowHalfOpen: true });
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
      from.on('data', (data) => this.#carry(pair, way, () => into.writable && into.write(data)));
      from.on('end', () => this.#carry(pair, way, () => into.end()));
      from.on('close', () => this.#carry(pair, way, end));
      from.on('error', () => {});
    }
  }

  #carry(pair: Pair, way: Way, send: () => void): void {
    if (this.#stranded.has(pair)) return;
    if (this.#held[way]) this.#kept[way].push(send);
    else if (this.#delayMs > 0) setTimeout(send, this.#delayMs);
    else send();
  }

  /** Keeps bytes back, also the end of a connection; the sockets stay open. */
  hold(...ways: Way[]): void {
    for (const way of ways) this.#held[way] = true;
  }

  /** Lets what was kept back through, in order, and everything after it. */
  release(): void {
    for (const way of WAYS) {
      this.#held[way] = false;
      for (const send of this.#kept[way].splice(0)) send();
    }
  }

  /** Forgets what was kept back, and ends every connection. */
  drop(): void {
    this.#forget();
    this.cut();
  }

  /** Forgets what was kept back; nothing more of what is open now is carried, not even its end. What comes new goes through. */
  strand(): void {
    for (const pair of this.#pairs) this.#stranded.add(pair);
    this.#forget();
  }

  #forget(): void {
    for (const way of WAYS) {
      this.#held[way] = false;
      this.#kept[way].splice(0);
    }
  }

  /** Every byte takes this much longer from now on. */
  slow(delayMs: number): void {
    this.#delayMs = delayMs;
  }

  /** Forwards every further connection to another server. */
  redirect(target: string): void {
    this.#target = () => target;
  }

  /** New connections are ended at once, while it lasts. */
  refuse(refuses: boolean): void {
    this.#refuses = refuses;
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
