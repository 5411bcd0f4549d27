/**
 * Rows on their way to a socket (rules 6 and 7). The page query is the re-read: it is joined with the agent, so that what
 * was acknowledged, released, moved to another provider, or has expired meanwhile is not in it.
 */
import type { DeliverFrame, DeliveryMode } from '../../domain/provider/server-frames.ts';
import { listed, numberIn, type Row, type Statement, sql, textIn } from '../storage/port.ts';
import { type Engine, type ProviderAt, seconds } from './engine.ts';

export interface DueRow {
  readonly id: string;
  readonly agent: string;
  readonly seq: number;
  readonly queued: boolean;
  readonly frame: DeliverFrame;
}

export interface Wanted {
  readonly agent: string;
  /** Rows above it, and above the agent's cursor, are wanted. */
  readonly after: number;
  /** Delivered rows too, or queued ones only. */
  readonly again: boolean;
}

// The plus signs keep the provider's index out: the wanted agents come first.
const place = `+a.workspace_id = ? AND +a.location_node_id = ? AND +a.provider_name = ? AND a.released_at IS NULL`;
const notExpired = '(d.expires_at IS NULL OR d.expires_at > ?)';

/**
 * Rows of each wanted agent, ascending, at most `rows` in all; one round trip. The page before it is marked delivered on
 * the way, and `riding` statements go first: acknowledgements that were waiting.
 */
export async function duePage(
  engine: Engine,
  at: ProviderAt,
  asked: {
    readonly wanted: readonly Wanted[];
    readonly rows: number;
    readonly written: readonly string[];
    readonly riding: readonly Statement[];
  },
): Promise<{ readonly pages: readonly (readonly DueRow[])[]; readonly riding: readonly (readonly Row[])[] }> {
  const { wanted, rows, written } = asked;
  const share = Math.max(1, Math.floor(rows / wanted.length));
  const reads = share > 1 ? wanted.map((each) => pageOf(engine, at, each, share)) : [nextOf(engine, at, wanted)];
  const writes = [...asked.riding, ...(written.length > 0 ? [deliveredMark(engine, written)] : [])];
  const [only] = reads;
  const results =
    reads.length === 1 && writes.length === 0 && only !== undefined
      ? [await engine.storage.query(only)]
      : await engine.storage.batch([...writes, ...reads]);
  const riding = results.slice(0, asked.riding.length);
  const pages = results.slice(writes.length).map((page) => page.map(dueRow));
  if (share > 1) return { pages, riding };
  const next = Map.groupBy(pages[0] ?? [], (row) => row.agent);
  return { pages: wanted.map(({ agent }) => next.get(agent) ?? []), riding };
}

const columns = `d.id, d.seq, d.status, d.mode, d.message_id, d.agent_id, a.name AS agent_name, m.type, m.data`;

/** The next row of each of many agents. */
const nextOf = (engine: Engine, at: ProviderAt, wanted: readonly Wanted[]): Statement =>
  sql(
    `SELECT ${columns} FROM json_each(?) j JOIN agents a ON a.id = j.value ->> 'agent'
       JOIN deliveries d ON d.id = (SELECT d.id FROM deliveries d WHERE d.agent_id = a.id
         AND d.seq > max(a.delivery_ack_seq, j.value ->> 'after') AND d.status IN ('queued', 'delivered')
         AND (j.value ->> 'again' = 1 OR d.status = 'queued') AND ${notExpired} ORDER BY d.seq LIMIT 1)
       JOIN messages m ON m.id = d.message_id
     WHERE ${place}`,
    listed(wanted),
    seconds(engine),
    at.workspace,
    at.node,
    at.provider,
  );

const pageOf = (engine: Engine, at: ProviderAt, { agent, after, again }: Wanted, limit: number): Statement =>
  sql(
    `SELECT ${columns}
     FROM agents a JOIN deliveries d ON d.agent_id = a.id AND d.seq > max(a.delivery_ack_seq, ?)
       JOIN messages m ON m.id = d.message_id
     WHERE a.id = ? AND ${place} AND d.status IN ('queued', 'delivered') ${again ? '' : "AND d.status = 'queued'"}
       AND ${notExpired}
     ORDER BY d.seq LIMIT ?`,
    after,
    agent,
    at.workspace,
    at.node,
    at.provider,
    seconds(engine),
    limit,
  );

const dueRow = (row: Row): DueRow => {
  const agent = textIn(row, 'agent_id') ?? '';
  const seq = numberIn(row, 'seq') ?? 0;
  const id = textIn(row, 'id') ?? '';
  return {
    id,
    agent,
    seq,
    queued: textIn(row, 'status') === 'queued',
    frame: deliverFrame({
      delivery: id,
      agent,
      name: textIn(row, 'agent_name') ?? '',
      message: textIn(row, 'message_id') ?? '',
      seq,
      mode: textIn(row, 'mode') ?? 'wait',
      type: textIn(row, 'type') ?? '',
      data: textIn(row, 'data') ?? 'null',
    }),
  };
};

export const deliverFrame = (row: {
  delivery: string;
  agent: string;
  name: string;
  message: string;
  seq: number;
  mode: string;
  type: string;
  /** JSON. */
  data: string;
}): DeliverFrame => ({
  v: 1,
  type: 'deliver',
  delivery_id: row.delivery,
  agent_id: row.agent,
  agent: row.name,
  msg_id: row.message,
  seq: row.seq,
  mode: row.mode === 'steer' ? 'steer' : ('wait' satisfies DeliveryMode),
  payload: { type: row.type, data: JSON.parse(row.data) },
});

/** Which of the wanted agents have a row at all; one query whatever their number. */
export async function agentsWithRows(engine: Engine, wanted: readonly Wanted[]): Promise<ReadonlySet<string>> {
  const rows = await engine.storage.query(
    sql(
      `SELECT j.value ->> 'agent' AS agent FROM json_each(?) j WHERE EXISTS (
         SELECT 1 FROM deliveries d WHERE d.agent_id = j.value ->> 'agent' AND d.seq > j.value ->> 'after'
           AND d.status IN ('queued', 'delivered') AND (j.value ->> 'again' = 1 OR d.status = 'queued') LIMIT 1)`,
      listed(wanted),
    ),
  );
  return new Set(rows.map((row) => textIn(row, 'agent') ?? ''));
}

/** Which of the agents have a queued row above their cursor. */
export async function agentsWithQueued(engine: Engine, agents: readonly string[]): Promise<readonly string[]> {
  const rows = await engine.storage.query(
    sql(
      `SELECT j.value AS agent FROM json_each(?) j JOIN agents a ON a.id = j.value WHERE EXISTS (
         SELECT 1 FROM deliveries d WHERE d.agent_id = a.id AND d.seq > a.delivery_ack_seq
           AND d.status IN ('queued', 'delivered') AND d.status = 'queued' LIMIT 1)`,
      listed(agents),
    ),
  );
  return rows.map((row) => textIn(row, 'agent') ?? '');
}

/** One write a page. A row that is no longer queued stays what it became. */
export async function markDelivered(engine: Engine, ids: readonly string[]): Promise<void> {
  await engine.storage.batch([deliveredMark(engine, ids)]);
}

export const deliveredMark = (engine: Engine, ids: readonly string[]): Statement =>
  sql(
    `UPDATE deliveries SET status = 'delivered', delivered_at = ?, dispatch_attempts = dispatch_attempts + 1,
       last_dispatch_error = NULL, next_attempt_at = NULL
     WHERE id IN (SELECT value FROM json_each(?)) AND status = 'queued'`,
    seconds(engine),
    listed(ids),
  );

/** Why rows are still queued. */
export const refusedMark = (
  engine: Engine,
  refused: readonly { readonly id: string; readonly reason: string }[],
): Statement =>
  sql(
    `UPDATE deliveries SET dispatch_attempts = dispatch_attempts + 1, last_dispatch_error = j.value ->> 'reason',
       next_attempt_at = ?
     FROM json_each(?) j WHERE deliveries.id = j.value ->> 'id' AND deliveries.status = 'queued'`,
    seconds(engine) + Math.ceil(engine.limits.retryMs / 1000),
    listed(refused),
  );

export interface Unacknowledged {
  readonly agent: string;
  readonly seq: number;
  readonly bytes: number;
}

/** What was written and not acknowledged, for a socket whose window was forgotten with the memory of its object. */
export async function unacknowledged(
  engine: Engine,
  agents: readonly string[],
  limit: number,
): Promise<readonly Unacknowledged[]> {
  const rows = await engine.storage.query(
    sql(
      `SELECT d.agent_id, d.seq, length(m.data) + 300 AS bytes FROM json_each(?) j JOIN agents a ON a.id = j.value
         JOIN deliveries d ON d.agent_id = a.id AND d.seq > a.delivery_ack_seq AND d.status IN ('queued', 'delivered')
         JOIN messages m ON m.id = d.message_id
       WHERE d.status = 'delivered' LIMIT ?`,
      listed(agents),
      limit,
    ),
  );
  return rows.map((row) => ({
    agent: textIn(row, 'agent_id') ?? '',
    seq: numberIn(row, 'seq') ?? 0,
    bytes: numberIn(row, 'bytes') ?? 0,
  }));
}
