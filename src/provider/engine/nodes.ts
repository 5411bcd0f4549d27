/** Nodes, as the HTTP table makes them: a node id belongs to one workspace, and is given again only to who proves its token. */
import { isConflict, sql, textIn } from '../storage/port.ts';
import { type Engine, seconds } from './engine.ts';
import { hashToken, newToken } from './keys.ts';

export type NodeOutcome =
  | { readonly outcome: 'created' | 'known'; readonly token: string }
  | {
      readonly outcome: 'refused';
      readonly code: 'node_token_proof_required' | 'node_id_conflict' | 'node_name_conflict';
    };

export async function createNode(
  engine: Engine,
  request: {
    readonly workspace: string;
    readonly node: string;
    readonly name: string;
    readonly role: string;
    readonly version: string;
    /** The node's token, as its owner shows it. */
    readonly proof: string | undefined;
  },
): Promise<NodeOutcome> {
  const known = await existing(engine, request);
  if (known !== undefined) return known;
  const token = newToken('nt_live');
  try {
    await engine.storage.batch([
      sql(
        `INSERT INTO nodes (id, workspace_id, name, token_hash, role, version, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
        request.node,
        request.workspace,
        request.name,
        await hashToken(token),
        request.role,
        request.version,
        seconds(engine),
      ),
    ]);
  } catch (error) {
    if (!isConflict(error)) throw error;
    return (await existing(engine, request)) ?? { outcome: 'refused', code: 'node_name_conflict' };
  }
  return { outcome: 'created', token };
}

async function existing(
  engine: Engine,
  { workspace, node, proof }: { workspace: string; node: string; proof: string | undefined },
): Promise<NodeOutcome | undefined> {
  const [row] = await engine.storage.query(sql('SELECT workspace_id, token_hash FROM nodes WHERE id = ?', node));
  if (row === undefined) return undefined;
  if (textIn(row, 'workspace_id') !== workspace) return { outcome: 'refused', code: 'node_id_conflict' };
  if (proof === undefined || (await hashToken(proof)) !== textIn(row, 'token_hash'))
    return { outcome: 'refused', code: 'node_token_proof_required' };
  return { outcome: 'known', token: proof };
}

export type BindOutcome =
  | { readonly outcome: 'bound'; readonly agent: string; readonly node: string; readonly provider: string }
  | {
      readonly outcome: 'refused';
      readonly code: 'node_not_found' | 'agent_not_found' | 'agent_location_conflict' | 'agent_provider_conflict';
    };

/**
 * Binds an agent to a node's provider: the only one of the node that is not `default`, or `broker` while none has
 * registered. `only` is the id of the node that may be bound to, if the caller is one. What stands on another node or under another provider stays there; nothing is adopted from `default`.
 */
export async function bindAgent(
  engine: Engine,
  { workspace, node: name, agent, only }: { workspace: string; node: string; agent: string; only: string | undefined },
): Promise<BindOutcome> {
  const [nodes, agents, providers] = await engine.storage.batch([
    sql('SELECT id FROM nodes WHERE workspace_id = ? AND name = ?', workspace, name),
    sql(
      `SELECT id, location_type, location_node_id, provider_name FROM agents
       WHERE workspace_id = ? AND name = ? AND released_at IS NULL`,
      workspace,
      agent,
    ),
    sql(
      `SELECT p.name FROM node_providers p JOIN nodes n ON n.id = p.node_id
       WHERE n.workspace_id = ? AND n.name = ? AND p.name <> 'default' ORDER BY p.status DESC, p.name`,
      workspace,
      name,
    ),
  ]);
  const node = textIn(nodes?.[0], 'id');
  const row = agents?.[0];
  const id = textIn(row, 'id');
  if (node === undefined || (only !== undefined && only !== node))
    return { outcome: 'refused', code: 'node_not_found' };
  if (row === undefined || id === undefined) return { outcome: 'refused', code: 'agent_not_found' };
  const provider = providers?.length === 1 ? (textIn(providers[0], 'name') ?? 'broker') : 'broker';
  const isLocated = textIn(row, 'location_type') === 'via_node';
  if (isLocated && textIn(row, 'location_node_id') !== node)
    return { outcome: 'refused', code: 'agent_location_conflict' };
  if (isLocated && textIn(row, 'provider_name') !== provider)
    return { outcome: 'refused', code: 'agent_provider_conflict' };
  const now = seconds(engine);
  await engine.storage.batch([
    sql(
      `UPDATE agents SET location_type = 'via_node', location_node_id = ?, provider_name = ?,
         origin_node_id = coalesce(origin_node_id, ?)
       WHERE id = ? AND released_at IS NULL AND location_type = 'self_connected'`,
      node,
      provider,
      node,
      id,
    ),
    sql(
      `INSERT INTO agent_node_bindings (id, workspace_id, agent_id, node_id, status, created_at, updated_at)
       VALUES (?, ?, ?, ?, 'active', ?, ?)
       ON CONFLICT (agent_id, node_id) DO UPDATE SET status = 'active', updated_at = excluded.updated_at`,
      engine.newId('bind'),
      workspace,
      id,
      node,
      now,
      now,
    ),
  ]);
  return { outcome: 'bound', agent: id, node, provider };
}
