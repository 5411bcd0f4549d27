/**
 * Requests that no HTTP client makes, written to the socket of the in-process server as they are: each is refused, before
 * any token is looked at, and the server goes on.
 */
import { connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/until.ts';
import { roomy } from './support/bounds.ts';
import { openInProcess } from './support/in-process-stage.ts';
import type { Stage } from './support/stage.ts';

const MIB = 1024 * 1024;
const UPGRADE =
  'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==';
const PLAIN = 'Connection: close';

/** Writes that on a connection of its own and no more. Resolves when the server has closed it, with the status that it said. */
const statusOf = (url: string, text: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port) });
    let heard = '';
    socket.on('data', (data) => {
      heard += String(data);
    });
    socket.on('error', reject);
    socket.on('close', () => resolve(Number(/^HTTP\/1\.1 (\d+) /.exec(heard)?.[1])));
    socket.write(text);
  });

/** An upgrade that is refused, by a peer that keeps its own half of the connection open whatever it hears. */
const refusedHalfOpen = (url: string): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    let heard = '';
    socket.on('data', (data) => {
      heard += String(data);
    });
    socket.on('error', reject);
    socket.on('end', () => (heard.startsWith('HTTP/1.1 401 ') ? resolve(socket) : reject(new Error(heard))));
    socket.write(`GET /v1/node/ws?token=nt_live_0 HTTP/1.1\r\nHost: hosted\r\n${UPGRADE}\r\n\r\n`);
  });

describe('the in-process server', () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await openInProcess();
  });
  afterAll(() => stage?.close());
  const serves = async () => expect((await fetch(new URL('/health', stage.url))).status).toBe(200);

  it.each([
    ['a path of two slashes', 'GET //'],
    ['a URL with credentials', 'GET http://ann:secret@hosted/v1/node/ws'],
    ['a method that is not taken', 'TRACE /v1/node/ws'],
  ])('refuses %s with 400, as a request and as an upgrade, and serves on', async (_, line) => {
    for (const headers of [UPGRADE, PLAIN])
      expect(await statusOf(stage.url, `${line} HTTP/1.1\r\nHost: hosted\r\n${headers}\r\n\r\n`)).toBe(400);
    await serves();
  });

  it('refuses an upgrade elsewhere, and one whose body never comes, by what it asks for', async () => {
    const upgrade = (line: string, more = '') =>
      statusOf(stage.url, `${line} HTTP/1.1\r\nHost: hosted\r\n${UPGRADE}${more}\r\n\r\n`);
    expect(await upgrade('GET /v1/agent')).toBe(404);
    expect(await upgrade('GET /v1/node/ws?token=nt_live_0')).toBe(401);
    expect(await upgrade('POST /v1/node/ws?token=nt_live_0', '\r\nContent-Length: 7')).toBe(401);
    await serves();
  });

  it('closes the connection of a refused upgrade within its bound, though the peer keeps its half open', async () => {
    const socket = await refusedHalfOpen(stage.url);
    // Only a connection that is closed on both ways resets who still writes.
    await until(
      () => {
        socket.write('still here');
        return socket.destroyed;
      },
      () => ({ written: socket.bytesWritten }),
    );
  });

  it('stops, though a peer whose upgrade was refused keeps its half open', async () => {
    const own = await openInProcess({ bounds: roomy });
    const socket = await refusedHalfOpen(own.url);
    await own.close();
    socket.destroy();
  });

  it('refuses a body with 413 at the first byte above its bound, whether its end comes or not', async () => {
    const post = (header: string, body: string) =>
      statusOf(stage.url, `POST /v1/agents HTTP/1.1\r\nHost: hosted\r\n${PLAIN}\r\n${header}\r\n\r\n${body}`);
    const chunk = (bytes: number) => `${bytes.toString(16)}\r\n${'x'.repeat(bytes)}`;
    expect(await post('Transfer-Encoding: chunked', `${chunk(MIB)}\r\n0\r\n\r\n`)).toBe(401);
    expect(await post('Transfer-Encoding: chunked', chunk(MIB + 1))).toBe(413);
    expect(await post(`Content-Length: ${MIB + 1}`, '')).toBe(413);
    await serves();
  });
});
