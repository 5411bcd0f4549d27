/**
 * Cursors on their way into a reply (rule 7): what expired is dead-lettered, and the cursor moves over the contiguous
 * prefix of rows that can no longer be sent; those are counted as skipped. It never moves back.
 */
import { settled } from '../../domain/provider/cursors.ts';
import { numberIn, type Row, type Statement, sql, textIn } from '../storage/port.ts';
import { type Engine, type ProviderAt, seconds } from './engine.ts';

export interface Certificate {
  readonly agent: string;
  /** The authoritative `delivery_ack_seq`. */
  readonly cursor: number;
  readonly skipped: number;
}

const lowestActive = `(SELECT min(d.seq) FROM deliveries d
  WHERE d.agent_id = agents.id AND d.seq > agents.delivery_ack_seq AND d.status IN ('queued', 'delivered'))`;
const settledSeq = `coalesce(${lowestActive} - 1, delivery_seq)`;

/** Three statements, to be part of the caller's batch. `ids` is a JSON list. */
export function certifying(engine: Engine, at: ProviderAt, ids: string): readonly Statement[] {
  const members = `id IN (SELECT value FROM json_each(?)) AND +workspace_id = ? AND +location_node_id = ?
    AND +provider_name = ? AND released_at IS NULL`;
  const place = [ids, at.workspace, at.node, at.provider];
  return [
    sql(
      `UPDATE deliveries SET status = 'dead_lettered', dead_lettered_at = ?, last_dispatch_error = 'expired'
       WHERE agent_id IN (SELECT value FROM json_each(?)) AND status IN ('queued', 'delivered') AND expires_at <= ?`,
      seconds(engine),
      ids,
      seconds(engine),
    ),
    sql(`SELECT id, delivery_ack_seq, delivery_seq, ${lowestActive} AS lowest FROM agents WHERE ${members}`, ...place),
    sql(
      `UPDATE agents SET skipped_seqs = skipped_seqs + ${settledSeq} - delivery_ack_seq, delivery_ack_seq = ${settledSeq}
       WHERE ${members} AND ${settledSeq} > delivery_ack_seq`,
      ...place,
    ),
  ];
}

/** Reads the results of `certifying`. */
export const certificates = (results: readonly (readonly Row[])[]): readonly Certificate[] =>
  (results[1] ?? []).map((row) => {
    const position = settled({
      cursor: numberIn(row, 'delivery_ack_seq') ?? 0,
      lowestActive: numberIn(row, 'lowest'),
      highWater: numberIn(row, 'delivery_seq') ?? 0,
    });
    return { agent: textIn(row, 'id') ?? '', ...position };
  });

/** Certifies identities outside of an inventory: those of one register or recover. */
export async function certify(
  engine: Engine,
  at: ProviderAt,
  agents: readonly string[],
): Promise<readonly Certificate[]> {
  return certificates(await engine.storage.batch(certifying(engine, at, JSON.stringify(agents))));
}

/** Every identity of a provider that sends no cursors (an old peer): all of them are ready with its register. */
export async function agentsOf(engine: Engine, at: ProviderAt): Promise<readonly string[]> {
  const rows = await engine.storage.query(
    sql(
      `SELECT a.id FROM agents a JOIN agent_node_bindings b
         ON b.agent_id = a.id AND b.node_id = a.location_node_id AND b.status = 'active'
       WHERE a.workspace_id = ? AND a.location_node_id = ? AND a.provider_name = ? AND a.released_at IS NULL`,
      at.workspace,
      at.node,
      at.provider,
    ),
  );
  return rows.map((row) => textIn(row, 'id') ?? '');
}
