/**
 * The in-process server of the provider plane: the HTTP table and the nodes' sockets over `node:http` and `ws`, with the
 * registries and the database in this process.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import type { Engine } from '../engine/engine.ts';
import { BODY_BYTES, fault, Refused, tooLarge } from '../http/answers.ts';
import { nodeCaller } from '../http/callers.ts';
import { answer, guarded, SOCKET_PATH } from '../http/routes.ts';
import type { Registries } from './registries.ts';
import { wsSocket } from './ws-socket.ts';

export interface Listening {
  readonly url: string;
  /** Tells every socket, writes the departures down, and ends. */
  stop(): Promise<void>;
  /** Ends at once: connections are cut, nobody is told. */
  cut(): Promise<void>;
}

export async function listen(
  engine: Engine,
  registries: Registries,
  { host, port }: { host: string; port: number },
): Promise<Listening> {
  const sockets = new WebSocketServer({
    noServer: true,
    perMessageDeflate: false,
    // Above our own cap, so that the registry itself finds a frame too big and closes with 1009.
    maxPayload: engine.limits.frameBytes * 4,
  });
  const server = createServer((incoming, outgoing) => {
    void serve(engine, registries, incoming, outgoing);
  });
  // The server forgets a connection that asks for an upgrade, whatever becomes of it.
  const upgrades = new Set<Duplex>();
  server.on('upgrade', (incoming, stream, head) => {
    upgrades.add(stream);
    stream.once('close', () => upgrades.delete(stream));
    // What fails after the handshake costs its own connection and nothing else.
    upgrade(engine, registries, sockets, { incoming, stream, head }).catch(() => stream.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', ({ code, message }: NodeJS.ErrnoException) =>
      reject(new Plane3Error('hosted.listen', { host, port, reason: code ?? message })),
    );
    server.listen(port, host, resolve);
  });
  const { port: taken } = server.address() as AddressInfo;
  return {
    url: `http://${host}:${taken}`,
    cut: () => cut(server, upgrades),
    async stop() {
      await registries.stop();
      await cut(server, upgrades);
    },
  };
}

async function serve(
  engine: Engine,
  registries: Registries,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const response = await guarded(async () =>
    answer(engine, registries, requestOf(incoming, await collected(incoming))),
  ).catch(unexpected);
  // The rest of a body that was not read to its end is not waited for.
  if (!incoming.complete) outgoing.setHeader('connection', 'close');
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(await response.text());
}

const unexpected = (): Response => fault(500, 'unexpected', 'the request failed in a way nobody expected');

/** Reads a body up to the bound: whoever sends it has shown no token yet. @throws Refused 413 at the first byte above it. */
async function collected(incoming: IncomingMessage): Promise<Buffer> {
  if (Number(incoming.headers['content-length'] ?? 0) > BODY_BYTES) throw tooLarge();
  const chunks: Buffer[] = [];
  let bytes = 0;
  // The connection outlives the refusal, which is still to be written to it.
  for await (const chunk of incoming.iterator({ destroyOnReturn: false })) {
    bytes += (chunk as Buffer).length;
    if (bytes > BODY_BYTES) throw tooLarge();
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

/** @throws Refused 400 for a method or a URL that the Fetch API does not take, and Node's parser does. */
function requestOf({ method = 'GET', url = '/', headers }: IncomingMessage, body?: Buffer): Request {
  const hasBody = body !== undefined && method !== 'GET' && method !== 'HEAD';
  try {
    return new Request(new URL(url, 'http://hosted'), {
      method,
      headers: Object.entries(headers).flatMap(([key, value]) =>
        value === undefined ? [] : [[key, String(value)] as [string, string]],
      ),
      ...(hasBody ? { body } : {}),
    });
  } catch {
    throw new Refused(400, 'invalid_request', 'the method or the URL of the request is not valid');
  }
}

/** Whatever is wrong with a request, a bad token first of all, is refused before the upgrade. A body is not read. */
async function upgrade(
  engine: Engine,
  registries: Registries,
  sockets: WebSocketServer,
  { incoming, stream, head }: { incoming: IncomingMessage; stream: Duplex; head: Buffer },
): Promise<void> {
  stream.on('error', () => stream.destroy());
  let caller: Awaited<ReturnType<typeof nodeCaller>> | undefined;
  const refusal = await guarded(async () => {
    const request = requestOf(incoming);
    if (new URL(request.url).pathname !== SOCKET_PATH) return fault(404, 'not_found', 'there is nothing at this path');
    caller = await nodeCaller(engine, request);
    return new Response();
  }).catch(unexpected);
  if (caller === undefined) return refuse(stream, refusal, engine.limits.unboundMs);
  const { workspace, node } = caller;
  sockets.handleUpgrade(incoming, stream, head, (socket) => attach(registries, workspace, node, socket));
}

/**
 * Answers and closes. What the peer still sends is read and dropped until it closes too: closed at once, the answer could be
 * lost on the way.
 * @param withinMs When it is closed in any case, milliseconds: a peer may keep its half open for ever.
 */
async function refuse(stream: Duplex, response: Response, withinMs: number): Promise<void> {
  const body = await response.text();
  const late = setTimeout(() => stream.destroy(), withinMs);
  stream.once('close', () => clearTimeout(late));
  stream.resume();
  stream.end(
    `HTTP/1.1 ${response.status} Refused\r\nContent-Type: application/json\r\nConnection: close\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
}

function attach(registries: Registries, workspace: string, node: string, socket: WebSocket): void {
  const { registry, sockets } = registries.of(workspace, node);
  const attached = wsSocket(socket);
  sockets.add(attached);
  registry.opened(attached);
  socket.on('message', (data, isBinary) => {
    void registry.received(attached, isBinary ? data : data.toString());
  });
  socket.on('error', () => socket.terminate());
  socket.on('close', () => {
    sockets.delete(attached);
    void registry.closed(attached);
  });
}

/** Ends every connection: sockets, upgrades that are refused or not judged yet, and requests. */
async function cut(server: Server, upgrades: ReadonlySet<Duplex>): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  for (const stream of upgrades) stream.destroy();
  server.closeAllConnections();
  await closed;
}
