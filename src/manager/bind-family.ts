/** Clearing a frozen family: its ledger rows, the revocations, and the eviction with its cursor. */
import { endpointLedgerKey, type LedgerRow, ledgerKey, ledgerSchema } from '../domain/auth-rows.ts';
import {
  AGENT_FAMILY,
  cursorKey,
  cursorSchema,
  holderSet,
  type RepairCursor,
  remainingOf,
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

export type FamilyRows = { type: 'rows'; rows: Map<string, LedgerRow> } | Exclude<ListFact, { type: 'family.listed' }>;

/** Every ledger row of a family, by credential. */
export async function familyRows(
  { rows }: Pick<ManagerPorts, 'rows'>,
  family: Family,
  signal?: AbortSignal,
): Promise<FamilyRows> {
  const within = signal === undefined ? {} : { signal };
  const listed = await rows.keys({ filter: rowKeyOf(family, '*'), ...within });
  if (listed.type !== 'listed') return listed;
  const found = new Map<string, LedgerRow>();
  let unreadable: string | undefined;
  const trouble = await eachOf(listed.keys, READ_AT_ONCE, async (key) => {
    const read = await rows.read({ key, schema: ledgerSchema, ...within });
    if (read.type === 'found') found.set(key.slice(key.lastIndexOf('.') + 1), read.row);
    else if (read.type === 'unreadable') unreadable ??= key;
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

export function bindEviction(ports: Pick<ManagerPorts, 'rows' | 'line' | 'numbers'>) {
  const { rows, numbers } = ports;
  let known: { revision: number; cursor: RepairCursor } | undefined;
  const fits = (cursor: RepairCursor, { opId, freezeToken }: Freeze) =>
    cursor.opId === opId && cursor.freezeToken === freezeToken;
  return evictionMachine.provide({
    actors: {
      railWait: bindRailWait(ports),
      openCursor: ask<CursorFact, Freeze & { holders: readonly string[] }>(async (freeze, signal) => {
        const key = cursorKey(freeze.endpoint, freeze.instance);
        const holders = holderSet(freeze.holders);
        const read = await rows.read({ key, schema: cursorSchema, signal });
        if (read.type === 'unreadable') return { type: 'cursor.unreadable' };
        if (read.type === 'store.unanswered' || read.type === 'store.refused') return read;
        if (read.type === 'found' && !fits(read.row, freeze)) return { type: 'cursor.foreign', opId: read.row.opId };
        const before = read.type === 'found' ? read.row : undefined;
        const isSame = before?.holders.join() === holders.join();
        const cursor: RepairCursor = {
          v: 1,
          opId: freeze.opId,
          freezeToken: freeze.freezeToken,
          holders,
          verified: (before?.verified ?? []).filter((name) => holders.includes(name)),
        };
        let { revision } = read;
        if (!isSame) {
          const written = await rows.write({ key, value: cursor, expect: revision, signal });
          if (written.type === 'conflict') return { type: 'store.unanswered' };
          if (written.type !== 'written') return written;
          revision = written.revision;
        }
        known = { revision, cursor };
        return { type: 'cursor.opened', revision, remaining: remainingOf(cursor), verified: cursor.verified.length };
      }),
      recordVerified: ask<RecordFact, Freeze & { revision: number; verified: readonly string[] }>(
        async ({ revision, verified, ...freeze }, signal) => {
          if (known === undefined || known.revision !== revision) return { type: 'store.unanswered' };
          const cursor = { ...known.cursor, verified: holderSet([...known.cursor.verified, ...verified]) };
          const key = cursorKey(freeze.endpoint, freeze.instance);
          const written = await rows.write({ key, value: cursor, expect: revision, signal });
          if (written.type === 'conflict') return { type: 'cursor.conflicted' };
          if (written.type !== 'written') return written;
          known = { revision: written.revision, cursor };
          return { type: 'cursor.recorded', revision: written.revision };
        },
      ),
    },
    delays: { askAgain: numbers.askAgainMs },
  });
}

export function bindFamily(ports: ManagerPorts) {
  return familyMachine.provide({
    actors: {
      eviction: bindEviction(ports),
      listFamily: ask<ListFact, Freeze>(async (freeze, signal) => {
        const found = await familyRows(ports, freeze, signal);
        if (found.type !== 'rows') return found;
        return {
          type: 'family.listed',
          holders: holderSet([...found.rows.values()].map(({ holderPrincipal }) => holderPrincipal)),
          credentials: [...found.rows].filter(([, { state }]) => state !== 'revoked').map(([id]) => id),
        };
      }),
      revokeFamily: ask<RevokeFact, Freeze & { credentials: readonly string[] }>(
        async ({ credentials, ...freeze }, signal) => {
          if (credentials.length === 0) return { type: 'family.revoked' };
          const pushed = await ports.revoke({ users: credentials, signal });
          if (pushed.type !== 'revoked') return pushed;
          return (await markRevoked(ports, freeze, credentials, signal)) ?? { type: 'family.revoked' };
        },
      ),
    },
    delays: { askAgain: ports.numbers.askAgainMs },
  });
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
