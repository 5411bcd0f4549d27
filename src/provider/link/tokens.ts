/**
 * Where the token of a node comes from: a text, a file that is read for each attempt, or the HTTP table by the key of the
 * workspace. One that was made is kept by the address and the node's id together: it never goes to another place (PRV-08).
 */
import { z } from 'zod';
import type { HttpTable } from './http.ts';
import type { TokenSource } from './ports.ts';

/** Keeps made tokens, by origin and node id. */
export interface TokenStore {
  read(of: { origin: string; nodeId: string }): string | undefined;
  write(of: { origin: string; nodeId: string; token: string }): void;
}

/** The same text at each reading; a source that is a file says what is in it now. */
export const readTokens = (read: () => string | undefined): TokenSource => ({
  async read() {
    const token = read()?.trim();
    return token === undefined || token === ''
      ? { kind: 'unavailable', code: 'token_missing', message: 'there is no token to read' }
      : { kind: 'token', token };
  },
});

const made = z.looseObject({ token: z.string().min(1) });

export function madeTokens(of: {
  table: HttpTable;
  store: TokenStore;
  origin: string;
  workspaceKey: string;
  node: { readonly nodeId: string; readonly nodeName: string; readonly version: string };
}): TokenSource {
  const { table, store, origin, node } = of;
  return {
    async read({ renew, signal }) {
      const kept = store.read({ origin, nodeId: node.nodeId });
      if (kept !== undefined && !renew) return { kind: 'token', token: kept };
      const answer = await table.call({
        method: 'POST',
        path: '/v1/nodes',
        token: of.workspaceKey,
        body: { node_id: node.nodeId, name: node.nodeName, kind: 'ws', role: 'broker', version: node.version },
        headers: kept === undefined ? {} : { 'x-relaycast-node-token': kept },
        signal,
      });
      if (answer.kind === 'unavailable')
        return { kind: 'unavailable', code: answer.code, message: 'no token could be had' };
      if (answer.kind === 'refused')
        return { kind: 'refused', code: answer.code, message: `the peer makes no token for this node: ${answer.code}` };
      const read = made.safeParse(answer.data).data;
      if (read === undefined) return { kind: 'unavailable', code: 'unreadable', message: 'the token cannot be read' };
      store.write({ origin, nodeId: node.nodeId, token: read.token });
      return { kind: 'token', token: read.token };
    },
  };
}
