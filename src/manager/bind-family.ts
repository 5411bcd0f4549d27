/** Clearing a frozen family: its ledger rows, the revocations, and the eviction with its cursor. */
import { createHash } from 'node:crypto';
import { endpointLedgerKey, type LedgerRow, ledgerKey, ledgerSchema } from '../domain/auth-rows.ts';
import {
  AGENT_FAMILY,
  clearedKey,
  clearedSchema,
  cursorKey,
  cursorSchema,
  holderSet,
  type Link,
  remainingOf,
  type Standing,
  standingAt,
  withVerified,
} from '../domain/eviction.ts';
import { type CursorFact, evictionMachine, type Freeze, type RecordFact } from '../machines/eviction.machine.ts';
import { familyMachine, type ListFact, type RevokeFact } from '../machines/family.machine.ts';
import { ask } from '../services/bind-effects.ts';
import { eachOf } from './auth-rows.ts';
import { bindRailWait } from './bind-rail.ts';
import type { ManagerPorts } from './ports.ts';

/** Rows that are read at a time. */
const READ_AT_ONCE = 64;

export type Family = Pick<Freeze, 'endpoint' | 'instance'>;

/** Key of the ledger row of one credential of a family. */
export const rowKeyOf = ({ endpoint, instance }: Family, credentialId: string): string =>
  endpoint === AGENT_FAMILY ? ledgerKey(instance, credentialId) : endpointLedgerKey(endpoint, instance, credentialId);

/** A row with its revision in the store. */
export type KeptRow = LedgerRow & { readonly revision: number };
export type FamilyRows = { type: 'rows'; rows: Map<string, KeptRow> } | Exclude<ListFact, { type: 'family.listed' }>;

/** Every ledger row of a family, by credential. */
export async function familyRows(
  { rows }: Pick<ManagerPorts, 'rows'>,
  family: Family,
  signal?: AbortSignal,
): Promise<FamilyRows> {
  const within = signal === undefined ? {} : { signal };
  const listed = await rows.keys({ filter: rowKeyOf(family, '*'), ...within });
  if (listed.type !== 'listed') return listed;
  const found = new Map<string, KeptRow>();
  let unreadable: string | undefined;
  const trouble = await eachOf(listed.keys, READ_AT_ONCE, async (key) => {
    const read = await rows.read({ key, schema: ledgerSchema, ...within });
    if (read.type === 'found') {
      found.set(key.slice(key.lastIndexOf('.') + 1), { ...read.row, revision: read.revision });
    } else if (read.type === 'unreadable') unreadable ??= key;
    else if (read.type !== 'absent') return read;
    return undefined;
  });
  if (trouble !== undefined) return trouble;
  return unreadable === undefined ? { type: 'rows', rows: found } : { type: 'row.unreadable', key: unreadable };
}

/** Marks rows of a family as revoked; a row that is gone or marked already is left as it is. */
export function markRevoked(
  { rows, numbers }: Pick<ManagerPorts, 'rows' | 'numbers'>,
  family: Family,
  credentials: readonly string[],
  signal?: AbortSignal,
) {
  const within = signal === undefined ? {} : { signal };
  return eachOf(credentials, numbers.revokeAtOnce, async (credentialId) => {
    const key = rowKeyOf(family, credentialId);
    const read = await rows.read({ key, schema: ledgerSchema, ...within });
    if (read.type === 'absent' || (read.type === 'found' && read.row.state === 'revoked')) return undefined;
    if (read.type === 'unreadable') return { type: 'store.refused', reason: `${key} cannot be read` };
    if (read.type !== 'found') return read;
    const written = await rows.write({
      key,
      value: { ...read.row, state: 'revoked' },
      expect: read.revision,
      ...within,
    });
    if (written.type === 'written') return undefined;
    return written.type === 'conflict' ? { type: 'store.unanswered' } : written;
  });
}

const link: Link = (digest, name) => createHash('sha256').update(`${digest}\n${name}`).digest('base64url');

export function bindEviction(ports: Pick<ManagerPorts, 'rows' | 'line' | 'numbers'>) {
  const { rows, numbers } = ports;
  let known: { revision: number; standing: Standing } | undefined;
  return evictionMachine.provide({
    actors: {
      railWait: bindRailWait(ports),
      openCursor: ask<CursorFact, Freeze & { holders: readonly string[] }>(async (freeze, signal) => {
        const { opId, freezeToken } = freeze;
        const key = cursorKey(freeze.endpoint, freeze.instance);
        const read = await rows.read({ key, schema: cursorSchema, signal });
        if (read.type === 'unreadable') return { type: 'cursor.unreadable' };
        if (read.type === 'store.unanswered' || read.type === 'store.refused') return read;
        const cursor = read.type === 'found' ? read.row : undefined;
        if (cursor !== undefined && (cursor.opId !== opId || cursor.freezeToken !== freezeToken)) {
          return { type: 'cursor.foreign', opId: cursor.opId };
        }
        const standing = standingAt({ opId, freezeToken, holders: holderSet(freeze.holders), cursor }, link);
        let { revision } = read;
        if (standing.cursor !== cursor) {
          const written = await rows.write({ key, value: standing.cursor, expect: revision, signal });
          if (written.type === 'conflict') return { type: 'store.unanswered' };
          if (written.type !== 'written') return written;
          revision = written.revision;
        }
        known = { revision, standing };
        const remaining = remainingOf(standing);
        return { type: 'cursor.opened', revision, remaining, verified: standing.holders.length - remaining.length };
      }),
      recordVerified: ask<RecordFact, Freeze & { revision: number; verified: readonly string[] }>(
        async ({ revision, verified, ...freeze }, signal) => {
          if (known === undefined || known.revision !== revision) return { type: 'store.unanswered' };
          const standing = withVerified(known.standing, verified, link);
          const key = cursorKey(freeze.endpoint, freeze.instance);
          const written = await rows.write({ key, value: standing.cursor, expect: revision, signal });
          if (written.type === 'conflict') return { type: 'cursor.conflicted' };
          if (written.type !== 'written') return written;
          known = { revision: written.revision, standing };
          return { type: 'cursor.recorded', revision: written.revision };
        },
      ),
    },
    delays: { askAgain: numbers.askAgainMs },
  });
}

export function bindFamily(ports: ManagerPorts) {
  /** When the credentials that were listed end by themselves. */
  let ends: ReadonlyMap<string, number> = new Map();
  return familyMachine.provide({
    actors: {
      eviction: bindEviction(ports),
      listFamily: ask<ListFact, Freeze>(async (freeze, signal) => {
        const found = await familyRows(ports, freeze, signal);
        if (found.type !== 'rows') return found;
        const cleared = await clearedUpTo(ports, freeze, signal);
        if (typeof cleared !== 'number') return cleared;
        ends = new Map([...found.rows].flatMap(([id, { exp }]) => (exp === null ? [] : [[id, exp] as const])));
        const isOpen = ({ state, revision }: KeptRow) => state !== 'revoked' || revision > cleared;
        return {
          type: 'family.listed',
          holders: holderSet([...found.rows.values()].filter(isOpen).map(({ holderPrincipal }) => holderPrincipal)),
          credentials: [...found.rows].filter(([, { state }]) => state !== 'revoked').map(([id]) => id),
        };
      }),
      revokeFamily: ask<RevokeFact, Freeze & { credentials: readonly string[] }>(
        async ({ credentials, ...freeze }, signal) => {
          if (credentials.length === 0) return { type: 'family.revoked' };
          const pushed = await ports.revoke({ users: credentials, ends, signal });
          if (pushed.type !== 'revoked') return pushed;
          return (await markRevoked(ports, freeze, credentials, signal)) ?? { type: 'family.revoked' };
        },
      ),
    },
    delays: { askAgain: ports.numbers.askAgainMs },
  });
}

/** Up to which revision the revoked rows of an endpoint's instance are of holders that a repair has verified; 0: nothing is known. */
async function clearedUpTo({ rows }: Pick<ManagerPorts, 'rows'>, { endpoint, instance }: Family, signal: AbortSignal) {
  if (endpoint === AGENT_FAMILY) return 0;
  const read = await rows.read({ key: clearedKey(endpoint, instance), schema: clearedSchema, signal });
  if (read.type === 'store.unanswered' || read.type === 'store.refused') return read;
  return read.type === 'found' ? read.row.upTo : 0;
}

/** Keeps that a family was cleared, for the registration that follows. Call it while the gate is still frozen by what cleared it. */
export async function keepCleared(ports: Pick<ManagerPorts, 'rows'>, family: Family, signal: AbortSignal) {
  const found = await familyRows(ports, family, signal);
  if (found.type === 'row.unreadable') return { type: 'store.refused', reason: `${found.key} cannot be read` } as const;
  if (found.type !== 'rows') return found;
  const rows = [...found.rows.values()];
  if (rows.length === 0 || rows.some(({ state }) => state !== 'revoked')) return undefined;
  const key = clearedKey(family.endpoint, family.instance);
  const read = await ports.rows.read({ key, schema: clearedSchema, signal });
  if (read.type === 'store.unanswered' || read.type === 'store.refused') return read;
  const value = { v: 1, upTo: Math.max(...rows.map(({ revision }) => revision)) };
  const written = await ports.rows.write({ key, value, expect: read.revision, signal });
  if (written.type === 'written') return undefined;
  return written.type === 'conflict' ? ({ type: 'store.unanswered' } as const) : written;
}

/** Takes the cursor of an operation that has ended away; that of another one is left. */
export async function forgetCursor(
  { rows }: Pick<ManagerPorts, 'rows'>,
  of: Family & { opId: string },
  signal?: AbortSignal,
): Promise<{ type: 'cursor.forgotten' } | { type: 'store.unanswered' } | { type: 'store.refused'; reason: string }> {
  const key = cursorKey(of.endpoint, of.instance);
  const within = signal === undefined ? {} : { signal };
  const read = await rows.read({ key, schema: cursorSchema, ...within });
  if (read.type === 'store.unanswered' || read.type === 'store.refused') return read;
  if (read.type !== 'found' || read.row.opId !== of.opId) return { type: 'cursor.forgotten' };
  const removed = await rows.remove({ key, expect: read.revision, ...within });
  return removed.type === 'removed' || removed.type === 'conflict' ? { type: 'cursor.forgotten' } : removed;
}
