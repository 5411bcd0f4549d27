/**
 * Posts (rules 7 and 9): message, sequence numbers and delivery rows are one batch, so that there is no number without a
 * row and none is used twice. Then each row is offered to the object of its agent's node; `delivered` is written only
 * where the object wrote the frame, and only over `queued`. A row that cannot be routed says why and stays.
 */
import type { SendResult } from '../../domain/provider/codes.ts';
import type { DeliverFrame, DeliveryMode, SendableFrame } from '../../domain/provider/server-frames.ts';
import { isConflict, numberIn, type Row, sql, textIn } from '../storage/port.ts';
import { deliveredMark, deliverFrame, refusedMark } from './deliveries.ts';
import { type Engine, type ProviderAt, seconds } from './engine.ts';
import { invoke, returnPending, takeInvocation } from './invocations.ts';

/** The way to a node's object: frames for one provider, answered in order. Rejects when the object cannot be asked. */
export interface Dispatcher {
  send(request: ProviderAt & { readonly frames: readonly SendableFrame[] }): Promise<readonly SendResult[]>;
}

export interface Post {
  readonly workspace: string;
  readonly channel: string;
  readonly text: string;
  readonly mode: DeliveryMode;
  /** Who posts: an agent, or a name that the workspace's key gave. */
  readonly sender: { readonly id?: string; readonly name: string };
  /** One post of this sender on this channel, however often it is sent. */
  readonly idempotencyKey?: string | undefined;
}

export interface Recipient {
  readonly agent: string;
  readonly agent_id: string;
  readonly seq: number;
  readonly state: 'delivered' | 'queued';
  /** Why it is still queued. */
  readonly reason?: string;
}

export type PostOutcome =
  | { readonly outcome: 'posted'; readonly id: string; readonly recipients: readonly Recipient[] }
  /** The sender used the key on this channel before: that post, and how its rows stand now. */
  | { readonly outcome: 'repeated'; readonly id: string; readonly recipients: readonly Recipient[] }
  | { readonly outcome: 'no_channel' };

const rowsOf = (message: string) =>
  sql(
    `SELECT d.id, d.seq, d.status, d.mode, d.last_dispatch_error, d.message_id, m.type, m.data, a.id AS agent_id,
       a.name AS agent_name, a.location_type, a.location_node_id, a.provider_name
     FROM deliveries d JOIN agents a ON a.id = d.agent_id JOIN messages m ON m.id = d.message_id
     WHERE d.message_id = ? ORDER BY a.name`,
    message,
  );

export async function postMessage(engine: Engine, dispatcher: Dispatcher, post: Post): Promise<PostOutcome> {
  const [channel] = await engine.storage.query(
    sql('SELECT id FROM channels WHERE workspace_id = ? AND name = ?', post.workspace, post.channel),
  );
  const channelId = textIn(channel, 'id');
  if (channelId === undefined) return { outcome: 'no_channel' };
  const known = await repeated(engine, post, channelId);
  if (known !== undefined) return known;
  const id = engine.newId('msg');
  try {
    const rows = await write(engine, post, { id, channelId });
    return { outcome: 'posted', id, recipients: await dispatch(engine, dispatcher, post.workspace, rows) };
  } catch (error) {
    const winner = isConflict(error) ? await repeated(engine, post, channelId) : undefined;
    if (winner === undefined) throw error;
    return winner;
  }
}

/** Asks by the expression of the index `messages_by_key`. */
async function repeated(engine: Engine, post: Post, channelId: string): Promise<PostOutcome | undefined> {
  if (post.idempotencyKey === undefined) return undefined;
  const [row] = await engine.storage.query(
    sql(
      `SELECT id FROM messages WHERE workspace_id = ? AND channel_id = ?
         AND coalesce(sender_id, 'name:' || json_extract(data, '$.from')) = ? AND idempotency_key = ?`,
      post.workspace,
      channelId,
      post.sender.id ?? `name:${post.sender.name}`,
      post.idempotencyKey,
    ),
  );
  const id = textIn(row, 'id');
  if (id === undefined) return undefined;
  const recipients = (await engine.storage.query(rowsOf(id))).map((each) => recipientOf(each, standing(each)));
  return { outcome: 'repeated', id, recipients };
}

const standing = (row: Row): SendResult =>
  textIn(row, 'status') === 'queued'
    ? { delivered: false, reason: (textIn(row, 'last_dispatch_error') ?? 'not_ready') as 'not_ready' }
    : { delivered: true };

/** One batch: the message, the next number of every recipient, a row for each, and the rows back. */
async function write(
  engine: Engine,
  post: Post,
  { id, channelId }: { id: string; channelId: string },
): Promise<readonly Row[]> {
  const now = seconds(engine);
  const recipients = `SELECT m.agent_id FROM channel_members m JOIN agents r ON r.id = m.agent_id
    WHERE m.channel_id = ? AND m.muted = 0 AND r.released_at IS NULL AND r.id IS NOT ?`;
  const sender = post.sender.id ?? null;
  const data = { channel: post.channel, from: post.sender.name, text: post.text };
  const results = await engine.storage.batch([
    sql(
      `INSERT INTO messages (id, workspace_id, channel_id, sender_id, type, data, idempotency_key, created_at)
       VALUES (?, ?, ?, ?, 'message', ?, ?, ?)`,
      id,
      post.workspace,
      channelId,
      sender,
      JSON.stringify(data),
      post.idempotencyKey ?? null,
      now,
    ),
    sql(`UPDATE agents SET delivery_seq = delivery_seq + 1 WHERE id IN (${recipients})`, channelId, sender),
    sql(
      `INSERT INTO deliveries (id, workspace_id, message_id, agent_id, seq, mode, created_at)
       SELECT 'dlv_' || lower(hex(randomblob(12))), workspace_id, ?, id, delivery_seq, ?, ? FROM agents
       WHERE id IN (${recipients})`,
      id,
      post.mode,
      now,
      channelId,
      sender,
    ),
    rowsOf(id),
  ]);
  return results[3] ?? [];
}

/** Offers rows to the objects of their nodes, one request for each provider, and writes down what came of it. */
async function dispatch(
  engine: Engine,
  dispatcher: Dispatcher,
  workspace: string,
  rows: readonly Row[],
): Promise<readonly Recipient[]> {
  const results = new Map<Row, SendResult | { delivered: false; reason: string }>();
  const routes = Map.groupBy(rows, (row) =>
    textIn(row, 'location_type') === 'via_node'
      ? JSON.stringify([textIn(row, 'location_node_id'), textIn(row, 'provider_name')])
      : '',
  );
  await Promise.all(
    [...routes].map(async ([route, routed]) => {
      if (route === '') {
        for (const row of routed) results.set(row, { delivered: false, reason: 'self_connected' });
        return;
      }
      const [node = '', provider = ''] = JSON.parse(route) as string[];
      const answers = await dispatcher
        .send({ workspace, node, provider, frames: routed.map(frameOf) })
        .catch(() => undefined);
      routed.forEach((row, index) => {
        results.set(row, answers?.[index] ?? { delivered: false, reason: 'node_unreachable' });
      });
    }),
  );
  const recipients = rows.map((row) => recipientOf(row, results.get(row) ?? { delivered: false, reason: 'not_ready' }));
  await note(engine, rows, recipients);
  return recipients;
}

/** A failure to write it down leaves the rows queued: they are met again by the object. */
async function note(engine: Engine, rows: readonly Row[], recipients: readonly Recipient[]): Promise<void> {
  const delivered = rows.filter((_, index) => recipients[index]?.state === 'delivered').map((row) => String(row.id));
  const refused = rows.flatMap((row, index) => {
    const reason = recipients[index]?.reason;
    return reason === undefined ? [] : [{ id: String(row.id), reason }];
  });
  const statements = [
    ...(delivered.length > 0 ? [deliveredMark(engine, delivered)] : []),
    ...(refused.length > 0 ? [refusedMark(engine, refused)] : []),
  ];
  if (statements.length > 0) await engine.storage.batch(statements).catch(() => undefined);
}

const frameOf = (row: Row): DeliverFrame =>
  deliverFrame({
    delivery: String(row.id),
    agent: String(row.agent_id),
    name: String(row.agent_name),
    message: String(row.message_id),
    seq: numberIn(row, 'seq') ?? 0,
    mode: String(row.mode),
    type: String(row.type),
    data: String(row.data),
  });

const recipientOf = (row: Row, result: SendResult | { delivered: false; reason: string }): Recipient => ({
  agent: String(row.agent_name),
  agent_id: String(row.agent_id),
  seq: numberIn(row, 'seq') ?? 0,
  state: result.delivered ? 'delivered' : 'queued',
  ...(result.delivered ? {} : { reason: result.reason }),
});

/**
 * Invokes an action of a node: put down as pending, then taken for its attempt, then offered to the object; what the
 * object did not write is pending again, and goes out when its provider registers. False when no provider serves it.
 */
export async function dispatchInvocation(
  engine: Engine,
  dispatcher: Dispatcher,
  request: Parameters<typeof invoke>[1],
): Promise<boolean> {
  const made = await invoke(engine, request);
  if (made === undefined) return false;
  const at = { workspace: request.workspace, node: request.node, provider: made.provider };
  const frame = await takeInvocation(engine, at, made.id);
  if (frame === undefined) return true;
  const answers = await dispatcher.send({ ...at, frames: [frame] }).catch(() => undefined);
  if (answers?.[0]?.delivered !== true) await returnPending(engine, at, [made.id]);
  return true;
}
