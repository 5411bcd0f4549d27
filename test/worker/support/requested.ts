/** One HTTP request on a connection of its own: a server that crashed leaves no half-dead one in a pool. */
import { request } from 'node:http';

export const requested = (
  url: URL,
  { method, headers, body }: { method: string; headers: Record<string, string>; body?: string },
): Promise<{ readonly status: number; readonly text: string }> =>
  new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
