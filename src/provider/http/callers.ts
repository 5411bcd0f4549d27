/** Who calls: by `Authorization: Bearer`, or for the socket by `?token=`, which wins. URLs are never logged. */
import type { Engine } from '../engine/engine.ts';
import { type Caller, callerOf } from '../engine/keys.ts';
import { Refused } from './answers.ts';

const bearer = (request: Request): string | undefined =>
  /^Bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1];

async function caller(engine: Engine, token: string | undefined): Promise<Caller> {
  const found = token === undefined ? undefined : await callerOf(engine, token);
  if (found === undefined) throw new Refused(401, 'unauthorized', 'the token is not known');
  return found;
}

export const callerByHeader = (engine: Engine, request: Request): Promise<Caller> => caller(engine, bearer(request));

/** The node that asks for a socket. */
export async function nodeCaller(engine: Engine, request: Request): Promise<Extract<Caller, { kind: 'node' }>> {
  const token = new URL(request.url).searchParams.get('token') ?? bearer(request);
  const found = await caller(engine, token);
  if (found.kind !== 'node') throw new Refused(401, 'unauthorized', 'the token is not one of a node');
  return found;
}

export async function workspaceCaller(engine: Engine, request: Request): Promise<string> {
  const found = await callerByHeader(engine, request);
  if (found.kind !== 'workspace') throw new Refused(403, 'forbidden', 'this takes the key of a workspace');
  return found.workspace;
}

/** An agent acts for itself; the key of a workspace for the agent that the body names. */
export function actingAgent(found: Caller, named: string | undefined): string {
  if (found.kind === 'agent') {
    if (named !== undefined && named !== found.name)
      throw new Refused(403, 'forbidden', 'an agent acts for itself only');
    return found.name;
  }
  if (found.kind !== 'workspace')
    throw new Refused(403, 'forbidden', 'this takes the key of a workspace or of an agent');
  if (named === undefined) throw new Refused(400, 'invalid_request', 'agent_name: is missing');
  return named;
}
