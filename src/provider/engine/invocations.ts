/**
 * Invocations of actions (rule 11): each attempt is one frame under one id; a result counts only from the provider that
 * the invocation was dispatched to; what was in flight to a provider that went away is pending again.
 */
import type { InvokeFrame } from '../../domain/provider/server-frames.ts';
import { listed, type Row, sql, textIn } from '../storage/port.ts';
import { type Engine, type ProviderAt, seconds } from './engine.ts';

/** Puts an invocation on the list of the provider that serves the action on that node; undefined when none does. */
export async function invoke(
  engine: Engine,
  request: {
    readonly workspace: string;
    readonly node: string;
    readonly action: string;
    readonly input: unknown;
    readonly agent?: { readonly id: string; readonly name: string };
  },
): Promise<{ readonly id: string; readonly provider: string } | undefined> {
  const id = engine.newId('inv');
  const [rows] = await engine.storage.batch([
    sql(
      `INSERT INTO action_invocations
         (id, workspace_id, node_id, provider_name, action, input, agent_id, agent_name, created_at)
       SELECT ?, workspace_id, node_id, provider_name, name, ?, ?, ?, ? FROM actions
       WHERE workspace_id = ? AND node_id = ? AND name = ? RETURNING provider_name`,
      id,
      JSON.stringify(request.input ?? null),
      request.agent?.id ?? null,
      request.agent?.name ?? null,
      seconds(engine),
      request.workspace,
      request.node,
      request.action,
    ),
  ]);
  const provider = textIn(rows?.[0], 'provider_name');
  return provider === undefined ? undefined : { id, provider };
}

/** Takes up to a page of pending ones for a provider and marks them dispatched: one write; the frames are sent after it. */
export async function takePending(
  engine: Engine,
  at: ProviderAt,
  limit: number,
  takenAt = seconds(engine),
): Promise<readonly InvokeFrame[]> {
  const [rows] = await engine.storage.batch([
    sql(
      `UPDATE action_invocations SET status = 'dispatched', dispatched_provider = provider_name,
         attempts = attempts + 1, dispatched_at = ?
       WHERE id IN (SELECT id FROM action_invocations
         WHERE workspace_id = ? AND node_id = ? AND provider_name = ? AND status = 'pending'
         ORDER BY created_at, id LIMIT ?)
       RETURNING id, action, input, agent_id, agent_name`,
      takenAt,
      at.workspace,
      at.node,
      at.provider,
      limit,
    ),
  ]);
  return (rows ?? []).map(invokeFrame);
}

/** Takes one for its attempt; undefined when somebody else took it first. */
export async function takeInvocation(engine: Engine, at: ProviderAt, id: string): Promise<InvokeFrame | undefined> {
  const [rows] = await engine.storage.batch([
    sql(
      `UPDATE action_invocations SET status = 'dispatched', dispatched_provider = provider_name,
         attempts = attempts + 1, dispatched_at = ?
       WHERE id = ? AND workspace_id = ? AND status = 'pending' RETURNING id, action, input, agent_id, agent_name`,
      seconds(engine),
      id,
      at.workspace,
    ),
  ]);
  const row = rows?.[0];
  return row && invokeFrame(row);
}

const invokeFrame = (row: Row): InvokeFrame => {
  const agent = textIn(row, 'agent_id');
  const name = textIn(row, 'agent_name');
  return {
    v: 1,
    type: 'action.invoke',
    invocation_id: textIn(row, 'id') ?? '',
    action: textIn(row, 'action') ?? '',
    input: JSON.parse(textIn(row, 'input') ?? 'null'),
    ...(agent === undefined ? {} : { agent_id: agent }),
    ...(name === undefined ? {} : { agent_name: name }),
  };
};

export async function hasPending(engine: Engine, at: ProviderAt): Promise<boolean> {
  const rows = await engine.storage.query(
    sql(
      `SELECT 1 FROM action_invocations
       WHERE workspace_id = ? AND node_id = ? AND provider_name = ? AND status = 'pending' LIMIT 1`,
      at.workspace,
      at.node,
      at.provider,
    ),
  );
  return rows.length > 0;
}

/** Puts back what could not be written after all; where `takenAt` is given, only what nobody took since. */
export async function returnPending(
  engine: Engine,
  at: ProviderAt,
  ids: readonly string[],
  takenAt?: number,
): Promise<void> {
  await engine.storage.batch([
    sql(
      `UPDATE action_invocations SET status = 'pending', dispatched_provider = NULL
       WHERE workspace_id = ? AND status = 'dispatched' AND id IN (SELECT value FROM json_each(?))
         AND dispatched_at IS coalesce(?, dispatched_at)`,
      at.workspace,
      listed(ids),
      takenAt ?? null,
    ),
  ]);
}

/** `counted`, or `unknown` when no open invocation of that id was dispatched to this provider. */
export async function settleInvocation(
  engine: Engine,
  at: ProviderAt,
  result: { readonly invocation: string; readonly end: 'output' | 'error'; readonly value: unknown },
): Promise<'counted' | 'unknown'> {
  const value = JSON.stringify(result.value ?? null);
  const [rows] = await engine.storage.batch([
    sql(
      `UPDATE action_invocations SET status = ?, output = ?, error = ?, completed_at = ?
       WHERE id = ? AND workspace_id = ? AND node_id = ? AND dispatched_provider = ? AND status = 'dispatched'
       RETURNING id`,
      result.end === 'output' ? 'completed' : 'failed',
      result.end === 'output' ? value : null,
      result.end === 'error' ? value : null,
      seconds(engine),
      result.invocation,
      at.workspace,
      at.node,
      at.provider,
    ),
  ]);
  return rows?.length === 1 ? 'counted' : 'unknown';
}

/** A new instance took the provider over: what the old one was working on is pending again. */
export async function reschedule(engine: Engine, at: ProviderAt): Promise<void> {
  await engine.storage.batch([
    sql(
      `UPDATE action_invocations SET status = 'pending', dispatched_provider = NULL
       WHERE workspace_id = ? AND node_id = ? AND dispatched_provider = ? AND status = 'dispatched'`,
      at.workspace,
      at.node,
      at.provider,
    ),
  ]);
}
