/** Agents and channels, as the HTTP table shows and changes them. */
import { isConflict, type Row, sql, textIn } from '../storage/port.ts';
import { eventOf, joinsGeneral, releases } from './agents.ts';
import { type Engine, seconds } from './engine.ts';
import { hashToken, newToken } from './keys.ts';

const columns = `id, name, type, metadata, status, location_type, location_node_id, provider_name, delivery_ack_seq,
  delivery_seq, created_at`;

/** What is shown of an agent: never its token. */
const shown = (row: Row) => ({ ...row, metadata: JSON.parse(textIn(row, 'metadata') ?? '{}') as unknown });

export async function createAgent(
  engine: Engine,
  request: {
    readonly workspace: string;
    readonly name: string;
    readonly type: string;
    readonly metadata: object;
    readonly joinGeneral: boolean;
  },
): Promise<
  { readonly outcome: 'created'; readonly id: string; readonly token: string } | { readonly outcome: 'taken' }
> {
  const id = engine.newId('agent');
  const token = newToken('at_live');
  try {
    await engine.storage.batch([
      sql(
        `INSERT INTO agents (id, workspace_id, name, type, metadata, token_hash, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
        id,
        request.workspace,
        request.name,
        request.type,
        JSON.stringify(request.metadata),
        await hashToken(token),
        seconds(engine),
      ),
      ...(request.joinGeneral ? joinsGeneral(engine, request.workspace, id) : []),
      eventOf(engine, request.workspace, 'agent.created', id),
    ]);
  } catch (error) {
    if (isConflict(error)) return { outcome: 'taken' };
    throw error;
  }
  return { outcome: 'created', id, token };
}

export async function findAgent(engine: Engine, { workspace, name }: { workspace: string; name: string }) {
  const [row] = await engine.storage.query(
    sql(`SELECT ${columns} FROM agents WHERE workspace_id = ? AND name = ? AND released_at IS NULL`, workspace, name),
  );
  return row && shown(row);
}

export async function changeAgent(
  engine: Engine,
  request: { workspace: string; name: string; type: string | undefined; metadata: object | undefined },
) {
  const [rows] = await engine.storage.batch([
    sql(
      `UPDATE agents SET type = coalesce(?, type), metadata = coalesce(?, metadata)
       WHERE workspace_id = ? AND name = ? AND released_at IS NULL RETURNING ${columns}`,
      request.type ?? null,
      request.metadata === undefined ? null : JSON.stringify(request.metadata),
      request.workspace,
      request.name,
    ),
  ]);
  const row = rows?.[0];
  return row && shown(row);
}

/** Releases an agent by name; undefined when there is none. */
export async function releaseAgent(
  engine: Engine,
  { workspace, name }: { workspace: string; name: string },
): Promise<{ readonly id: string; readonly node: string | undefined } | undefined> {
  const [row] = await engine.storage.query(
    sql(
      'SELECT id, location_node_id FROM agents WHERE workspace_id = ? AND name = ? AND released_at IS NULL',
      workspace,
      name,
    ),
  );
  const id = textIn(row, 'id');
  if (id === undefined) return undefined;
  await engine.storage.batch(releases(engine, workspace, id));
  return { id, node: textIn(row, 'location_node_id') };
}

export const listChannels = (engine: Engine, workspace: string) =>
  engine.storage.query(
    sql(
      `SELECT c.id, c.name, c.created_at, (SELECT count(*) FROM channel_members m WHERE m.channel_id = c.id) AS members
       FROM channels c WHERE c.workspace_id = ? ORDER BY c.name LIMIT 1000`,
      workspace,
    ),
  );

export async function createChannel(
  engine: Engine,
  { workspace, name }: { workspace: string; name: string },
): Promise<{ readonly outcome: 'created'; readonly id: string } | { readonly outcome: 'taken' }> {
  const id = engine.newId('ch');
  try {
    await engine.storage.batch([
      sql(
        'INSERT INTO channels (id, workspace_id, name, created_at) VALUES (?, ?, ?, ?)',
        id,
        workspace,
        name,
        seconds(engine),
      ),
    ]);
  } catch (error) {
    if (isConflict(error)) return { outcome: 'taken' };
    throw error;
  }
  return { outcome: 'created', id };
}

export interface Membership {
  readonly workspace: string;
  readonly channel: string;
  readonly agent: string;
}

const pair = `SELECT c.id AS channel_id, a.id AS agent_id FROM channels c JOIN agents a ON a.workspace_id = c.workspace_id
  WHERE c.workspace_id = ? AND c.name = ? AND a.name = ? AND a.released_at IS NULL`;

/** False when the channel or the agent is not there. A second join changes nothing. */
export async function joinChannel(engine: Engine, { workspace, channel, agent }: Membership): Promise<boolean> {
  const [, rows] = await engine.storage.batch([
    sql(
      `INSERT INTO channel_members (channel_id, agent_id, joined_at) SELECT channel_id, agent_id, ? FROM (${pair})
       WHERE true ON CONFLICT (channel_id, agent_id) DO NOTHING`,
      seconds(engine),
      workspace,
      channel,
      agent,
    ),
    sql(pair, workspace, channel, agent),
  ]);
  return rows?.length === 1;
}

/** False when the agent is no member of the channel. A muted member gets no deliveries from it. */
export async function muteChannel(
  engine: Engine,
  { workspace, channel, agent, muted }: Membership & { readonly muted: boolean },
): Promise<boolean> {
  const [rows] = await engine.storage.batch([
    sql(
      `UPDATE channel_members SET muted = ? WHERE (channel_id, agent_id) IN (${pair}) RETURNING agent_id`,
      muted ? 1 : 0,
      workspace,
      channel,
      agent,
    ),
  ]);
  return rows?.length === 1;
}

/** Undefined when there is no such channel. */
export async function channelMembers(engine: Engine, { workspace, channel }: { workspace: string; channel: string }) {
  const [channels, members] = await engine.storage.batch([
    sql('SELECT id FROM channels WHERE workspace_id = ? AND name = ?', workspace, channel),
    sql(
      `SELECT a.id, a.name, a.status, m.muted, m.joined_at FROM channel_members m JOIN agents a ON a.id = m.agent_id
         JOIN channels c ON c.id = m.channel_id WHERE c.workspace_id = ? AND c.name = ? ORDER BY a.name`,
      workspace,
      channel,
    ),
  ]);
  return channels?.length === 1 ? (members ?? []) : undefined;
}

export async function findWorkspace(engine: Engine, id: string) {
  const [row] = await engine.storage.query(sql('SELECT id, name, created_at FROM workspaces WHERE id = ?', id));
  return row;
}
