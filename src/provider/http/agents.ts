/** Agents over HTTP. */
import { z } from 'zod';
import { name } from '../../domain/provider/names.ts';
import { changeAgent, createAgent, findAgent, releaseAgent } from '../engine/directory.ts';
import { dispatchInvocation } from '../engine/messages.ts';
import { bodyOf, ok, Refused } from './answers.ts';
import { callerByHeader, workspaceCaller } from './callers.ts';
import type { Exchange } from './exchange.ts';

const METADATA_BYTES = 16 * 1024;
const metadata = z
  .record(z.string(), z.unknown())
  .refine((value) => JSON.stringify(value).length <= METADATA_BYTES, `must be at most ${METADATA_BYTES} bytes`);

const creation = z.strictObject({
  name,
  type: name,
  metadata: metadata.optional(),
  auto_join_general: z.boolean().optional(),
});
const change = z.strictObject({ type: name.optional(), metadata: metadata.optional() });

const absent = () => new Refused(404, 'agent_not_found', 'there is no such agent');

export async function postAgents({ engine, request }: Exchange): Promise<Response> {
  const workspace = await workspaceCaller(engine, request);
  const body = await bodyOf(request, creation);
  const made = await createAgent(engine, {
    workspace,
    name: body.name,
    type: body.type,
    metadata: body.metadata ?? {},
    joinGeneral: body.auto_join_general !== false,
  });
  if (made.outcome === 'taken') throw new Refused(409, 'agent_already_exists', 'the name is taken');
  return ok({ ...(await findAgent(engine, { workspace, name: body.name })), token: made.token }, 201);
}

export async function getAgent({ engine, request, name: agent }: Exchange): Promise<Response> {
  const { workspace } = await callerByHeader(engine, request);
  const found = await findAgent(engine, { workspace, name: agent });
  if (found === undefined) throw absent();
  return ok(found);
}

export async function getSelf({ engine, request }: Exchange): Promise<Response> {
  const caller = await callerByHeader(engine, request);
  if (caller.kind !== 'agent') throw new Refused(403, 'forbidden', 'this takes the token of an agent');
  const found = await findAgent(engine, caller);
  if (found === undefined) throw absent();
  return ok(found);
}

export async function patchAgent({ engine, request, name: agent }: Exchange): Promise<Response> {
  const caller = await callerByHeader(engine, request);
  if (caller.kind === 'node' || (caller.kind === 'agent' && caller.name !== agent))
    throw new Refused(403, 'forbidden', 'an agent changes itself only');
  const body = await bodyOf(request, change);
  const found = await changeAgent(engine, {
    workspace: caller.workspace,
    name: agent,
    type: body.type,
    metadata: body.metadata,
  });
  if (found === undefined) throw absent();
  return ok(found);
}

/** Releases an agent, and tells the provider that runs it, where that serves `release`. */
export async function postRelease({ engine, dispatcher, request }: Exchange): Promise<Response> {
  const workspace = await workspaceCaller(engine, request);
  const body = await bodyOf(request, z.strictObject({ name }));
  const released = await releaseAgent(engine, { workspace, name: body.name });
  if (released === undefined) throw absent();
  if (released.node !== undefined)
    await dispatchInvocation(engine, dispatcher, {
      workspace,
      node: released.node,
      action: 'release',
      input: { name: body.name },
      agent: { id: released.id, name: body.name },
    });
  return ok({ id: released.id, name: body.name });
}
