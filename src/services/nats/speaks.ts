/**
 * Whether a broker speaks at an address, over a socket of our own that says nothing and can be given up at any moment. The
 * client's own dial cannot: one that waits for a broker which accepted and stays silent keeps its socket.
 */
import { createConnection } from 'node:net';

const DEFAULT_PORT = 4222;

/** Resolves with the first bytes' arrival; `why` where none came within the time or the signal. */
export function speaks(url: string, timeoutMs: number, signal: AbortSignal): Promise<{ ok: true } | { why: string }> {
  const { hostname, port } = new URL(url.includes('://') ? url : `nats://${url}`);
  return new Promise((resolve) => {
    const socket = createConnection({
      host: hostname.replace(/^\[|\]$/g, ''),
      port: port === '' ? DEFAULT_PORT : Number(port),
    });
    const end = (outcome: { ok: true } | { why: string }) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', cancel);
      socket.destroy();
      resolve(outcome);
    };
    const cancel = () => end({ why: 'it was given up' });
    const timer = setTimeout(() => end({ why: 'the broker accepts and says nothing' }), timeoutMs);
    signal.addEventListener('abort', cancel, { once: true });
    socket.once('data', () => end({ ok: true }));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end({ why: `the broker cannot be reached (${error.code ?? error.message})` }),
    );
    socket.once('close', () => end({ why: 'the broker closed the connection' }));
    if (signal.aborted) cancel();
  });
}
