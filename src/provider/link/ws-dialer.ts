/** Dials the node's socket over `ws`. The token goes into the header: neither it nor the address is ever told to anybody. */
import { WebSocket } from 'ws';
import type { Dialer, Wire } from './ports.ts';

/** Largest frame that is read: a peer's own cap is 1 MiB. */
const FRAME_BYTES = 8 * 1024 * 1024;

/** @param base http:// or https:// address of the provider plane. */
export function wsDialer({ base }: { base: URL }): Dialer {
  const target = new URL('/v1/node/ws', base);
  target.protocol = base.protocol === 'https:' ? 'wss:' : 'ws:';
  return {
    dial({ token, listener }) {
      const socket = new WebSocket(target, {
        headers: { authorization: `Bearer ${token}` },
        perMessageDeflate: false,
        maxPayload: FRAME_BYTES,
      });
      let error: NodeJS.ErrnoException | undefined;
      const notDialled = (met: NodeJS.ErrnoException) =>
        listener.failed({ code: met.code ?? 'dial_failed', message: met.message });
      socket.on('error', notDialled);
      socket.on('open', () => {
        socket.off('error', notDialled);
        listener.opened();
      });
      socket.on('message', (data, isBinary) => listener.message(isBinary ? data : String(data)));
      socket.on('unexpected-response', (request, response) => {
        request.destroy();
        listener.turnedAway(response.statusCode ?? 0);
      });
      socket.on('error', (met: NodeJS.ErrnoException) => {
        error = met;
      });
      socket.on('close', (code, reason) => listener.closed({ code, reason: String(reason) || (error?.code ?? '') }));
      return wireOf(socket);
    },
  };
}

function wireOf(socket: WebSocket): Wire {
  return {
    send({ text, timeoutMs }) {
      if (socket.readyState !== WebSocket.OPEN)
        return Promise.resolve({ kind: 'failed', why: 'the socket is not open' });
      return new Promise((resolve) => {
        const late = setTimeout(
          () => resolve({ kind: 'failed', why: `not written within ${timeoutMs} ms` }),
          timeoutMs,
        );
        socket.send(text, (error) => {
          clearTimeout(late);
          resolve(error == null ? { kind: 'written' } : { kind: 'failed', why: error.message });
        });
      });
    },
    close() {
      socket.removeAllListeners();
      socket.on('error', () => undefined);
      if (socket.readyState === WebSocket.OPEN) socket.close(1000);
      // Nothing is waited for: no socket of ours outlives its attempt, and a silent peer would never answer the close.
      setImmediate(() => socket.terminate());
    },
  };
}
