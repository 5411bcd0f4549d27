/** The edge: the HTTP table, and the way of a node's socket to its object. Nothing from outside reaches an object's paths. */

import type { SendResult } from '../domain/provider/codes.ts';
import { parseLimits } from '../domain/provider/limits.ts';
import { type Engine, randomId } from '../provider/engine/engine.ts';
import type { Dispatcher } from '../provider/engine/messages.ts';
import { nodeCaller } from '../provider/http/callers.ts';
import { answer, guarded, SOCKET_PATH } from '../provider/http/routes.ts';
import { d1Storage } from './d1-storage.ts';
import { CONNECT_URL, type Env, NODE_HEADER, objectName, SEND_URL, WORKSPACE_HEADER } from './env.ts';

export async function serveEdge(request: Request, env: Env): Promise<Response> {
  const engine: Engine = {
    storage: d1Storage(env.DB),
    limits: parseLimits({ ...env }),
    now: () => Date.now(),
    newId: randomId,
  };
  const isUpgrade = request.headers.get('upgrade')?.toLowerCase() === 'websocket';
  if (new URL(request.url).pathname !== SOCKET_PATH || !isUpgrade) return answer(engine, dispatcher(env), request);
  return guarded(async () => {
    const { workspace, node } = await nodeCaller(engine, request);
    return env.NODES.getByName(objectName(workspace, node)).fetch(CONNECT_URL, {
      headers: { upgrade: 'websocket', [WORKSPACE_HEADER]: workspace, [NODE_HEADER]: node },
    });
  });
}

const dispatcher = (env: Env): Dispatcher => ({
  async send(body) {
    const object = env.NODES.getByName(objectName(body.workspace, body.node));
    const response = await object.fetch(SEND_URL, { method: 'POST', body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`the object of the node answered ${response.status}`);
    const { results } = (await response.json()) as { results: readonly SendResult[] };
    return results;
  },
});
