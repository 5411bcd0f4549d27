/** What a step of the repair tells: ids and numbers, never a token, a body, or a name of anybody. */
import { z } from 'zod';
import type { RepairStep, Standing } from '../../machines/repair-run.facts.ts';

const id = z.string();
const count = z.int().min(0);

export const rowSchema = z.object({
  agent_id: id,
  workspace_id: id,
  node_id: id.nullable(),
  cursor: count,
  above: count,
  lowest: count.nullable(),
  highest: count.nullable(),
  expired: count,
  hidden: count,
});
/** An agent, with what lies above its cursor; `hidden`: active rows at or below it, which no replay will send. */
export type AgentRow = z.infer<typeof rowSchema>;

export const stateSchema = rowSchema.extend({
  provider: z.string(),
  location: z.string(),
  released_at: z.int().nullable(),
  taken_node: id,
  taken_cursor: count,
  applied: z.string().nullable(),
  restored: z.string().nullable(),
});
export type StateRow = z.infer<typeof stateSchema>;

export const standingSchema = z.object({ taken: count, rows: count, applied: count, restored: count });
export const namedSchema = z.object({ agent_id: id });

export const standingOf = ({ taken, applied, restored }: z.infer<typeof standingSchema>): Standing =>
  taken === 0 ? 'fresh' : restored > 0 ? 'undone' : applied > 0 ? 'applied' : 'taken';

export interface LeftAlone {
  readonly agent_id: string;
  /** Why a row was not changed, or not changed back. */
  readonly why:
    | 'released_since'
    | 'moved_since'
    | 'provider_changed_since'
    | 'no_candidate_now'
    | 'used_since'
    | 'restored_before'
    | 'applied_before';
}

export interface RepairReport {
  readonly step: RepairStep;
  readonly snapshot: string | null;
  readonly run: string;
  /** ISO 8601. */
  readonly at: string;
  /** Dry-run: what would be changed. Snapshot: what it holds. Verify: every applied row that holds. */
  readonly rows?: readonly AgentRow[];
  /** Ids of the agents that this run changed, or changed back. */
  readonly changed?: readonly string[];
  readonly leftAlone?: readonly LeftAlone[];
  /** Verify: candidates of the snapshot that are poisoned still, or again. */
  readonly poisoned?: readonly string[];
  /** A repeated snapshot: it is kept as it is. */
  readonly kept?: boolean;
}

/** Why each row of the snapshot that this run did not change was left alone. */
export function leftByApply(rows: readonly StateRow[], run: string): LeftAlone[] {
  return rows.flatMap((row): LeftAlone[] => {
    const { agent_id } = row;
    if (row.applied === run) return [];
    if (row.applied !== null) return [{ agent_id, why: 'applied_before' }];
    return [{ agent_id, why: whyNot(row, 'default') ?? 'no_candidate_now' }];
  });
}

export function leftByRollback(rows: readonly StateRow[], run: string): LeftAlone[] {
  return rows.flatMap((row): LeftAlone[] => {
    const { agent_id } = row;
    if (row.applied === null || row.restored === run) return [];
    if (row.restored !== null) return [{ agent_id, why: 'restored_before' }];
    const why = whyNot(row, 'broker');
    return [{ agent_id, why: why ?? (row.cursor === row.taken_cursor ? 'no_candidate_now' : 'used_since') }];
  });
}

/** Applied rows that somebody changed since. */
export const changedSince = (rows: readonly StateRow[]): LeftAlone[] =>
  rows.flatMap((row): LeftAlone[] => {
    if (row.applied === null) return [];
    if (row.restored !== null) return [{ agent_id: row.agent_id, why: 'restored_before' }];
    const why = whyNot(row, 'broker');
    return why === undefined ? [] : [{ agent_id: row.agent_id, why }];
  });

/** What differs from how the repair found the row, or left it. */
function whyNot(row: StateRow, provider: string): LeftAlone['why'] | undefined {
  if (row.released_at !== null) return 'released_since';
  if (row.location !== 'via_node' || row.node_id !== row.taken_node) return 'moved_since';
  return row.provider === provider ? undefined : 'provider_changed_since';
}

export const asRow = (row: StateRow): AgentRow => rowSchema.parse(row);
