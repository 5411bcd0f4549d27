/**
 * Provider rows (rules 4 and 8): the one batch of a registration, its compensation, the projection of liveness, and the
 * disconnect path. Every write but the registration itself holds only while the row still carries the given instance, so
 * that a late one cannot touch what another connection has taken over.
 */
import { type CapabilityVerdicts, isProtocolCapability } from '../../domain/provider/capabilities.ts';
import type { AdvertisedCapability } from '../../domain/provider/frames.ts';
import type { Projection } from '../../domain/provider/liveness.ts';
import { listed, numberIn, type Row, type Statement, sql, textIn } from '../storage/port.ts';
import { type Engine, type ProviderAt, seconds } from './engine.ts';

/** A provider row as it stood before a registration: what a lost one puts back. */
export interface ProviderBefore {
  readonly instance: string;
  readonly status: string;
  readonly capabilities: string;
  readonly handlers: number;
  readonly load: number | null;
  readonly active: number;
  readonly lastHeartbeatAt: number | null;
}

export interface Standing {
  readonly node: { readonly name: string; readonly role: string } | undefined;
  readonly before: ProviderBefore | undefined;
  /** Actions that another online provider of the node serves. */
  readonly taken: ReadonlySet<string>;
  /** Agents of this provider that are not released. */
  readonly agents: number;
}

const here = 'workspace_id = ? AND node_id = ? AND name = ?';

/** What a registration must know, in one round trip. */
export async function readStanding(engine: Engine, at: ProviderAt): Promise<Standing> {
  const [nodes, rows, taken, agents] = await engine.storage.batch([
    sql('SELECT name, role FROM nodes WHERE workspace_id = ? AND id = ?', at.workspace, at.node),
    sql(`SELECT * FROM node_providers WHERE ${here}`, at.workspace, at.node, at.provider),
    sql(
      `SELECT a.name FROM actions a JOIN node_providers p
         ON p.workspace_id = a.workspace_id AND p.node_id = a.node_id AND p.name = a.provider_name
       WHERE a.workspace_id = ? AND a.node_id = ? AND a.provider_name <> ? AND p.status = 'online'`,
      at.workspace,
      at.node,
      at.provider,
    ),
    sql(
      `SELECT count(*) AS n FROM agents WHERE location_node_id = ? AND provider_name = ? AND released_at IS NULL
         AND workspace_id = ?`,
      at.node,
      at.provider,
      at.workspace,
    ),
  ]);
  const node = nodes?.[0];
  return {
    node: node && { name: textIn(node, 'name') ?? '', role: textIn(node, 'role') ?? '' },
    before: beforeOf(rows?.[0]),
    taken: new Set(taken?.map((row) => textIn(row, 'name') ?? '')),
    agents: numberIn(agents?.[0], 'n') ?? 0,
  };
}

const beforeOf = (row: Row | undefined): ProviderBefore | undefined =>
  row && {
    instance: textIn(row, 'instance_id') ?? '',
    status: textIn(row, 'status') ?? 'offline',
    capabilities: textIn(row, 'capabilities') ?? '[]',
    handlers: numberIn(row, 'handlers_live') ?? 0,
    load: numberIn(row, 'load') ?? null,
    active: numberIn(row, 'active_agents') ?? 0,
    lastHeartbeatAt: numberIn(row, 'last_heartbeat_at') ?? null,
  };

export interface Registration extends Instanced {
  readonly advertised: readonly AdvertisedCapability[];
  readonly verdicts: CapabilityVerdicts;
  readonly maxAgents: number;
  readonly tags: readonly string[];
  readonly version: string;
}

/** The one batch of a registration: provider row, node aggregate, actions. */
export async function writeRegistration(engine: Engine, registration: Registration): Promise<void> {
  const { workspace, node, provider, instance, advertised, maxAgents, tags, version } = registration;
  const now = seconds(engine);
  await engine.storage.batch([
    sql(
      `INSERT INTO node_providers
         (id, workspace_id, node_id, name, instance_id, capabilities, status, last_heartbeat_at, created_at)
       VALUES (?, ?, ?, ?, ?, ?, 'online', ?, ?)
       ON CONFLICT (workspace_id, node_id, name) DO UPDATE SET instance_id = excluded.instance_id,
         capabilities = excluded.capabilities, status = 'online', last_heartbeat_at = excluded.last_heartbeat_at`,
      engine.newId('prv'),
      workspace,
      node,
      provider,
      instance,
      listed(advertised),
      now,
      now,
    ),
    sql(
      'UPDATE nodes SET max_agents = ?, tags = ?, version = ?, last_heartbeat_at = ? WHERE workspace_id = ? AND id = ?',
      maxAgents,
      listed(tags),
      version,
      now,
      workspace,
      node,
    ),
    ...actionsOf(registration, registration.verdicts.actions),
    aggregateOf(registration),
  ]);
}

const actionsOf = (at: Instanced, actions: readonly AdvertisedCapability[]): readonly Statement[] => [
  sql(
    `DELETE FROM actions WHERE workspace_id = ? AND node_id = ? AND provider_name = ? AND ${holds}`,
    at.workspace,
    at.node,
    at.provider,
    ...instanceOf(at),
  ),
  sql(
    `INSERT INTO actions (workspace_id, node_id, name, provider_name, kind, global, metadata)
     SELECT ?, ?, value ->> 'name', ?, coalesce(value ->> 'kind', 'action'), coalesce(value ->> 'global', 0),
       coalesce(json_extract(value, '$.metadata'), '{}')
     FROM json_each(?) WHERE ${holds}
     ON CONFLICT (workspace_id, node_id, name) DO UPDATE SET provider_name = excluded.provider_name,
       kind = excluded.kind, global = excluded.global, metadata = excluded.metadata
     WHERE NOT EXISTS (SELECT 1 FROM node_providers p WHERE p.workspace_id = actions.workspace_id
       AND p.node_id = actions.node_id AND p.name = actions.provider_name AND p.status = 'online')`,
    at.workspace,
    at.node,
    at.provider,
    listed(actions),
    ...instanceOf(at),
  ),
];

/** The row still carries that instance. */
const holds = `EXISTS (SELECT 1 FROM node_providers WHERE ${here} AND instance_id = ?)`;
const instanceOf = (at: Instanced) => [at.workspace, at.node, at.provider, at.instance];

/** A node is online while one of its providers is; its figures are their sums. */
const aggregateOf = ({ workspace, node }: ProviderAt): Statement =>
  sql(
    `UPDATE nodes SET (status, handlers_live, active_agents, load) = (
       SELECT CASE WHEN count(*) > 0 THEN 'online' ELSE 'offline' END, coalesce(sum(p.handlers_live), 0),
         coalesce(sum(p.active_agents), 0), max(p.load)
       FROM node_providers p WHERE p.workspace_id = nodes.workspace_id AND p.node_id = nodes.id AND p.status = 'online')
     WHERE workspace_id = ? AND id = ?`,
    workspace,
    node,
  );

export interface Instanced extends ProviderAt {
  readonly instance: string;
}

/** The projection of an accepted heartbeat; changes nothing when the row is another instance's. */
export async function projectHeartbeat(engine: Engine, at: Instanced, projection: Projection): Promise<void> {
  const now = seconds(engine);
  await engine.storage.batch([
    sql(
      `UPDATE node_providers SET status = 'online', handlers_live = ?, load = ?, active_agents = ?, last_heartbeat_at = ?
       WHERE ${here} AND instance_id = ?`,
      projection.handlers,
      projection.load,
      projection.active,
      now,
      at.workspace,
      at.node,
      at.provider,
      at.instance,
    ),
    sql(
      `UPDATE nodes SET last_heartbeat_at = ? WHERE workspace_id = ? AND id = ? AND EXISTS (
         SELECT 1 FROM node_providers WHERE ${here} AND instance_id = ?)`,
      now,
      at.workspace,
      at.node,
      at.workspace,
      at.node,
      at.provider,
      at.instance,
    ),
    aggregateOf(at),
  ]);
}

/**
 * The disconnect path: provider, its agents and, with the last provider, the node go offline; invocations that were
 * dispatched to it are pending again. Names, locations, bindings, cursors and times stay as they are.
 */
export async function disconnectProvider(engine: Engine, at: Instanced): Promise<void> {
  const ours = [at.workspace, at.node, at.provider, at.instance];
  const gone = `EXISTS (SELECT 1 FROM node_providers WHERE ${here} AND instance_id = ? AND status = 'offline')`;
  await engine.storage.batch([
    sql(
      `UPDATE node_providers SET status = 'offline', handlers_live = 0, load = NULL, active_agents = 0
       WHERE ${here} AND instance_id = ?`,
      ...ours,
    ),
    sql(
      `UPDATE agents SET status = 'offline'
       WHERE workspace_id = ? AND location_node_id = ? AND provider_name = ? AND released_at IS NULL
         AND status <> 'offline' AND ${gone}`,
      at.workspace,
      at.node,
      at.provider,
      ...ours,
    ),
    sql(
      `UPDATE action_invocations SET status = 'pending', dispatched_provider = NULL
       WHERE workspace_id = ? AND node_id = ? AND dispatched_provider = ? AND status = 'dispatched' AND ${gone}`,
      at.workspace,
      at.node,
      at.provider,
      ...ours,
    ),
    aggregateOf(at),
  ]);
}

/** Puts an incumbent's row back after a registration that did not become a binding. */
export async function restoreProvider(
  engine: Engine,
  at: Instanced,
  incumbent: { readonly instance: string; readonly before: ProviderBefore | undefined },
): Promise<void> {
  const { before } = incumbent;
  await engine.storage.batch([
    ...(before === undefined ? [] : actionsOf(at, actionsBefore(before))),
    sql(
      `UPDATE node_providers SET instance_id = ?, status = 'online', capabilities = coalesce(?, capabilities),
         handlers_live = coalesce(?, handlers_live), load = ?, active_agents = coalesce(?, active_agents),
         last_heartbeat_at = coalesce(?, last_heartbeat_at)
       WHERE ${here} AND instance_id = ?`,
      incumbent.instance,
      before?.capabilities ?? null,
      before?.handlers ?? null,
      before?.load ?? null,
      before?.active ?? null,
      before?.lastHeartbeatAt ?? null,
      at.workspace,
      at.node,
      at.provider,
      at.instance,
    ),
    aggregateOf(at),
  ]);
}

const actionsBefore = ({ capabilities }: ProviderBefore): readonly AdvertisedCapability[] =>
  (JSON.parse(capabilities) as AdvertisedCapability[]).filter(({ name }) => !isProtocolCapability(name));
