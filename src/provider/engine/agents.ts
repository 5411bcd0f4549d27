/**
 * Agents of a provider (rule 11): register creates, recover rotates the token of one that is already here, deregister
 * releases. A name is taken while its agent is not released.
 */
import type { FrameErrorCode } from '../../domain/provider/codes.ts';
import { isConflict, numberIn, type Row, type Statement, sql, textIn } from '../storage/port.ts';
import { type Engine, type ProviderAt, seconds } from './engine.ts';
import { hashToken, newToken } from './keys.ts';

export type AgentOutcome =
  | { readonly outcome: 'done'; readonly agent: string; readonly name: string; readonly token: string }
  | { readonly outcome: 'refused'; readonly code: FrameErrorCode };

export interface AgentSession {
  readonly invocation?: string | undefined;
  readonly session?: string | undefined;
  readonly resumable?: boolean | undefined;
}

const refused = (code: FrameErrorCode): AgentOutcome => ({ outcome: 'refused', code });

const byName = (engine: Engine, workspace: string, name: string) =>
  engine.storage.query(
    sql(
      `SELECT a.id, a.location_node_id, a.provider_name, b.status AS binding FROM agents a
         LEFT JOIN agent_node_bindings b ON b.agent_id = a.id AND b.node_id = a.location_node_id
       WHERE a.workspace_id = ? AND a.name = ? AND a.released_at IS NULL`,
      workspace,
      name,
    ),
  );

/** Why a name that exists cannot be registered here: the same place says so, another one names the kind of conflict. */
function standsInTheWay(row: Row, at: ProviderAt): FrameErrorCode {
  if (textIn(row, 'location_node_id') !== at.node) return 'agent_location_conflict';
  return textIn(row, 'provider_name') === at.provider ? 'agent_already_exists' : 'agent_provider_conflict';
}

export async function registerAgent(
  engine: Engine,
  at: ProviderAt,
  { name, joinGeneral, ...session }: AgentSession & { readonly name: string; readonly joinGeneral: boolean },
): Promise<AgentOutcome> {
  const [existing] = await byName(engine, at.workspace, name);
  if (existing !== undefined) return refused(standsInTheWay(existing, at));
  const agent = engine.newId('agent');
  const token = newToken('at_live');
  const now = seconds(engine);
  const statements = [
    sql(
      `INSERT INTO agents (id, workspace_id, name, token_hash, status, location_type, location_node_id, provider_name,
         origin_node_id, session_ref, invocation_id, resumable, last_seen_at, created_at)
       VALUES (?, ?, ?, ?, 'online', 'via_node', ?, ?, ?, ?, ?, ?, ?, ?)`,
      agent,
      at.workspace,
      name,
      await hashToken(token),
      at.node,
      at.provider,
      at.node,
      session.session ?? null,
      session.invocation ?? null,
      session.resumable === true ? 1 : 0,
      now,
      now,
    ),
    sql(
      `INSERT INTO agent_node_bindings (id, workspace_id, agent_id, node_id, status, created_at, updated_at)
       VALUES (?, ?, ?, ?, 'active', ?, ?)`,
      engine.newId('bind'),
      at.workspace,
      agent,
      at.node,
      now,
      now,
    ),
    ...(joinGeneral ? joinsGeneral(engine, at.workspace, agent) : []),
    eventOf(engine, at.workspace, 'agent.registered', agent),
  ];
  try {
    await engine.storage.batch(statements);
  } catch (error) {
    if (!isConflict(error)) throw error;
    const [winner] = await byName(engine, at.workspace, name);
    return refused(winner === undefined ? 'agent_already_exists' : standsInTheWay(winner, at));
  }
  return { outcome: 'done', agent, name, token };
}

export async function recoverAgent(
  engine: Engine,
  at: ProviderAt,
  { name, expected, ...session }: AgentSession & { readonly name: string; readonly expected: string },
): Promise<AgentOutcome> {
  const [row] = await byName(engine, at.workspace, name);
  if (row === undefined) return refused('agent_not_found');
  if (textIn(row, 'id') !== expected) return refused('agent_identity_mismatch');
  if (textIn(row, 'location_node_id') !== at.node) return refused('agent_location_conflict');
  if (textIn(row, 'provider_name') !== at.provider) return refused('agent_provider_conflict');
  if (textIn(row, 'binding') !== 'active') return refused('agent_location_conflict');
  const token = newToken('at_live');
  const [, changed] = await engine.storage.batch([
    eventOf(engine, at.workspace, 'agent.recovered', expected),
    sql(
      `UPDATE agents SET token_hash = ?, status = 'online', session_ref = coalesce(?, session_ref),
         invocation_id = coalesce(?, invocation_id), resumable = coalesce(?, resumable), last_seen_at = ?
       WHERE id = ? AND location_node_id = ? AND provider_name = ? AND released_at IS NULL RETURNING id`,
      await hashToken(token),
      session.session ?? null,
      session.invocation ?? null,
      session.resumable === undefined ? null : Number(session.resumable),
      seconds(engine),
      expected,
      at.node,
      at.provider,
    ),
  ]);
  if (changed?.length !== 1) return refused('agent_not_found');
  return { outcome: 'done', agent: expected, name, token };
}

/** Releases an agent of this provider: offline, binding inactive, its rows dead-lettered, its name free. */
export async function deregisterAgent(
  engine: Engine,
  at: ProviderAt,
  { agent, name }: { readonly agent: string; readonly name: string | undefined },
): Promise<{ readonly outcome: 'done' } | { readonly outcome: 'refused'; readonly code: FrameErrorCode }> {
  const [row] = await engine.storage.query(
    sql(
      'SELECT name, location_node_id, provider_name, released_at FROM agents WHERE id = ? AND workspace_id = ?',
      agent,
      at.workspace,
    ),
  );
  if (row === undefined || numberIn(row, 'released_at') !== undefined)
    return { outcome: 'refused', code: 'agent_not_found' };
  if (name !== undefined && textIn(row, 'name') !== name)
    return { outcome: 'refused', code: 'agent_identity_mismatch' };
  if (textIn(row, 'location_node_id') !== at.node) return { outcome: 'refused', code: 'agent_location_conflict' };
  if (textIn(row, 'provider_name') !== at.provider) return { outcome: 'refused', code: 'agent_provider_conflict' };
  await engine.storage.batch(releases(engine, at.workspace, agent));
  return { outcome: 'done' };
}

/** The batch of a release. Nothing of it names a provider: who may release was decided before. */
export function releases(engine: Engine, workspace: string, agent: string): readonly Statement[] {
  const now = seconds(engine);
  return [
    sql(
      `UPDATE agents SET status = 'offline', released_at = ? WHERE id = ? AND workspace_id = ? AND released_at IS NULL`,
      now,
      agent,
      workspace,
    ),
    sql(
      `UPDATE agent_node_bindings SET status = 'inactive', updated_at = ? WHERE agent_id = ? AND status = 'active'`,
      now,
      agent,
    ),
    sql(
      `UPDATE deliveries SET status = 'dead_lettered', dead_lettered_at = ?, last_dispatch_error = 'agent_released'
       WHERE agent_id = ? AND status IN ('queued', 'delivered')`,
      now,
      agent,
    ),
    sql('DELETE FROM channel_members WHERE agent_id = ?', agent),
    eventOf(engine, workspace, 'agent.released', agent),
  ];
}

export const joinsGeneral = (engine: Engine, workspace: string, agent: string): readonly Statement[] => [
  sql(
    `INSERT INTO channels (id, workspace_id, name, created_at) VALUES (?, ?, 'general', ?)
     ON CONFLICT (workspace_id, name) DO NOTHING`,
    engine.newId('ch'),
    workspace,
    seconds(engine),
  ),
  sql(
    `INSERT INTO channel_members (channel_id, agent_id, joined_at)
     SELECT id, ?, ? FROM channels WHERE workspace_id = ? AND name = 'general'
     ON CONFLICT (channel_id, agent_id) DO NOTHING`,
    agent,
    seconds(engine),
    workspace,
  ),
];

export const eventOf = (engine: Engine, workspace: string, type: string, subject: string): Statement =>
  sql(
    'INSERT INTO workspace_events (id, workspace_id, type, subject, created_at) VALUES (?, ?, ?, ?, ?)',
    engine.newId('ev'),
    workspace,
    type,
    subject,
    seconds(engine),
  );
