/** A database of the plane with poisoned agents, and agents beside them that must not be touched. */
import { DatabaseSync } from 'node:sqlite';
import { openSqlite } from '../../../src/provider/storage/sqlite.ts';

/** Unix seconds that everything is judged by. */
export const NOW = 1_800_000_000;
/** Planted where the repair has no business looking. */
export const SECRETS = ['planted-token-hash', 'planted body text', 'Planted Person'];

/** Agents that the repair is for, in order. */
export const POISONED = ['agent_a', 'agent_b', 'agent_c'];

/** Why each of the others is none of them. */
const OTHERS: readonly (readonly [id: string, change: string])[] = [
  ['agent_released', 'released_at = 5'],
  ['agent_self', "location_type = 'self_connected', location_node_id = NULL"],
  ['agent_right', "provider_name = 'broker'"],
  ['agent_elsewhere', "location_node_id = 'node_without'"],
  ['agent_legacy', "location_node_id = 'node_legacy'"],
  ['agent_stale', "location_node_id = 'node_stale'"],
  ['agent_observer', "location_node_id = 'node_observer'"],
];

export function plantPoisoned(file: string): void {
  const database = openSqlite(file);
  database.exec('BEGIN');
  const run = (sql: string, ...params: (string | number | null)[]) => database.prepare(sql).run(...params);
  run("INSERT INTO workspaces VALUES ('ws', ?, ?, 1)", SECRETS[2] ?? '', SECRETS[0] ?? '');
  const nodes = ['node', 'node_without', 'node_legacy', 'node_stale', 'node_observer', 'node_offline'];
  for (const id of nodes) {
    const role = id === 'node_observer' ? 'observer' : 'broker';
    run(
      'INSERT INTO nodes (id, workspace_id, name, token_hash, role, created_at) VALUES (?, ?, ?, ?, ?, 1)',
      id,
      'ws',
      `${SECRETS[2]} ${id}`,
      `${SECRETS[0]} ${id}`,
      role,
    );
  }
  const provider = (node: string, name: string, status: string, seen: number) =>
    run(
      `INSERT INTO node_providers (id, workspace_id, node_id, name, instance_id, status, last_heartbeat_at, created_at)
       VALUES (?, 'ws', ?, ?, 'i', ?, ?, 1)`,
      `${node}/${name}`,
      node,
      name,
      status,
      seen,
    );
  provider('node', 'broker', 'online', NOW - 10);
  // A row named default alone is no owner; offline rows carry recent times too.
  provider('node', 'default', 'offline', NOW - 1);
  provider('node_without', 'broker', 'offline', NOW - 1);
  provider('node_legacy', 'broker', 'online', NOW - 10);
  provider('node_legacy', 'default', 'online', NOW - 10);
  provider('node_stale', 'broker', 'online', NOW - 46);
  provider('node_observer', 'broker', 'online', NOW - 10);
  run(
    "INSERT INTO messages (id, workspace_id, type, data, created_at) VALUES ('m', 'ws', 'message', ?, 1)",
    SECRETS[1] ?? '',
  );
  for (const [index, [id, change]] of [...POISONED.map((each) => [each, undefined] as const), ...OTHERS].entries()) {
    run(
      `INSERT INTO agents (id, workspace_id, name, token_hash, location_type, location_node_id, delivery_ack_seq,
         delivery_seq, created_at) VALUES (?, 'ws', ?, ?, 'via_node', 'node', 2, 5, 1)`,
      id,
      `${SECRETS[2]} ${index}`,
      `${SECRETS[0]} ${index}`,
    );
    if (change !== undefined) run(`UPDATE agents SET ${change} WHERE id = ?`, id);
    run(
      `INSERT INTO agent_node_bindings (id, workspace_id, agent_id, node_id, status, created_at, updated_at)
       SELECT 'b_' || id, 'ws', id, coalesce(location_node_id, 'node'), 'active', 1, 1 FROM agents WHERE id = ?`,
      id,
    );
    for (const [seq, status, expires] of [
      [1, 'acked', null],
      [2, 'delivered', null],
      [3, 'delivered', null],
      [4, 'queued', NOW - 5],
      [5, 'queued', null],
    ] as const) {
      run(
        `INSERT INTO messages (id, workspace_id, type, data, created_at) VALUES (?, 'ws', 'message', ?, 1)`,
        `m_${id}_${seq}`,
        SECRETS[1] ?? '',
      );
      run(
        `INSERT INTO deliveries (id, workspace_id, message_id, agent_id, seq, status, expires_at, created_at)
         VALUES (?, 'ws', ?, ?, ?, ?, ?, 1)`,
        `d_${id}_${seq}`,
        `m_${id}_${seq}`,
        id,
        seq,
        status,
        expires,
      );
    }
  }
  const inactive = 'agent_unbound';
  run(
    `INSERT INTO agents (id, workspace_id, name, token_hash, location_type, location_node_id, created_at)
     VALUES (?, 'ws', 'unbound', 'unbound', 'via_node', 'node', 1)`,
    inactive,
  );
  run(
    `INSERT INTO agent_node_bindings (id, workspace_id, agent_id, node_id, status, created_at, updated_at)
     VALUES ('b_unbound', 'ws', ?, 'node', 'inactive', 1, 1)`,
    inactive,
  );
  database.exec('COMMIT');
  database.close();
}

/** Every row of every table but the repair's own, ordered; `but`: tables to leave out. */
export function dumpOf(file: string, but: readonly string[] = []): string {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").all();
    const wanted = tables.map(({ name }) => String(name)).filter((name) => !but.includes(name));
    return JSON.stringify(
      wanted.map((name) => [
        name,
        database
          .prepare(`SELECT * FROM ${name}`)
          .all()
          .map((row) => JSON.stringify(row))
          .sort(),
      ]),
      undefined,
      1,
    );
  } finally {
    database.close();
  }
}

/** Tables that the repair itself writes. */
export const REPAIRS = ['repair_audit', 'repair_changes', 'repair_snapshots'];

export function changed(file: string, sql: string): void {
  const database = new DatabaseSync(file);
  database.exec(sql);
  database.close();
}

export function providersOf(file: string): Record<string, string> {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare('SELECT id, provider_name FROM agents ORDER BY id').all();
  database.close();
  return Object.fromEntries(rows.map((row) => [String(row.id), String(row.provider_name)]));
}
