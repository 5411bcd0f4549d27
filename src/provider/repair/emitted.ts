/**
 * The repair of a database that only a person reaches: each step is written as SQL with the command that runs it, and what
 * that printed is read back. The order and the approvals are those of the machine; where the repair stands is what was read
 * back, in the folder's run.json.
 */
import { join } from 'node:path';
import { createActor, toPromise } from 'xstate';
import { z } from 'zod';
import { Plane3Error } from '../../domain/errors/catalogue.ts';
import {
  type ApplyFact,
  type ApprovalFact,
  type CountFact,
  type FindFact,
  REPAIR_STEPS,
  type RepairEnd,
  type RepairStep,
  type RollbackFact,
  type SnapshotFact,
  type SurveyFact,
  type VerifyFact,
} from '../../machines/repair-run.facts.ts';
import { type RepairInput, repairRunMachine } from '../../machines/repair-run.machine.ts';
import { ask } from '../../services/bind-effects.ts';
import type { Row, Statement } from '../storage/port.ts';
import type { Approver } from './ports.ts';
import {
  asRow,
  changedSince,
  leftByApply,
  leftByRollback,
  namedSchema,
  type RepairReport,
  rowSchema,
  stateSchema,
} from './reports.ts';
import { approvalOf } from './run.ts';
import * as statements from './statements.ts';

const recordSchema = z.object({
  version: z.literal(1),
  snapshot: z.string().nullable(),
  standing: z.enum(['fresh', 'taken', 'applied', 'undone']),
  /** Rows of the snapshot, and of those the applied ones. */
  rows: z.int().min(0),
  applied: z.int().min(0),
  /** The step that was written last, whose results may be read. */
  written: z
    .object({ step: z.enum(REPAIR_STEPS), run: z.string(), now: z.int(), approvedAs: z.string().nullable() })
    .nullable(),
});
export type EmittedRecord = z.infer<typeof recordSchema>;

/** The folder of a run. */
export interface EmittedFolder {
  readonly path: string;
  read(name: string): string | undefined;
  write(name: string, text: string): void;
}

const RECORD = 'run.json';
const fresh: EmittedRecord = { version: 1, snapshot: null, standing: 'fresh', rows: 0, applied: 0, written: null };

/** @throws Plane3Error `repair.folder` for a record that is none. */
function recordOf(folder: EmittedFolder): EmittedRecord {
  const text = folder.read(RECORD);
  if (text === undefined) return fresh;
  const read = recordSchema.safeParse(jsonOf(text));
  if (!read.success) throw new Plane3Error('repair.folder', { folder: folder.path, file: RECORD });
  return read.data;
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

export interface EmitRun {
  readonly step: RepairStep;
  readonly folder: EmittedFolder;
  readonly approver: Approver;
  readonly snapshot: string | undefined;
  readonly includeUsed: boolean;
  readonly now: number;
  newId(): string;
}

export interface Emitted extends RepairEnd {
  readonly step: RepairStep;
  readonly snapshot: string | null;
  readonly wanted: string | null;
  /** Name of the SQL file; null where nothing was written. */
  readonly file: string | null;
}

/** Writes the SQL of a step, after the approval that it needs. Nothing is run. */
export async function emitStep(of: EmitRun): Promise<Emitted> {
  const { step, folder, approver, includeUsed, now } = of;
  const record = recordOf(folder);
  const run = `run_${of.newId()}`;
  let snapshot = of.snapshot ?? record.snapshot;
  const isKnown = record.snapshot !== null && snapshot === record.snapshot;
  let wanted: string | null = null;
  let file: string | null = null;
  const write = (parts: readonly Statement[]): void => {
    file = `${step}.sql`;
    folder.write(file, `${parts.map(statements.written).join('\n')}\n`);
    const taken = step === 'dry-run' ? record.snapshot : snapshot;
    const kept = isKnown || step === 'dry-run' ? record : fresh;
    const written = { step, run, now, approvedAs: wanted };
    folder.write(RECORD, `${JSON.stringify({ ...kept, snapshot: taken, written }, undefined, 2)}\n`);
  };
  const named = (): string => snapshot ?? '';
  const thisRun = () => ({ snapshot: named(), run, now, approvedAs: wanted ?? '' });
  const state = () => statements.state(named(), now);
  const machine = repairRunMachine.provide({
    actors: {
      findRun: ask<FindFact, undefined>(async () => {
        if (step === 'snapshot') snapshot ??= `snap_${of.newId()}`;
        return { type: 'run.found', standing: isKnown ? record.standing : 'fresh' };
      }),
      survey: ask<SurveyFact, undefined>(async () => {
        write([statements.survey(now)]);
        return { type: 'rows.surveyed', rows: 0 };
      }),
      takeSnapshot: ask<SnapshotFact, undefined>(async () => {
        write(statements.takeSnapshot(thisRun()));
        return { type: 'snapshot.taken', rows: 0 };
      }),
      countRows: ask<CountFact, RepairInput>(async () => ({
        type: 'rows.counted',
        rows: step === 'apply' ? record.rows : record.applied,
      })),
      awaitApproval: ask<ApprovalFact, RepairInput & { rows: number }>(async ({ rows }) => {
        wanted = approvalOf(step, named(), rows);
        return { type: (await approver.ask(wanted)) === wanted ? 'approval.given' : 'approval.withheld' };
      }),
      apply: ask<ApplyFact, undefined>(async () => {
        write([...statements.apply(thisRun()), state()]);
        return { type: 'rows.changed', rows: 0 };
      }),
      verify: ask<VerifyFact, undefined>(async () => {
        write([statements.poisonedStill(named(), now), state()]);
        return { type: 'rows.verified', rows: 0 };
      }),
      rollBack: ask<RollbackFact, undefined>(async () => {
        write([...statements.rollBack(thisRun(), includeUsed), state()]);
        return { type: 'rows.restored', rows: 0 };
      }),
    },
  });
  const actor = createActor(machine, { input: { step } });
  const ended = toPromise(actor);
  actor.start();
  return { ...(await ended), step, snapshot, wanted, file };
}

/** The command that a person runs; what it prints is given to `--results`. */
export const commandOf = ({ folder, step, database }: { folder: string; step: RepairStep; database: string }): string =>
  `npx wrangler d1 execute ${database} --remote --json --command "$(cat '${join(folder, `${step}.sql`)}')" > '${join(folder, `${step}.out.json`)}'`;

const outputSchema = z.array(
  z.looseObject({
    results: z.array(z.record(z.string(), z.union([z.string(), z.number(), z.null()]))),
    success: z.literal(true),
  }),
);
const snapshotRow = rowSchema.pick({ agent_id: true });

/**
 * Reads what the command of the last written step printed, and writes down where the repair stands now.
 * @throws Plane3Error `repair.results` for what is no output of that step.
 */
export function readResults(of: { folder: EmittedFolder; text: string }): RepairReport {
  const { folder, text } = of;
  const record = recordOf(folder);
  const { written } = record;
  const fault = (reason: string): never => {
    throw new Plane3Error('repair.results', { folder: folder.path, reason });
  };
  if (written === null) return fault('no step was written whose results could be read');
  const output = outputSchema.safeParse(jsonOf(text));
  if (!output.success) return fault('it is not what wrangler prints with --json, or a statement failed');
  const results: readonly (readonly Row[])[] = output.data.map(({ results }) => results);
  const { step, run, now } = written;
  const expected = { 'dry-run': 1, snapshot: 5, apply: 4, verify: 2, rollback: 4 }[step];
  if (results.length !== expected)
    return fault(`step ${step} has ${expected} results, and there are ${results.length}`);
  const read = <T>(schema: z.ZodType<T>, rows: readonly Row[] | undefined): T[] => {
    const parsed = z.array(schema).safeParse(rows ?? []);
    return parsed.success ? parsed.data : fault(`the rows are not those of step ${step}`);
  };
  const ids = (rows: readonly Row[] | undefined) => read(namedSchema, rows).map(({ agent_id }) => agent_id);
  const keep = (change: Partial<EmittedRecord>): void =>
    folder.write(RECORD, `${JSON.stringify({ ...record, ...change, written: null }, undefined, 2)}\n`);
  const about = { step, snapshot: record.snapshot, run, at: new Date(now * 1_000).toISOString() };
  switch (step) {
    case 'dry-run': {
      const rows = read(rowSchema, results[0]);
      keep({});
      return { ...about, rows };
    }
    case 'snapshot': {
      const taken = read(snapshotRow, results.at(-1)).map(({ agent_id }) => agent_id);
      keep({ standing: 'taken', rows: taken.length });
      return { ...about, changed: taken };
    }
    case 'apply': {
      const changed = ids(results[1]);
      const state = read(stateSchema, results[3]);
      keep({ standing: 'applied', applied: state.filter(({ applied }) => applied !== null).length });
      return { ...about, changed, leftAlone: leftByApply(state, run) };
    }
    case 'verify': {
      const state = read(stateSchema, results[1]);
      const leftAlone = changedSince(state);
      const rows = state
        .filter((row) => row.applied !== null && !leftAlone.some((each) => each.agent_id === row.agent_id))
        .map(asRow);
      keep({});
      return { ...about, rows, leftAlone, poisoned: ids(results[0]) };
    }
    case 'rollback': {
      const changed = ids(results[1]);
      const state = read(stateSchema, results[3]);
      keep({ standing: state.some(({ restored }) => restored !== null) ? 'undone' : record.standing });
      return { ...about, changed, leftAlone: leftByRollback(state, run) };
    }
  }
}
