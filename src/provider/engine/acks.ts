/**
 * Acknowledgements (rule 7): cumulative, for an agent of exactly this provider; never backwards; above the highest row
 * that was marked delivered, or written on the acknowledging connection, the whole ack is dropped and counted. Cursor
 * and rows move in one batch, and acks that were waiting together are one batch.
 */
import { judgeAck } from '../../domain/provider/cursors.ts';
import { listed, numberIn, sql, textIn } from '../storage/port.ts';
import { type Engine, type ProviderAt, seconds } from './engine.ts';

export interface Ack {
  /** Name of the agent. */
  readonly agent: string;
  readonly upTo: number;
  /** Highest sequence written to this agent on the acknowledging connection. */
  readonly written: number;
}

export interface AckOutcome {
  /** Agent id of each ack that moved a cursor, with the new cursor. */
  readonly moved: readonly { readonly agent: string; readonly cursor: number }[];
  readonly beyond: readonly { readonly agent: string; readonly upTo: number; readonly cursor: number }[];
  /** Names that are no agent of this provider. */
  readonly unknown: readonly string[];
}

const ours = `a.workspace_id = ? AND a.location_node_id = ? AND a.provider_name = ? AND a.released_at IS NULL`;

/** One round trip. `acks` name each agent once. */
export async function acknowledge(engine: Engine, at: ProviderAt, acks: readonly Ack[]): Promise<AckOutcome> {
  const steps = listed(acks);
  const place = [at.workspace, at.node, at.provider];
  const [moved, , standing] = await engine.storage.batch([
    sql(
      `UPDATE agents AS a SET delivery_ack_seq = j.value ->> 'upTo' FROM json_each(?) j
       WHERE a.name = j.value ->> 'agent' AND ${ours} AND a.delivery_ack_seq < j.value ->> 'upTo'
         AND (j.value ->> 'written' >= j.value ->> 'upTo' OR EXISTS (
           SELECT 1 FROM deliveries d WHERE d.workspace_id = a.workspace_id AND d.agent_id = a.id
             AND d.seq >= j.value ->> 'upTo' AND d.status IN ('delivered', 'acked') LIMIT 1))
       RETURNING id, name, delivery_ack_seq`,
      steps,
      ...place,
    ),
    sql(
      `UPDATE deliveries SET status = 'acked', acked_at = ? WHERE id IN (
         SELECT d.id FROM json_each(?) j JOIN agents a ON a.name = j.value ->> 'agent' AND ${ours}
           JOIN deliveries d ON d.agent_id = a.id AND d.seq <= j.value ->> 'upTo' AND d.status IN ('queued', 'delivered')
         WHERE a.delivery_ack_seq >= j.value ->> 'upTo')`,
      seconds(engine),
      steps,
      ...place,
    ),
    sql(
      `SELECT a.name, a.delivery_ack_seq FROM json_each(?) j JOIN agents a ON a.name = j.value ->> 'agent' AND ${ours}`,
      steps,
      ...place,
    ),
  ]);
  const cursors = new Map(standing?.map((row) => [textIn(row, 'name'), numberIn(row, 'delivery_ack_seq') ?? 0]));
  const beyond = acks.flatMap(({ agent, upTo, written }) => {
    const cursor = cursors.get(agent);
    if (cursor === undefined || judgeAck({ cursor, upTo, highest: written }) !== 'beyond') return [];
    return [{ agent, upTo, cursor }];
  });
  return {
    moved: (moved ?? []).map((row) => ({
      agent: textIn(row, 'id') ?? '',
      cursor: numberIn(row, 'delivery_ack_seq') ?? 0,
    })),
    beyond,
    unknown: acks.map((ack) => ack.agent).filter((name) => !cursors.has(name)),
  };
}
