/** A peer that says what a test wants: for what no server of ours would do. Sockets and the HTTP table on one port. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { CURSOR, type Heard } from './peer.ts';

export interface FakeConnection {
  readonly heard: Heard[];
  say(frame: object | string): void;
  close(code: number): void;
  /** Stops reading and answering, and closes nothing. */
  isOpen(): boolean;
}

export interface FakePeer {
  readonly url: string;
  readonly connections: FakeConnection[];
  /** How a frame is answered, if at all. */
  answer: (frame: Heard, connection: FakeConnection) => void;
  /** Status of the upgrade; undefined takes it. */
  upgrade: (count: number) => number | undefined;
  /** The HTTP table. */
  table: (request: IncomingMessage, response: ServerResponse) => void;
  close(): Promise<void>;
}

/**
 * Accepts a register with cursors; answers an inventory with what each agent acknowledged, and with what `cursors` says
 * where that is more.
 */
export function obliging(cursors: ReadonlyMap<string, number> = new Map()): FakePeer['answer'] {
  const acked = new Map<string, number>();
  const cursorOf = (id: string) => Math.max(cursors.get(id) ?? 0, acked.get(id) ?? 0);
  return (frame, connection) => {
    const reply = (data: object) => connection.say({ type: 'reply', id: frame.id, ok: true, data });
    switch (frame.type) {
      case 'node.register':
        return reply({ provider: frame.provider, accepted_capabilities: [{ name: CURSOR, accepted: true }] });
      case 'agent.register':
        return reply({ agent_id: `id_${frame.name}`, token: 'at_live_x', delivery_ack_seq: 0 });
      case 'delivery.ack': {
        const id = `id_${frame.agent}`;
        acked.set(id, Math.max(acked.get(id) ?? 0, Number(frame.up_to_seq)));
        return;
      }
      case 'inventory.sync':
        return reply({
          rejected_agents: [],
          cursors: (frame.agents as { agent_id: string }[]).map(({ agent_id: id }) => ({
            agent_id: id,
            delivery_ack_seq: cursorOf(id),
          })),
        });
    }
  };
}

export const refusing =
  (code: string, more: object = {}): FakePeer['answer'] =>
  (frame, connection) => {
    if (frame.type === 'node.register')
      connection.say({ type: 'error', id: frame.id, ok: false, code, message: 'no', ...more });
  };

export const deliverOf = (agent: string, seq: number) => ({
  type: 'deliver',
  delivery_id: `d${seq}`,
  agent_id: `id_${agent}`,
  agent,
  msg_id: `m${seq}`,
  seq,
  mode: 'wait',
  payload: { type: 'message', data: { text: `${seq}` } },
});

export async function openFakePeer(): Promise<FakePeer> {
  const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
  const server = createServer((request, response) => peer.table(request, response));
  const open = new Set<WebSocket>();
  let upgrades = 0;
  const peer: FakePeer = {
    url: '',
    connections: [],
    answer: obliging(),
    upgrade: () => undefined,
    table: (_, response) => {
      response.writeHead(404).end(JSON.stringify({ ok: false, error: { code: 'agent_not_found', message: 'none' } }));
    },
    async close() {
      for (const socket of open) socket.terminate();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
  server.on('upgrade', (request, stream, head) => {
    const status = peer.upgrade(++upgrades);
    if (status !== undefined) {
      stream.end(`HTTP/1.1 ${status} No\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, stream, head, (socket) => {
      open.add(socket);
      const connection: FakeConnection = {
        heard: [],
        say: (frame) => socket.send(typeof frame === 'string' ? frame : JSON.stringify({ v: 1, ...frame })),
        close: (code) => socket.close(code),
        isOpen: () => socket.readyState === socket.OPEN,
      };
      peer.connections.push(connection);
      socket.on('error', () => undefined);
      socket.on('close', () => open.delete(socket));
      socket.on('message', (data) => {
        const frame = JSON.parse(String(data)) as Heard;
        connection.heard.push(frame);
        peer.answer(frame, connection);
      });
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return Object.assign(peer, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}
