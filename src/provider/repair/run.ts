/** One step of the repair over a database: the machine with its effects, and what it tells. */
import { createActor, toPromise } from 'xstate';
import { z } from 'zod';
import type {
  ApplyFact,
  ApprovalFact,
  CountFact,
  FindFact,
  RepairEnd,
  RepairStep,
  RollbackFact,
  SnapshotFact,
  SurveyFact,
  VerifyFact,
} from '../../machines/repair-run.facts.ts';
import { type RepairInput, repairRunMachine } from '../../machines/repair-run.machine.ts';
import { ask } from '../../services/bind-effects.ts';
import type { Row } from '../storage/port.ts';
import type { Approver, RepairDatabase } from './ports.ts';
import {
  type AgentRow,
  asRow,
  changedSince,
  leftByApply,
  leftByRollback,
  namedSchema,
  type RepairReport,
  rowSchema,
  type StateRow,
  standingOf,
  standingSchema,
  stateSchema,
} from './reports.ts';
import * as statements from './statements.ts';

export interface RepairRun {
  readonly step: RepairStep;
  readonly database: RepairDatabase;
  readonly approver: Approver;
  /** Undefined: a snapshot goes on with an open one, or takes a new one. */
  readonly snapshot: string | undefined;
  readonly includeUsed: boolean;
  /** Unix seconds. */
  readonly now: number;
  newId(): string;
}

export interface RepairOutcome extends RepairEnd {
  readonly report: RepairReport;
  /** What a person has to type, where that was asked for. */
  readonly wanted: string | null;
}

export const approvalOf = (step: RepairStep, snapshot: string, rows: number): string => `${step} ${snapshot} ${rows}`;

const read = <T>(schema: z.ZodType<T>, rows: readonly Row[] | undefined): T[] => z.array(schema).parse(rows ?? []);
const snapshotRow = rowSchema.pick({ agent_id: true, workspace_id: true, node_id: true, cursor: true });

/** Does the step. Never rejects: what fails is how it ended. */
export async function runRepair(of: RepairRun): Promise<RepairOutcome> {
  const { step, database, approver, includeUsed, now } = of;
  const run = `run_${of.newId()}`;
  const at = new Date(now * 1_000).toISOString();
  let snapshot = of.snapshot ?? null;
  let wanted: string | null = null;
  let told: Partial<RepairReport> = {};

  const named = (): string => snapshot ?? '';
  const thisRun = () => ({ snapshot: named(), run, now, approvedAs: wanted ?? '' });
  const hasTables = async (): Promise<boolean> => {
    const [tables] = await database.read([statements.findTables()]);
    return tables?.length === 2;
  };
  const stateNow = async (): Promise<StateRow[]> => {
    const [rows] = await database.read([statements.state(named(), now)]);
    return read(stateSchema, rows);
  };
  const idsIn = (rows: readonly Row[] | undefined): string[] => read(namedSchema, rows).map(({ agent_id }) => agent_id);

  const machine = repairRunMachine.provide({
    actors: {
      findRun: ask<FindFact, undefined>(async () => {
        if (step === 'dry-run' || !(await hasTables())) {
          if (step === 'snapshot') snapshot ??= `snap_${of.newId()}`;
          return { type: 'run.found', standing: 'fresh' };
        }
        if (snapshot === null) {
          const [open] = await database.read([statements.openSnapshot()]);
          snapshot = z.array(z.object({ snapshot: z.string() })).parse(open ?? [])[0]?.snapshot ?? null;
          if (step === 'snapshot') snapshot ??= `snap_${of.newId()}`;
        }
        const [rows] = await database.read([statements.standing(named())]);
        const [stands] = read(standingSchema, rows);
        const standing = stands === undefined ? 'fresh' : standingOf(stands);
        if (step === 'snapshot' && standing !== 'fresh') told = { kept: true };
        return { type: 'run.found', standing };
      }),
      survey: ask<SurveyFact, undefined>(async () => {
        const [rows] = await database.read([statements.survey(now)]);
        const candidates = read(rowSchema, rows);
        told = { rows: candidates };
        return { type: 'rows.surveyed', rows: candidates.length };
      }),
      takeSnapshot: ask<SnapshotFact, undefined>(async () => {
        const results = await database.change(statements.takeSnapshot(thisRun()));
        const taken = read(snapshotRow, results.at(-1));
        told = { changed: taken.map(({ agent_id }) => agent_id) };
        return { type: 'snapshot.taken', rows: taken.length };
      }),
      countRows: ask<CountFact, RepairInput>(async () => {
        const question =
          step === 'apply' ? statements.snapshotRows(named()) : statements.restorable(named(), includeUsed);
        const [rows] = await database.read([question]);
        return { type: 'rows.counted', rows: rows?.length ?? 0 };
      }),
      awaitApproval: ask<ApprovalFact, RepairInput & { rows: number }>(async ({ rows }) => {
        wanted = approvalOf(step, named(), rows);
        const given = await approver.ask(wanted);
        return { type: given === wanted ? 'approval.given' : 'approval.withheld' };
      }),
      apply: ask<ApplyFact, undefined>(async () => {
        const [, changed] = await database.change(statements.apply(thisRun()));
        const rows = idsIn(changed);
        told = { changed: rows, leftAlone: leftByApply(await stateNow(), run) };
        return { type: 'rows.changed', rows: rows.length };
      }),
      verify: ask<VerifyFact, undefined>(async () => {
        const [poisoned] = await database.read([statements.poisonedStill(named(), now)]);
        const state = await stateNow();
        const leftAlone = changedSince(state);
        const held = state.filter(
          (row) => row.applied !== null && !leftAlone.some((each) => each.agent_id === row.agent_id),
        );
        const rows: AgentRow[] = held.map(asRow);
        told = { rows, leftAlone, poisoned: idsIn(poisoned) };
        const bad = told.poisoned?.length ?? 0;
        return bad === 0 ? { type: 'rows.verified', rows: rows.length } : { type: 'rows.unverified', rows: bad };
      }),
      rollBack: ask<RollbackFact, undefined>(async () => {
        const [, changed] = await database.change(statements.rollBack(thisRun(), includeUsed));
        const rows = idsIn(changed);
        told = { changed: rows, leftAlone: leftByRollback(await stateNow(), run) };
        return { type: 'rows.restored', rows: rows.length };
      }),
    },
  });
  const actor = createActor(machine, { input: { step } });
  const ended = toPromise(actor);
  actor.start();
  const end = await ended;
  return { ...end, wanted, report: { step, snapshot, run, at, ...told } };
}
