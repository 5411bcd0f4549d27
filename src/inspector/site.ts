/**
 * A loopback port that answers questions: HTTP from this machine, and from no page but its own. It never takes anything in.
 *
 *   - it listens on 127.0.0.1 and on nothing else;
 *   - a `Host` that is not this very address is refused: a name of somebody else's that resolves to here (DNS rebinding);
 *   - an `Origin` that is not this very address is refused, for requests and for sockets;
 *   - anything but GET and HEAD is refused;
 *   - sockets, headers and time are bounded, so that whoever holds them open holds nothing else up.
 */
import { createServer, type IncomingMessage, type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { DoorFact } from '../machines/door.machine.ts';
import type { Stoppable } from '../services/ports.ts';

export interface Answer {
  readonly status: number;
  /** Of the body; plain text unless told. */
  readonly type?: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Site {
  /** Undefined: there is nothing of this path. A refusal is an answer too. */
  answer(path: string): Answer | undefined | Promise<Answer | undefined>;
  /** Takes the socket over, or answers with a refusal. */
  upgrade?(path: string, request: IncomingMessage, socket: Duplex, head: Buffer): Answer | undefined;
}

export const LOOPBACK = '127.0.0.1';
const MOST_SOCKETS = 64;
const HEADERS_MS = 5_000;
const IDLE_MS = 10_000;

const usual: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Frame-Options': 'DENY',
};

export const refusal = (status: number, why: string): Answer => ({ status, body: `${why}\n` });

/** Why a request is not for this address, or is from another page than ours. */
export function refuseStranger(request: IncomingMessage, port: number): Answer | undefined {
  const ours = [`${LOOPBACK}:${port}`, `localhost:${port}`];
  const { host = '', origin } = request.headers;
  if (!ours.includes(host)) return refusal(421, 'this port answers to its loopback address alone');
  if (origin !== undefined && !ours.some((name) => origin === `http://${name}`)) {
    return refusal(403, 'another page may not look in here');
  }
  return undefined;
}

/** Opens the port and answers until it is stopped; `0` takes a free one. */
export function openSite(of: {
  readonly port: number;
  readonly site: Site;
  readonly tell: (fact: DoorFact) => void;
  /** Somebody was refused, and why. */
  readonly refused: (why: string) => void;
}): Stoppable {
  const { site, tell, refused } = of;
  const sockets = new Set<Duplex>();
  let port = of.port;
  let stopped = false;

  const judge = (request: IncomingMessage): Answer | undefined => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refusal(405, 'here one may only look');
    return refuseStranger(request, port);
  };
  const noted = (answer: Answer): Answer => {
    if (answer.status === 403 || answer.status === 405 || answer.status === 421) refused(String(answer.body).trim());
    return answer;
  };

  const server: Server = createServer(
    { headersTimeout: HEADERS_MS, requestTimeout: HEADERS_MS },
    (request, response) => {
      const work = async (): Promise<Answer> => judge(request) ?? (await site.answer(pathOf(request))) ?? NOTHING;
      void work()
        .catch((error: unknown) => refusal(500, error instanceof Error ? error.message : String(error)))
        .then((answer) => {
          const { status, type = 'text/plain; charset=utf-8', body, headers = {} } = noted(answer);
          response.writeHead(status, { ...usual, 'Content-Type': type, ...headers });
          response.end(request.method === 'HEAD' ? undefined : body);
        });
    },
  );
  server.maxConnections = MOST_SOCKETS;
  server.keepAliveTimeout = IDLE_MS;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    // A watched process ends when it wants to, whoever looks.
    socket.unref();
    socket.once('close', () => sockets.delete(socket));
  });
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => {});
    const answer =
      judge(request) ?? (site.upgrade === undefined ? NOTHING : site.upgrade(pathOf(request), request, socket, head));
    if (answer !== undefined) sayAndEnd(socket, noted(answer));
  });
  server.on('clientError', (_error, socket) => socket.destroy());
  server.on('error', (error: NodeJS.ErrnoException) => {
    if (stopped) return;
    const why = error.code ?? error.message;
    tell(server.listening ? { type: 'door.lost', why } : { type: 'door.refused', why });
  });
  server.listen({ host: LOOPBACK, port: of.port }, () => {
    const address = server.address();
    if (stopped || address === null || typeof address === 'string') return;
    port = address.port;
    tell({ type: 'door.opened', port });
  });
  server.unref();

  return {
    stop: () =>
      new Promise((resolve) => {
        stopped = true;
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

const NOTHING = refusal(404, 'there is nothing here');

const pathOf = (request: IncomingMessage): string => request.url ?? '/';

/** A refused upgrade is answered in words and closed. */
function sayAndEnd(socket: Duplex, { status, body }: Answer): void {
  const text = typeof body === 'string' ? body : '';
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
}
