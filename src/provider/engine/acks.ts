/**
 * Acknowledgements (rule 7): cumulative, for an agent of exactly this provider; never backwards; above the highest row
 * that was marked delivered, or written on the acknowledging connection, the whole ack is dropped and counted. Cursor
 * and rows move in one batch, and acks that were waiting together are one batch.
 */
import { judgeAck } from '../../domain/provider/cursors.ts';
import { listed, numberIn, type Row, type Statement, sql, textIn } from '../storage/port.ts';
import { type Engine, type ProviderAt, seconds } from './engine.ts';

export interface Ack {
  /** Name of the agent. */
  readonly agent: string;
  readonly upTo: number;
  /** Highest sequence written under this name on the acknowledging connection. */
  readonly written: number;
  /** Id of the agent that it was written to: it says nothing of another one that bears the name since. Null: none was. */
  readonly writtenTo: string | null;
}

export interface AckOutcome {
  /** Agent id of each ack that moved a cursor, with the new cursor. */
  readonly moved: readonly { readonly agent: string; readonly cursor: number }[];
  readonly beyond: readonly { readonly agent: string; readonly upTo: number; readonly cursor: number }[];
  /** Names that are no agent of this provider. */
  readonly unknown: readonly string[];
}

/** The acks that are for an agent of this provider. CROSS JOIN keeps the order: each name is looked up, once. */
const known = `SELECT a.id, a.name, a.delivery_ack_seq AS cursor, j.value ->> 'upTo' AS up_to,
    CASE WHEN j.value ->> 'writtenTo' = a.id THEN j.value ->> 'written' ELSE 0 END AS written
  FROM json_each(?) j CROSS JOIN agents a ON a.workspace_id = ? AND a.name = j.value ->> 'agent' AND a.released_at IS NULL
  WHERE +a.location_node_id = ? AND +a.provider_name = ?`;

/** Three statements, to be part of a batch. `acks` name each agent once. */
export function acknowledging(engine: Engine, at: ProviderAt, acks: readonly Ack[]): readonly Statement[] {
  const asked = [listed(acks), at.workspace, at.node, at.provider];
  return [
    sql(
      `WITH k AS MATERIALIZED (${known})
       UPDATE agents SET delivery_ack_seq = k.up_to FROM k
       WHERE agents.id = k.id AND agents.delivery_ack_seq < k.up_to AND (k.written >= k.up_to OR EXISTS (
         SELECT 1 FROM deliveries d WHERE d.workspace_id = agents.workspace_id AND d.agent_id = k.id
           AND d.seq >= k.up_to AND d.status IN ('delivered', 'acked') LIMIT 1))
       RETURNING id, delivery_ack_seq`,
      ...asked,
    ),
    sql(
      `UPDATE deliveries SET status = 'acked', acked_at = ? WHERE id IN (
         WITH k AS MATERIALIZED (${known})
         SELECT d.id FROM k CROSS JOIN deliveries d ON d.agent_id = k.id AND d.seq <= k.up_to
           AND d.status IN ('queued', 'delivered')
         WHERE k.cursor >= k.up_to)`,
      seconds(engine),
      ...asked,
    ),
    sql(known, ...asked),
  ];
}

/** Reads the results of `acknowledging`. */
export function ackOutcome(acks: readonly Ack[], [moved, , standing]: readonly (readonly Row[])[]): AckOutcome {
  const agents = new Map(
    standing?.map((row) => [
      textIn(row, 'name'),
      { cursor: numberIn(row, 'cursor') ?? 0, highest: numberIn(row, 'written') ?? 0 },
    ]),
  );
  const beyond = acks.flatMap(({ agent, upTo }) => {
    const stands = agents.get(agent);
    if (stands === undefined || judgeAck({ ...stands, upTo }) !== 'beyond') return [];
    return [{ agent, upTo, cursor: stands.cursor }];
  });
  return {
    moved: (moved ?? []).map((row) => ({
      agent: textIn(row, 'id') ?? '',
      cursor: numberIn(row, 'delivery_ack_seq') ?? 0,
    })),
    beyond,
    unknown: acks.map((ack) => ack.agent).filter((name) => !agents.has(name)),
  };
}
