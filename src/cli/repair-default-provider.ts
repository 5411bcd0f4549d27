/**
 * `cotal repair default-provider`: the human-run repair of agents that were stamped `default`. One step a call; the first
 * writes nothing, and nothing is changed without an approval that is typed.
 */
import { randomBytes } from 'node:crypto';
import { appendFileSync, mkdirSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { Plane3Error } from '../domain/errors/catalogue.ts';
import { REPAIR_STEPS, type RepairEnd, type RepairStep } from '../machines/repair-run.facts.ts';
import { commandOf, type EmittedFolder, emitStep, readResults } from '../provider/repair/emitted.ts';
import type { Approver } from '../provider/repair/ports.ts';
import type { RepairReport } from '../provider/repair/reports.ts';
import { runRepair } from '../provider/repair/run.ts';
import { sqliteRepairDatabase } from '../provider/repair/sqlite-database.ts';
import { executeLocal } from '../provider/server/dev.ts';
import { readIfThere, writeAtomic } from '../services/local/files.ts';
import type { ExitCode } from './failure.ts';
import { oneOf, whole } from './flags.ts';
import { type Call, type Define, examples } from './frame.ts';

interface Flags {
  readonly step?: RepairStep;
  readonly db?: string;
  readonly emit?: string;
  readonly results?: string;
  readonly snapshot?: string;
  readonly confirm?: string;
  readonly includeUsed?: boolean;
  readonly audit?: string;
  readonly now?: number;
  readonly database: string;
  readonly local?: boolean;
  readonly persistTo: string;
}

const LAST_SECOND = 2 ** 31 - 1;

export const define: Define = (command, frame) => {
  command
    .option('--step <step>', REPAIR_STEPS.join(', '), oneOf('--step', REPAIR_STEPS))
    .option('--db <file>', 'SQLite file of "cotal hosted serve", or a copy')
    .option('--emit <folder>', 'for D1: write the SQL and its command there, for a person to run')
    .option('--results <file>', 'with --emit: read what that command printed')
    .option('--snapshot <id>', 'the snapshot that step snapshot told')
    .option('--confirm <text>', 'the approval: "apply ID COUNT" or "rollback ID COUNT" (else it is asked for)')
    .option('--include-used', 'roll back agents too whose cursor moved since')
    .option('--audit <file>', 'file that every step appends a line to (default: beside the database, or in the folder)')
    .option('--now <seconds>', 'unix time to judge by, for copies', whole('--now', 0, LAST_SECOND))
    .option('--database <name>', 'with --emit: name of the D1 database', 'plane3-provider')
    .option('--local', 'with --emit: run it now, on the local D1 of "cotal hosted dev"')
    .option('--persist-to <folder>', 'with --local: folder of "cotal hosted dev"', '.wrangler-state')
    .action(
      frame.action(async (call, flags: Flags): Promise<ExitCode> => {
        if ((flags.db === undefined) === (flags.emit === undefined)) throw new Plane3Error('repair.where', {});
        if (flags.emit !== undefined && flags.results !== undefined)
          return told(
            call,
            flags,
            readResults({ folder: folderAt(flags.emit), text: readIfThere(flags.results) ?? '' }),
          );
        const { step, snapshot } = flags;
        if (step === undefined) throw new Plane3Error('repair.step', {});
        if (snapshot === undefined && flags.emit === undefined && ['apply', 'verify', 'rollback'].includes(step))
          throw new Plane3Error('repair.snapshot-id', { step });
        return flags.emit === undefined
          ? direct(call, flags, step, flags.db ?? '')
          : emit(call, flags, step, flags.emit);
      }),
    );
  examples(
    command,
    'cotal repair default-provider --db ./hosted.db --step dry-run',
    'cotal repair default-provider --db ./hosted.db --step snapshot',
    "cotal repair default-provider --db ./hosted.db --step apply --snapshot snap_1 --confirm 'apply snap_1 3'",
    'cotal repair default-provider --emit ./run --step dry-run --database plane3-provider',
    'cotal repair default-provider --emit ./run --results ./run/dry-run.out.json',
  );
};

const common = ({ snapshot, includeUsed, now }: Flags) => ({
  snapshot,
  includeUsed: includeUsed === true,
  now: now ?? Math.floor(Date.now() / 1_000),
  newId: () => randomBytes(6).toString('hex'),
});

async function direct(call: Call, flags: Flags, step: RepairStep, db: string): Promise<ExitCode> {
  const outcome = await runRepair({
    step,
    database: sqliteRepairDatabase(db),
    approver: approverOf(call, flags),
    ...common(flags),
  });
  const { report, wanted, ...end } = outcome;
  return told(call, flags, report, end, wanted);
}

async function emit(call: Call, flags: Flags, step: RepairStep, path: string): Promise<ExitCode> {
  const folder = folderAt(path);
  const { file, wanted, snapshot, ...end } = await emitStep({
    step,
    folder,
    approver: approverOf(call, flags),
    ...common(flags),
  });
  const at = new Date().toISOString();
  if (file === null) return told(call, flags, { step, snapshot, run: '', at }, end, wanted);
  const command = commandOf({ folder: path, step, database: flags.database });
  appendAudit(flags, { step, snapshot, at, written: file, approvedAs: wanted });
  if (flags.local !== true) {
    const sql = join(path, file);
    const results = join(path, `${step}.out.json`);
    call.out.answer(
      { step, snapshot, sql, command, results },
      `✓ ${step} is written to ${sql}; nothing was run\n  run   ${command}\n  then  cotal repair default-provider --emit '${path}' --results '${results}'`,
    );
    return 0;
  }
  const text = await executeLocal({
    persistTo: flags.persistTo,
    sql: folder.read(file) ?? '',
    say: (line) => call.out.remark(`  ${line}`),
  });
  folder.write(`${step}.out.json`, text);
  return told(call, flags, readResults({ folder, text }));
}

function folderAt(path: string): EmittedFolder {
  return {
    path,
    read: (name) => readIfThere(join(path, name)),
    write: (name, text) => writeAtomic(join(path, name), text, 0o600, 0o700),
  };
}

/** By the flag, or typed at a terminal; without either there is none. */
function approverOf(call: Call, { confirm }: Flags): Approver {
  return {
    async ask(wanted) {
      if (confirm !== undefined) return confirm;
      if (process.stdin.isTTY !== true) return undefined;
      call.out.remark(`  Type "${wanted}" to go on; anything else changes nothing.`);
      const lines = createInterface({ input: process.stdin, output: process.stderr });
      try {
        return await lines.question('> ');
      } finally {
        lines.close();
      }
    },
  };
}

function appendAudit(flags: Flags, record: object): void {
  const path = flags.audit ?? (flags.emit === undefined ? `${flags.db}.repair.jsonl` : join(flags.emit, 'audit.jsonl'));
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, `${JSON.stringify(record)}\n`, { mode: 0o600 });
}

const WHY: Readonly<Record<string, string>> = {
  'no-snapshot': 'there is no such snapshot; take one first',
  'not-applied': 'nothing of this snapshot was applied',
  undone: 'this snapshot was rolled back; take a new one',
  'not-approved': 'it was not approved',
};

/** Says what a step came to, and appends it to the audit. */
function told(call: Call, flags: Flags, report: RepairReport, end?: RepairEnd, wanted: string | null = null): ExitCode {
  const { out } = call;
  const isRefused = end?.end === 'refused';
  const isFailed = end?.end === 'failed';
  const isUnverified = (report.poisoned?.length ?? 0) > 0;
  const reason = isRefused
    ? `${WHY[end.refusal ?? ''] ?? end.refusal}${end.refusal === 'not-approved' ? `: type or give exactly "${wanted}"` : ''}`
    : isFailed
      ? end.message
      : null;
  appendAudit(flags, {
    ...report,
    end: end?.end ?? 'read',
    approvedAs: wanted,
    ...(reason === null ? {} : { reason }),
  });
  const record = { ...report, end: end?.end ?? 'read', ...(reason === null ? {} : { reason, refusal: end?.refusal }) };
  out.answer(record, textOf(report, flags, reason));
  return isFailed ? 1 : isRefused || isUnverified ? 2 : 0;
}

function textOf(report: RepairReport, { db }: Flags, reason: string | null): string {
  const { step, snapshot, rows = [], changed, leftAlone = [], poisoned = [], kept } = report;
  if (reason !== null) return `✗ ${step} changed nothing: ${reason}`;
  const what = db === undefined ? '' : ` of ${basename(db)}`;
  const head: Record<RepairStep, string> = {
    'dry-run': `✓ ${rows.length} agents${what} would be changed; nothing was written`,
    snapshot:
      kept === true
        ? `✓ snapshot ${snapshot} is there already and is kept as it is`
        : `✓ snapshot ${snapshot} holds ${changed?.length ?? 0} agents; to apply it: 'apply ${snapshot} ${changed?.length ?? 0}'`,
    apply: `✓ ${changed?.length ?? 0} agents were changed`,
    verify:
      poisoned.length === 0
        ? `✓ ${rows.length} agents hold`
        : `✗ ${poisoned.length} agents are poisoned still, or again`,
    rollback: `✓ ${changed?.length ?? 0} agents were changed back`,
  };
  return [
    head[step],
    ...rows.map(
      (row) =>
        `  ${row.agent_id} on ${row.node_id}: cursor ${row.cursor}, ${row.above} above it (${row.lowest ?? '-'} to ${row.highest ?? '-'}), ${row.expired} expired, ${row.hidden} hidden`,
    ),
    ...(changed ?? []).map((id) => `  ${id}`),
    ...poisoned.map((id) => `  ✗ ${id}`),
    ...leftAlone.map(({ agent_id, why }) => `  ! ${agent_id} was left alone: ${why.replaceAll('_', ' ')}`),
  ].join('\n');
}
