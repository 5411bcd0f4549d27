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
import { fault } from '../http/answers.ts';
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
  server.on('upgrade', (incoming, stream, head) => {
    void upgrade(engine, registries, sockets, { incoming, stream, head });
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
    cut: () => cut(server, sockets),
    async stop() {
      await registries.stop();
      await cut(server, sockets);
    },
  };
}

async function serve(
  engine: Engine,
  registries: Registries,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const response = await toRequest(incoming)
    .then((request) => answer(engine, registries, request))
    .catch(() => fault(500, 'unexpected', 'the request failed in a way nobody expected'));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(await response.text());
}

async function toRequest(incoming: IncomingMessage): Promise<Request> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const hasBody = incoming.method !== 'GET' && incoming.method !== 'HEAD';
  return new Request(new URL(incoming.url ?? '/', 'http://hosted'), {
    method: incoming.method ?? 'GET',
    headers: Object.entries(incoming.headers).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, String(value)] as [string, string]],
    ),
    ...(hasBody ? { body: Buffer.concat(chunks) } : {}),
  });
}

/** A bad token is refused before the upgrade. */
async function upgrade(
  engine: Engine,
  registries: Registries,
  sockets: WebSocketServer,
  { incoming, stream, head }: { incoming: IncomingMessage; stream: Duplex; head: Buffer },
): Promise<void> {
  stream.on('error', () => stream.destroy());
  const request = await toRequest(incoming);
  if (new URL(request.url).pathname !== SOCKET_PATH)
    return refuse(stream, fault(404, 'not_found', 'there is nothing at this path'));
  let caller: Awaited<ReturnType<typeof nodeCaller>> | undefined;
  const refusal = await guarded(async () => {
    caller = await nodeCaller(engine, request);
    return new Response();
  });
  if (caller === undefined) return refuse(stream, refusal);
  const { workspace, node } = caller;
  sockets.handleUpgrade(incoming, stream, head, (socket) => attach(registries, workspace, node, socket));
}

async function refuse(stream: Duplex, response: Response): Promise<void> {
  const body = await response.text();
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

async function cut(server: Server, sockets: WebSocketServer): Promise<void> {
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  for (const socket of sockets.clients) socket.terminate();
  server.closeAllConnections();
  await closed;
}
