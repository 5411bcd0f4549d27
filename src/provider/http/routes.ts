/**
 * The HTTP table of the provider plane, on the Fetch API: the same in Node and at the edge of the worker. Unknown paths
 * are 404; the socket's path without an upgrade is 426; a failing database is 503 and may be tried again.
 */
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import type { Engine } from '../engine/engine.ts';
import type { Dispatcher } from '../engine/messages.ts';
import { getAgent, getSelf, patchAgent, postAgents, postRelease } from './agents.ts';
import { fault, ok, Refused } from './answers.ts';
import { getChannels, getMembers, postChannels, postJoin, postMessages, postMute } from './channels.ts';
import type { Exchange } from './exchange.ts';
import { getWorkspace, postNodeAgents, postNodes } from './nodes.ts';

type Handler = (exchange: Exchange) => Promise<Response>;

const table: readonly (readonly [method: string, path: RegExp, handler: Handler])[] = [
  ['POST', /^\/v1\/agents$/, postAgents],
  ['POST', /^\/v1\/agents\/release$/, postRelease],
  ['GET', /^\/v1\/agents\/([^/]+)$/, getAgent],
  ['PATCH', /^\/v1\/agents\/([^/]+)$/, patchAgent],
  ['GET', /^\/v1\/agent$/, getSelf],
  ['POST', /^\/v1\/nodes$/, postNodes],
  ['POST', /^\/v1\/nodes\/([^/]+)\/agents$/, postNodeAgents],
  ['GET', /^\/v1\/channels$/, getChannels],
  ['POST', /^\/v1\/channels$/, postChannels],
  ['POST', /^\/v1\/channels\/([^/]+)\/join$/, postJoin],
  ['POST', /^\/v1\/channels\/([^/]+)\/mute$/, postMute],
  ['GET', /^\/v1\/channels\/([^/]+)\/members$/, getMembers],
  ['POST', /^\/v1\/channels\/([^/]+)\/messages$/, postMessages],
  ['GET', /^\/v1\/workspace$/, getWorkspace],
  ['GET', /^\/health$/, async () => ok({ status: 'ok' })],
];

export const SOCKET_PATH = '/v1/node/ws';

export async function answer(engine: Engine, dispatcher: Dispatcher, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === SOCKET_PATH) return fault(426, 'upgrade_required', 'this path takes a WebSocket');
  const matches = table.flatMap(([method, path, handler]) => {
    const match = path.exec(pathname);
    return match === null ? [] : [{ method, handler, part: match[1] ?? '' }];
  });
  const route = matches.find(({ method }) => method === request.method);
  if (matches.length === 0) return fault(404, 'not_found', 'there is nothing at this path');
  if (route === undefined) return fault(405, 'method_not_allowed', `${request.method} is not served at this path`);
  const name = decoded(route.part);
  if (name === undefined) return fault(400, 'invalid_request', 'the path is not well encoded');
  return guarded(() => route.handler({ engine, dispatcher, request, name }));
}

/** Turns refusals and failures of a handler into answers; nothing else leaves it. */
export async function guarded(work: () => Promise<Response>): Promise<Response> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof Refused) return error.response;
    if (error instanceof Plane3Error && error.code === 'storage.conflict')
      return fault(409, 'conflict', 'another request came first');
    if (error instanceof Plane3Error) return fault(503, 'storage_failed', 'the database did not carry it out');
    throw error;
  }
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
