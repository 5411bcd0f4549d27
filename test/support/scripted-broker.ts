/**
 * What a client takes for a broker, and that answers a ping only when it is told to: what it was sent before is then with it,
 * and nothing that it says comes by itself. Loopback, without accounts.
 */
import { createServer, type Socket } from 'node:net';

export interface ScriptedBroker {
  readonly url: string;
  /** What clients sent, in order, a line each; payloads are not told apart from lines. A connection begins with its CONNECT. */
  readonly lines: readonly string[];
  /** Writes on the connection that came last. */
  say(line: string): void;
  /** Answers pings on the connection that came last, those that were sent already first; or keeps them from now on. */
  answers(does: boolean): void;
  /** Ends every connection; the next one is taken. */
  cut(): void;
  close(): Promise<void>;
}

const INFO = { server_id: 'S', version: '2.12.0', proto: 1, headers: true, max_payload: 1_048_576 };

export async function scriptedBroker(): Promise<ScriptedBroker> {
  const lines: string[] = [];
  const sockets = new Set<Socket>();
  let latest: Socket | undefined;
  let owed = 0;
  let isAnswering = true;
  const answer = () => {
    if (!isAnswering) return;
    latest?.write('PONG\r\n'.repeat(owed));
    owed = 0;
  };
  const server = createServer((socket) => {
    latest = socket;
    owed = 0;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    let rest = '';
    let pings = 0;
    socket.on('data', (data) => {
      const heard = (rest + String(data)).split('\r\n');
      rest = heard.pop() ?? '';
      for (const line of heard) {
        lines.push(line);
        if (line !== 'PING') continue;
        // The first one is part of the greeting: a client is connected when it is answered.
        if (pings++ === 0) socket.write('PONG\r\n');
        else owed++;
      }
      answer();
    });
    socket.write(`INFO ${JSON.stringify(INFO)}\r\n`);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    url: `nats://127.0.0.1:${port}`,
    lines,
    say: (line) => void latest?.write(`${line}\r\n`),
    answers(does) {
      isAnswering = does;
      answer();
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
