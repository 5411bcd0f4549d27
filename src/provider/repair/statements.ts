/**
 * The SQL of the repair of agents that were stamped `default`. The same statements run on a SQLite file and, written out with
 * their values, on D1. None of them reads a token, a body or a name; what is changed is `agents.provider_name` and nothing else.
 */
import type { Statement, Value } from '../storage/port.ts';
import { sql } from '../storage/port.ts';

/** A heartbeat of this age in seconds is fresh: rule 8. */
export const FRESH_S = 45;

export const POISONED = 'default';
export const RIGHTFUL = 'broker';

const isServing = (provider: string): string =>
  `EXISTS (SELECT 1 FROM node_providers p WHERE p.workspace_id = a.workspace_id AND p.node_id = n.id
     AND p.name = '${provider}' AND p.status = 'online' AND ? - p.last_heartbeat_at BETWEEN 0 AND ${FRESH_S})`;

/**
 * An agent that is stamped `default`, stands on a node of role broker with a live `broker` provider and no live `default`
 * one, is bound there, and was not released. Takes the time twice.
 */
const candidates = `agents a
  JOIN nodes n ON n.id = a.location_node_id AND n.workspace_id = a.workspace_id AND n.role = 'broker'
  JOIN agent_node_bindings b ON b.agent_id = a.id AND b.node_id = n.id AND b.status = 'active'
  WHERE a.provider_name = '${POISONED}' AND a.location_type = 'via_node' AND a.released_at IS NULL
    AND ${isServing(RIGHTFUL)} AND NOT ${isServing(POISONED)}`;

const active = `d.status IN ('queued', 'delivered')`;
const among = (where: string, what = 'count(*)'): string =>
  `(SELECT ${what} FROM deliveries d WHERE d.workspace_id = a.workspace_id AND d.agent_id = a.id AND ${active} AND ${where})`;
const above = 'd.seq > a.delivery_ack_seq';

/** What is told of an agent: ids and numbers. Takes the time once. */
const told = `a.id AS agent_id, a.workspace_id AS workspace_id, a.location_node_id AS node_id,
  a.delivery_ack_seq AS cursor, ${among(above)} AS above, ${among(above, 'min(d.seq)')} AS lowest,
  ${among(above, 'max(d.seq)')} AS highest,
  ${among(`${above} AND d.expires_at IS NOT NULL AND d.expires_at <= ?`)} AS expired,
  ${among('d.seq <= a.delivery_ack_seq')} AS hidden`;

export const survey = (now: number): Statement =>
  sql(`SELECT ${told} FROM ${candidates} ORDER BY a.workspace_id, a.id`, now, now, now);

/** The repair's own tables. Rows of a snapshot are written once; a change is written once for each snapshot and row. */
export const makeTables: readonly Statement[] = [
  sql(`CREATE TABLE IF NOT EXISTS repair_snapshots (snapshot_id TEXT NOT NULL, agent_id TEXT NOT NULL,
    workspace_id TEXT NOT NULL, node_id TEXT NOT NULL, location_type TEXT NOT NULL, provider_name TEXT NOT NULL,
    delivery_ack_seq INTEGER NOT NULL, taken_at INTEGER NOT NULL, PRIMARY KEY (snapshot_id, agent_id))`),
  sql(`CREATE TABLE IF NOT EXISTS repair_changes (snapshot_id TEXT NOT NULL, agent_id TEXT NOT NULL, kind TEXT NOT NULL,
    run_id TEXT NOT NULL, changed_at INTEGER NOT NULL, PRIMARY KEY (snapshot_id, agent_id, kind))`),
];

/** Whether the repair's tables are there, and so whether anything else may be asked. */
export const findTables = (): Statement =>
  sql(`SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('repair_snapshots', 'repair_changes')`);

export interface Run {
  readonly snapshot: string;
  /** New with every run: what this very run changed carries it. */
  readonly run: string;
  /** Unix seconds. */
  readonly now: number;
}

export interface ApprovedRun extends Run {
  readonly approvedAs: string;
}

/** Where a snapshot stands; one row, whatever there is. */
export const standing = (snapshot: string): Statement =>
  sql(
    `SELECT (SELECT count(*) FROM repair_audit WHERE snapshot_id = ? AND step = 'snapshot') AS taken,
       (SELECT count(*) FROM repair_snapshots WHERE snapshot_id = ?) AS rows,
       (SELECT count(*) FROM repair_changes WHERE snapshot_id = ? AND kind = 'applied') AS applied,
       (SELECT count(*) FROM repair_changes WHERE snapshot_id = ? AND kind = 'restored') AS restored`,
    snapshot,
    snapshot,
    snapshot,
    snapshot,
  );

/** The newest snapshot of which nothing was applied: one that a run without an id goes on with. */
export const openSnapshot = (): Statement =>
  sql(
    `SELECT a.snapshot_id AS snapshot FROM repair_audit a WHERE a.step = 'snapshot'
       AND NOT EXISTS (SELECT 1 FROM repair_audit c WHERE c.snapshot_id = a.snapshot_id AND c.step = 'apply')
     ORDER BY a.created_at DESC, a.id DESC LIMIT 1`,
  );

const audit = (
  step: string,
  { snapshot, run, now }: Run,
  approvedAs: string | null,
  rows: string,
  ...params: Value[]
) =>
  sql(
    `INSERT OR IGNORE INTO repair_audit (id, run_id, step, snapshot_id, approved_as, rows_changed, created_at)
     VALUES (?, ?, ?, ?, ?, ${rows}, ?) RETURNING rows_changed AS rows`,
    `${step}:${run}`,
    run,
    step,
    snapshot,
    approvedAs,
    ...params,
    now,
  );

/** Takes the snapshot, unless it is there already; then nothing is written. The last statement answers with its rows. */
export const takeSnapshot = (of: Run): readonly Statement[] => [
  ...makeTables,
  sql(
    `INSERT OR IGNORE INTO repair_snapshots (snapshot_id, agent_id, workspace_id, node_id, location_type, provider_name,
       delivery_ack_seq, taken_at)
     SELECT ?, a.id, a.workspace_id, a.location_node_id, a.location_type, a.provider_name, a.delivery_ack_seq, ?
     FROM ${candidates}
       AND NOT EXISTS (SELECT 1 FROM repair_audit WHERE snapshot_id = ? AND step = 'snapshot')`,
    of.snapshot,
    of.now,
    of.now,
    of.now,
    of.snapshot,
  ),
  sql(
    `INSERT INTO repair_audit (id, run_id, step, snapshot_id, rows_changed, created_at)
     SELECT ?, ?, 'snapshot', ?, (SELECT count(*) FROM repair_snapshots WHERE snapshot_id = ?), ?
     WHERE NOT EXISTS (SELECT 1 FROM repair_audit WHERE snapshot_id = ? AND step = 'snapshot')`,
    `snapshot:${of.snapshot}`,
    of.run,
    of.snapshot,
    of.snapshot,
    of.now,
    of.snapshot,
  ),
  snapshotRows(of.snapshot),
];

export function snapshotRows(snapshot: string): Statement {
  return sql(
    `SELECT agent_id, workspace_id, node_id, delivery_ack_seq AS cursor FROM repair_snapshots WHERE snapshot_id = ?
     ORDER BY workspace_id, agent_id`,
    snapshot,
  );
}

/** Rows of the snapshot with what is true of them now: who was changed, by whom, and why the others were left alone. */
export const state = (snapshot: string, now: number): Statement =>
  sql(
    `SELECT ${told}, a.provider_name AS provider, a.location_type AS location, a.released_at AS released_at,
       s.node_id AS taken_node, s.delivery_ack_seq AS taken_cursor,
       (SELECT run_id FROM repair_changes c WHERE c.snapshot_id = s.snapshot_id AND c.agent_id = s.agent_id
          AND c.kind = 'applied') AS applied,
       (SELECT run_id FROM repair_changes c WHERE c.snapshot_id = s.snapshot_id AND c.agent_id = s.agent_id
          AND c.kind = 'restored') AS restored
     FROM repair_snapshots s JOIN agents a ON a.id = s.agent_id WHERE s.snapshot_id = ? ORDER BY a.workspace_id, a.id`,
    now,
    snapshot,
  );

/** Candidates still, or again, that are in the snapshot. */
export const poisonedStill = (snapshot: string, now: number): Statement =>
  sql(
    `SELECT a.id AS agent_id FROM ${candidates}
       AND a.id IN (SELECT agent_id FROM repair_snapshots WHERE snapshot_id = ?) ORDER BY a.id`,
    now,
    now,
    snapshot,
  );

/**
 * Changes exactly `provider_name` of the rows of the snapshot for which the same predicate holds now, each once: what was
 * applied before is not applied again, whatever became of it.
 */
export const apply = (of: ApprovedRun): readonly Statement[] => [
  sql(
    `INSERT OR IGNORE INTO repair_changes (snapshot_id, agent_id, kind, run_id, changed_at)
     SELECT s.snapshot_id, a.id, 'applied', ?, ? FROM repair_snapshots s JOIN ${candidates}
       AND s.snapshot_id = ? AND s.agent_id = a.id AND s.node_id = a.location_node_id`,
    of.run,
    of.now,
    of.now,
    of.now,
    of.snapshot,
  ),
  sql(
    `UPDATE agents SET provider_name = '${RIGHTFUL}' WHERE provider_name = '${POISONED}' AND id IN
       (SELECT agent_id FROM repair_changes WHERE snapshot_id = ? AND kind = 'applied' AND run_id = ?)
     RETURNING id AS agent_id`,
    of.snapshot,
    of.run,
  ),
  audit('apply', of, of.approvedAs, changedBy('applied'), of.snapshot, of.run),
];

function changedBy(kind: 'applied' | 'restored'): string {
  return `(SELECT count(*) FROM repair_changes WHERE snapshot_id = ? AND run_id = ? AND kind = '${kind}')`;
}

/** Applied and not restored, and provider, location, node and release are as the repair left them. */
const asLeft = `repair_changes c JOIN repair_snapshots s ON s.snapshot_id = c.snapshot_id AND s.agent_id = c.agent_id
  JOIN agents a ON a.id = c.agent_id AND a.provider_name = '${RIGHTFUL}' AND a.location_type = s.location_type
    AND a.location_node_id = s.node_id AND a.released_at IS NULL
  WHERE c.snapshot_id = ? AND c.kind = 'applied' AND NOT EXISTS (SELECT 1 FROM repair_changes r
    WHERE r.snapshot_id = c.snapshot_id AND r.agent_id = c.agent_id AND r.kind = 'restored')`;
const unused = (includeUsed: boolean): string => (includeUsed ? '' : ' AND a.delivery_ack_seq = s.delivery_ack_seq');

/** What a rollback would restore now. */
export const restorable = (snapshot: string, includeUsed: boolean): Statement =>
  sql(`SELECT a.id AS agent_id FROM ${asLeft}${unused(includeUsed)} ORDER BY a.id`, snapshot);

/** Puts back what the snapshot holds, of the rows that are as the repair left them. */
export const rollBack = (of: ApprovedRun, includeUsed: boolean): readonly Statement[] => [
  sql(
    `INSERT OR IGNORE INTO repair_changes (snapshot_id, agent_id, kind, run_id, changed_at)
     SELECT c.snapshot_id, c.agent_id, 'restored', ?, ? FROM ${asLeft}${unused(includeUsed)}`,
    of.run,
    of.now,
    of.snapshot,
  ),
  sql(
    `UPDATE agents SET provider_name = (SELECT s.provider_name FROM repair_snapshots s
       WHERE s.snapshot_id = ? AND s.agent_id = agents.id)
     WHERE provider_name = '${RIGHTFUL}' AND id IN
       (SELECT agent_id FROM repair_changes WHERE snapshot_id = ? AND kind = 'restored' AND run_id = ?)
     RETURNING id AS agent_id`,
    of.snapshot,
    of.snapshot,
    of.run,
  ),
  audit('rollback', of, of.approvedAs, changedBy('restored'), of.snapshot, of.run),
];

/** A statement with its values written into it, for those who run it elsewhere. */
export function written({ sql: text, params }: Statement): string {
  let next = 0;
  const whole = text.replaceAll('?', () => literal(params[next++] ?? null));
  return `${whole.replaceAll(/\s+/g, ' ')};`;
}

const literal = (value: Value): string =>
  value === null ? 'NULL' : typeof value === 'number' ? String(value) : `'${value.replaceAll("'", "''")}'`;
