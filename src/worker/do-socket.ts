/** A socket of the registry over a hibernatable WebSocket: its record is the attachment, which outlives the object. */
import type { NodeSocket, SocketRecord } from '../provider/registry/ports.ts';

export function objectSocket(socket: WebSocket): NodeSocket {
  return {
    get isOpen() {
      return socket.readyState === WebSocket.OPEN;
    },
    send(text) {
      try {
        socket.send(text);
        return true;
      } catch {
        return false;
      }
    },
    close(code, reason) {
      try {
        socket.close(code, reason);
      } catch {
        // It is closed already.
      }
    },
    readRecord: () => (socket.deserializeAttachment() as SocketRecord | null) ?? undefined,
    writeRecord: (record) => socket.serializeAttachment(record),
  };
}
