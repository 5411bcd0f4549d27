/** Nodes and the workspace over HTTP. */
import { z } from 'zod';
import { name } from '../../domain/provider/names.ts';
import { findWorkspace } from '../engine/directory.ts';
import { bindAgent, createNode } from '../engine/nodes.ts';
import { bodyOf, ok, Refused } from './answers.ts';
import { callerByHeader, workspaceCaller } from './callers.ts';
import type { Exchange } from './exchange.ts';

const nodeName = name.refine((text) => !text.includes('/'), 'must not contain /');
const creation = z.strictObject({
  node_id: name,
  name: nodeName,
  kind: z.literal('ws'),
  role: z.literal('broker'),
  version: z.string().max(128),
});

const messages = {
  node_token_proof_required: 'the node is there; show its token in X-Relaycast-Node-Token',
  node_id_conflict: 'the node id belongs to another workspace',
  node_name_conflict: 'another node of this workspace has that name',
} as const;

export async function postNodes({ engine, request }: Exchange): Promise<Response> {
  const workspace = await workspaceCaller(engine, request);
  const body = await bodyOf(request, creation);
  const made = await createNode(engine, {
    workspace,
    node: body.node_id,
    name: body.name,
    role: body.role,
    version: body.version,
    proof: request.headers.get('x-relaycast-node-token') ?? undefined,
  });
  if (made.outcome === 'refused') throw new Refused(409, made.code, messages[made.code]);
  const { node_id: id, ...rest } = body;
  return ok({ id, ...rest, token: made.token }, 201);
}

const notFound = ['node_not_found', 'agent_not_found'];

export async function postNodeAgents({ engine, request, name: node }: Exchange): Promise<Response> {
  const caller = await callerByHeader(engine, request);
  if (caller.kind === 'agent') throw new Refused(403, 'forbidden', 'this takes the key of a workspace or of a node');
  const { agent_name: agent } = await bodyOf(request, z.strictObject({ agent_name: name }));
  const bound = await bindAgent(engine, {
    workspace: caller.workspace,
    node,
    agent,
    only: caller.kind === 'node' ? caller.node : undefined,
  });
  if (bound.outcome === 'refused')
    throw new Refused(notFound.includes(bound.code) ? 404 : 409, bound.code, 'the agent was not bound');
  return ok({ agent_id: bound.agent, agent_name: agent, node_id: bound.node, provider: bound.provider });
}

export async function getWorkspace({ engine, request }: Exchange): Promise<Response> {
  const { workspace } = await callerByHeader(engine, request);
  return ok(await findWorkspace(engine, workspace));
}
