/** A socket of the registry over Node's `ws`. Its record lives in memory: with the process every socket is gone too. */
import { WebSocket } from 'ws';
import type { NodeSocket, SocketRecord } from '../registry/ports.ts';

export function wsSocket(socket: WebSocket): NodeSocket {
  let kept: SocketRecord | undefined;
  return {
    get isOpen() {
      return socket.readyState === WebSocket.OPEN;
    },
    send(text) {
      if (socket.readyState !== WebSocket.OPEN) return false;
      socket.send(text);
      return true;
    },
    close: (code, reason) => socket.close(code, reason),
    readRecord: () => kept,
    writeRecord(record) {
      kept = record;
    },
  };
}
