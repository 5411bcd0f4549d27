/**
 * Inventory (rule 5): an authoritative snapshot of this provider's agents. Who is listed and belongs here is online and
 * gets its cursor; who belongs here and is not listed goes offline; every other member is rejected by name of the fault
 * and nothing is written for it. One bad member never fails the rest.
 */
import type { InventoryMember } from '../../domain/provider/frames.ts';
import { type DeclarationFault, type DeclaredAgent, declarationFault } from '../../domain/provider/readiness.ts';
import { listed, numberIn, type Row, sql, textIn } from '../storage/port.ts';
import { type Certificate, certificates, certifying } from './certify.ts';
import { type Engine, type ProviderAt, seconds } from './engine.ts';

export interface InventoryOutcome {
  readonly certificates: readonly Certificate[];
  readonly rejected: readonly { readonly agent_id: string; readonly code: DeclarationFault }[];
  readonly rebound: number;
  readonly invocations: { readonly open: number; readonly completed: number };
}

export async function syncInventory(
  engine: Engine,
  at: ProviderAt,
  members: readonly InventoryMember[],
): Promise<InventoryOutcome> {
  const rows = await engine.storage.query(
    sql(
      `SELECT a.id, a.name, a.location_node_id, a.provider_name, a.released_at, b.status AS binding
       FROM json_each(?) j JOIN agents a ON a.id = j.value
         LEFT JOIN agent_node_bindings b ON b.agent_id = a.id AND b.node_id = ?
       WHERE a.workspace_id = ?`,
      listed([...new Set(members.map((member) => member.agent_id))]),
      at.node,
      at.workspace,
    ),
  );
  const known = new Map(rows.map((row) => [textIn(row, 'id') ?? '', declaredOf(row)]));
  const accepted = new Map<string, InventoryMember>();
  const rejected: { agent_id: string; code: DeclarationFault }[] = [];
  for (const member of members) {
    const code = declarationFault(member, known.get(member.agent_id), at);
    if (code === undefined) accepted.set(member.agent_id, member);
    else rejected.push({ agent_id: member.agent_id, code });
  }
  const results = await engine.storage.batch(statements(engine, at, [...accepted.values()]));
  return {
    rejected,
    rebound: results[1]?.length ?? 0,
    invocations: { completed: results[2]?.length ?? 0, open: numberIn(results[3]?.[0], 'n') ?? 0 },
    certificates: certificates(results.slice(4)),
  };
}

const declaredOf = (row: Row): DeclaredAgent => ({
  id: textIn(row, 'id') ?? '',
  name: textIn(row, 'name') ?? '',
  node: textIn(row, 'location_node_id') ?? null,
  provider: textIn(row, 'provider_name') ?? '',
  released: numberIn(row, 'released_at') !== undefined,
  bound: textIn(row, 'binding') === 'active',
});

/** One batch: absent ones offline, listed ones online, their invocations completed, what stays open counted, cursors. */
function statements(engine: Engine, at: ProviderAt, members: readonly InventoryMember[]) {
  const here = 'workspace_id = ? AND location_node_id = ? AND provider_name = ? AND released_at IS NULL';
  // The plus signs keep the provider's index out: the listed agents come first.
  const listedHere = '+workspace_id = ? AND +location_node_id = ? AND +provider_name = ? AND released_at IS NULL';
  const place = [at.workspace, at.node, at.provider];
  const ids = listed(members.map((member) => member.agent_id));
  const sessions = members.map(({ agent_id, session_ref, invocation_id }) => ({
    agent_id,
    session_ref,
    invocation_id,
  }));
  return [
    sql(
      `UPDATE agents SET status = 'offline' WHERE ${here} AND status <> 'offline'
         AND id NOT IN (SELECT value FROM json_each(?))`,
      ...place,
      ids,
    ),
    sql(
      `UPDATE agents SET status = 'online', last_seen_at = ?, session_ref = coalesce(j.value ->> 'session_ref', session_ref),
         invocation_id = coalesce(j.value ->> 'invocation_id', invocation_id)
       FROM json_each(?) j WHERE agents.id = j.value ->> 'agent_id' AND ${listedHere} RETURNING agents.id`,
      seconds(engine),
      listed(sessions),
      ...place,
    ),
    sql(
      `UPDATE action_invocations SET status = 'completed', completed_at = ?
       WHERE workspace_id = ? AND node_id = ? AND dispatched_provider = ? AND status = 'dispatched'
         AND id IN (SELECT value ->> 'invocation_id' FROM json_each(?)) RETURNING id`,
      seconds(engine),
      ...place,
      listed(sessions.filter((session) => session.invocation_id !== undefined)),
    ),
    sql(
      `SELECT count(*) AS n FROM action_invocations
       WHERE workspace_id = ? AND node_id = ? AND dispatched_provider = ? AND status = 'dispatched'`,
      ...place,
    ),
    ...certifying(engine, at, ids),
  ];
}
