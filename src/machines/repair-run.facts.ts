/** What a repair run hears: the facts that its effects answer with. */
import type { EffectFailed } from './effects.ts';

export const REPAIR_STEPS = ['dry-run', 'snapshot', 'apply', 'verify', 'rollback'] as const;
export type RepairStep = (typeof REPAIR_STEPS)[number];

/**
 * Where the repair stands, as the database says: `fresh` without the snapshot that is asked about, `taken` with it, `applied`
 * when rows of it were changed, `undone` when some of those were changed back.
 */
export type Standing = 'fresh' | 'taken' | 'applied' | 'undone';

export type FindFact = { type: 'run.found'; standing: Standing };
/** `rows`: how many the step is about: what an approval has to name. */
export type CountFact = { type: 'rows.counted'; rows: number };
export type ApprovalFact = { type: 'approval.given' } | { type: 'approval.withheld' };
export type SurveyFact = { type: 'rows.surveyed'; rows: number };
export type SnapshotFact = { type: 'snapshot.taken'; rows: number };
export type ApplyFact = { type: 'rows.changed'; rows: number };
export type VerifyFact = { type: 'rows.verified'; rows: number } | { type: 'rows.unverified'; rows: number };
export type RollbackFact = { type: 'rows.restored'; rows: number };

export type RepairEvent =
  | FindFact
  | CountFact
  | ApprovalFact
  | SurveyFact
  | SnapshotFact
  | ApplyFact
  | VerifyFact
  | RollbackFact
  | EffectFailed;

export type RepairRefusal = 'no-snapshot' | 'not-applied' | 'undone' | 'not-approved';

/** How a run ended. `rows`: surveyed, taken, changed, not verified, or restored. */
export interface RepairEnd {
  readonly end:
    | 'surveyed'
    | 'taken'
    | 'kept'
    | 'applied'
    | 'verified'
    | 'unverified'
    | 'restored'
    | 'refused'
    | 'failed';
  readonly rows: number;
  readonly refusal: RepairRefusal | null;
  readonly message: string;
}
