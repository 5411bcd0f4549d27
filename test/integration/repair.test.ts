/** The repair of agents that were stamped default, on a SQLite file. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { RepairStep } from '../../src/machines/repair-run.facts.ts';
import type { RepairDatabase } from '../../src/provider/repair/ports.ts';
import { type RepairOutcome, runRepair } from '../../src/provider/repair/run.ts';
import { sqliteRepairDatabase } from '../../src/provider/repair/sqlite-database.ts';
import { openSqlite, sqliteStorage } from '../../src/provider/storage/sqlite.ts';
import {
  changed,
  dumpOf,
  NOW,
  POISONED,
  plantPoisoned,
  providersOf,
  REPAIRS,
  SECRETS,
} from '../support/provider/poisoned.ts';

let folder: string;
let file: string;
let database: RepairDatabase;
let ids = 0;
const outcomes: RepairOutcome[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'plane3-repair-'));
  file = join(folder, 'hosted.db');
  plantPoisoned(file);
  database = sqliteRepairDatabase(file);
  ids = 0;
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

interface Asked {
  readonly snapshot?: string;
  readonly includeUsed?: boolean;
  /** What is typed; undefined approves whatever is asked for. */
  readonly typed?: string;
  readonly over?: RepairDatabase;
}
async function run(step: RepairStep, { snapshot, includeUsed = false, typed, over = database }: Asked = {}) {
  const outcome = await runRepair({
    step,
    database: over,
    approver: { ask: async (wanted) => typed ?? wanted },
    snapshot,
    includeUsed,
    now: NOW,
    newId: () => `${++ids}`,
  });
  outcomes.push(outcome);
  return outcome;
}
const taken = async (): Promise<string> => (await run('snapshot')).report.snapshot ?? '';
const applied = async (): Promise<string> => {
  const snapshot = await taken();
  await run('apply', { snapshot });
  return snapshot;
};

describe('the repair', () => {
  it('finds exactly the poisoned agents, with what lies above their cursors, and writes nothing (REP-01)', async () => {
    const before = dumpOf(file);
    const { end, rows, report } = await run('dry-run');
    expect({ end, rows }).toEqual({ end: 'surveyed', rows: 3 });
    expect(report.rows?.map((row) => row.agent_id)).toEqual(POISONED);
    expect(report.rows?.[0]).toEqual({
      agent_id: 'agent_a',
      workspace_id: 'ws',
      node_id: 'node',
      cursor: 2,
      above: 3,
      lowest: 3,
      highest: 5,
      expired: 1,
      hidden: 1,
    });
    expect(dumpOf(file)).toBe(before);
  });

  it('changes exactly the provider of exactly what the dry-run named (REP-01)', async () => {
    const before = dumpOf(file, REPAIRS);
    const survey = (await run('dry-run')).report.rows?.map((row) => row.agent_id);
    const snapshot = await taken();
    expect(dumpOf(file, REPAIRS)).toBe(before);
    const { report } = await run('apply', { snapshot });
    expect(report.changed).toEqual(survey);
    expect(report.leftAlone).toEqual([]);
    changed(file, `UPDATE agents SET provider_name = 'default' WHERE id IN ('${POISONED.join("','")}')`);
    expect(dumpOf(file, REPAIRS)).toBe(before);
  });

  it('applied twice changes nothing more, and a third run neither (REP-05)', async () => {
    const snapshot = await applied();
    const after = dumpOf(file, ['repair_audit']);
    for (const _ of [2, 3]) {
      const { end, report } = await run('apply', { snapshot });
      expect(end).toBe('applied');
      expect(report.changed).toEqual([]);
      expect(report.leftAlone?.map(({ why }) => why)).toEqual(['applied_before', 'applied_before', 'applied_before']);
    }
    expect(dumpOf(file, ['repair_audit'])).toBe(after);
  });

  it('keeps the first snapshot, however often one is taken (REP-05)', async () => {
    const first = await taken();
    changed(file, "UPDATE agents SET delivery_ack_seq = 4 WHERE id = 'agent_a'");
    const after = dumpOf(file);
    expect(await taken()).toBe(first);
    const again = await run('snapshot', { snapshot: first });
    expect([again.end, again.report.kept]).toEqual(['kept', true]);
    expect(dumpOf(file)).toBe(after);
  });

  it.each([
    ['released', 'released_at = 9', 'released_since'],
    ['moved to another node', "location_node_id = 'node_legacy'", 'moved_since'],
    ['given to another provider', "provider_name = 'other'", 'provider_changed_since'],
  ])('leaves an agent alone that was %s meanwhile, and names it', async (_, change, why) => {
    const snapshot = await taken();
    changed(file, `UPDATE agents SET ${change} WHERE id = 'agent_b'`);
    const { report } = await run('apply', { snapshot });
    expect(report.changed).toEqual(['agent_a', 'agent_c']);
    expect(report.leftAlone).toEqual([{ agent_id: 'agent_b', why }]);
    const rolled = await run('rollback', { snapshot });
    expect(rolled.report.changed).toEqual(['agent_a', 'agent_c']);
  });

  it('changes nobody when a legitimate default provider came meanwhile', async () => {
    const snapshot = await taken();
    changed(file, `UPDATE node_providers SET status = 'online' WHERE id = 'node/default'`);
    const { report } = await run('apply', { snapshot });
    expect(report.changed).toEqual([]);
    expect(report.leftAlone?.map(({ why }) => why)).toEqual([
      'no_candidate_now',
      'no_candidate_now',
      'no_candidate_now',
    ]);
  });

  it('does not apply again what somebody stamped default after it was applied', async () => {
    const snapshot = await applied();
    changed(file, "UPDATE agents SET provider_name = 'default' WHERE id = 'agent_a'");
    expect((await run('apply', { snapshot })).report.changed).toEqual([]);
    const verified = await run('verify', { snapshot });
    expect([verified.end, verified.report.poisoned]).toEqual(['unverified', ['agent_a']]);
    expect(verified.report.leftAlone).toEqual([{ agent_id: 'agent_a', why: 'provider_changed_since' }]);
  });

  it('verifies by reading alone: every applied agent with what is due to it', async () => {
    const snapshot = await applied();
    const before = dumpOf(file);
    const { end, rows, report } = await run('verify', { snapshot });
    expect({ end, rows }).toEqual({ end: 'verified', rows: 3 });
    expect(report.rows?.map(({ agent_id, above }) => [agent_id, above])).toEqual(POISONED.map((id) => [id, 3]));
    expect(dumpOf(file)).toBe(before);
  });

  it('is rolled back exactly, once', async () => {
    const before = dumpOf(file, REPAIRS);
    const snapshot = await applied();
    expect(dumpOf(file, REPAIRS)).not.toBe(before);
    expect((await run('rollback', { snapshot })).report).toMatchObject({ changed: POISONED, leftAlone: [] });
    expect(dumpOf(file, REPAIRS)).toBe(before);
    expect((await run('rollback', { snapshot })).report.changed).toEqual([]);
    expect(await run('apply', { snapshot })).toMatchObject({ end: 'refused', refusal: 'undone' });
    expect(dumpOf(file, REPAIRS)).toBe(before);
    // A new run begins with a new snapshot.
    expect(await applied()).not.toBe(snapshot);
    expect(providersOf(file).agent_a).toBe('broker');
  });

  it('does not roll back an agent whose cursor moved since, unless it is told to', async () => {
    const snapshot = await applied();
    changed(file, "UPDATE agents SET delivery_ack_seq = 3 WHERE id = 'agent_c'");
    const first = await run('rollback', { snapshot });
    expect(first.report).toMatchObject({
      changed: ['agent_a', 'agent_b'],
      leftAlone: [{ agent_id: 'agent_c', why: 'used_since' }],
    });
    expect((await run('rollback', { snapshot, includeUsed: true })).report.changed).toEqual(['agent_c']);
  });

  it.each(['', 'yes', 'apply snap_1 2', 'rollback snap_1 3', 'APPLY snap_1 3'])(
    'changes nothing when "%s" is typed',
    async (typed) => {
      const snapshot = await taken();
      const before = dumpOf(file);
      const outcome = await run('apply', { snapshot, typed });
      expect(outcome).toMatchObject({ end: 'refused', refusal: 'not-approved', wanted: `apply ${snapshot} 3` });
      expect(dumpOf(file)).toBe(before);
    },
  );

  it.each(['apply', 'verify', 'rollback'] as const)(
    'refuses %s without its snapshot, or before it was applied',
    async (step) => {
      expect(await run(step, { snapshot: 'snap_none' })).toMatchObject({ end: 'refused', refusal: 'no-snapshot' });
      const snapshot = await taken();
      if (step === 'apply') return;
      expect(await run(step, { snapshot })).toMatchObject({ end: 'refused', refusal: 'not-applied' });
    },
  );

  it('writes a row of the audit with every change, in the same transaction', async () => {
    const snapshot = await applied();
    await run('rollback', { snapshot });
    const storage = sqliteStorage(openSqlite(file));
    const rows = await storage.query({
      sql: 'SELECT step, snapshot_id, approved_as, rows_changed FROM repair_audit ORDER BY id',
      params: [],
    });
    expect(rows).toEqual([
      { step: 'apply', snapshot_id: snapshot, approved_as: `apply ${snapshot} 3`, rows_changed: 3 },
      { step: 'rollback', snapshot_id: snapshot, approved_as: `rollback ${snapshot} 3`, rows_changed: 3 },
      { step: 'snapshot', snapshot_id: snapshot, approved_as: null, rows_changed: 3 },
    ]);
  });

  it('interrupted after each statement of each step, it leaves nothing half-done, and a repeat finishes it (REP-04, REP-05)', async () => {
    /** Fails after so many statements of the next change: the whole of it is undone by the database. */
    const interrupted = (after: number): RepairDatabase & { readonly met: () => boolean } => {
      let isMet = false;
      return {
        read: database.read,
        met: () => isMet,
        change(statements) {
          isMet = after < statements.length;
          const broken = [...statements.slice(0, after + 1), { sql: 'SELECT no_such_column', params: [] }];
          return database.change(isMet ? broken : statements);
        },
      };
    };
    let snapshot = '';
    for (const step of ['snapshot', 'apply', 'rollback'] as const) {
      for (let after = 0; ; after += 1) {
        const before = dumpOf(file);
        const over = interrupted(after);
        const outcome = await run(step, { over, ...(snapshot === '' ? {} : { snapshot }) });
        if (!over.met()) {
          snapshot = outcome.report.snapshot ?? '';
          expect(outcome.rows).toBe(3);
          break;
        }
        expect(outcome.end).toBe('failed');
        expect(dumpOf(file)).toBe(before);
      }
    }
    expect(Object.values(providersOf(file)).filter((name) => name === 'broker').length).toBe(1);
  });

  it('a change whose answer was lost is found by the repeat, which changes nothing more', async () => {
    const lost: RepairDatabase = {
      read: database.read,
      async change(statements) {
        await database.change(statements);
        throw new Error('the answer is lost');
      },
    };
    const snapshot = 'snap_named';
    expect(await run('snapshot', { snapshot, over: lost })).toMatchObject({ end: 'failed' });
    expect(await run('snapshot', { snapshot })).toMatchObject({ end: 'kept' });
    expect(await run('apply', { snapshot, over: lost })).toMatchObject({ end: 'failed' });
    expect((await run('apply', { snapshot })).report.changed).toEqual([]);
    expect(await run('verify', { snapshot })).toMatchObject({ end: 'verified', rows: 3 });
  });

  it('never tells a token, a body or a name', () => {
    const all = JSON.stringify(outcomes);
    expect(outcomes.length).toBeGreaterThan(20);
    for (const secret of SECRETS) expect(all).not.toContain(secret);
  });
});
