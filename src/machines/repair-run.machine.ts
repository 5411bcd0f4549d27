/**
 * repairRun: one step of the repair of rows that were stamped `default`, run by a person.
 *
 *   X1 rows are changed only after an approval that names the step, the snapshot and how many rows
 *   X2 a dry-run, a verification and a refusal change nothing
 *   X3 nothing is applied without a snapshot, and nothing is rolled back or verified that was not applied
 *   X4 a snapshot that is there is kept as it is; nothing is taken over it
 *   X5 each effect is asked for once; whatever fails ends the run, which may be run again
 *
 * Every run begins by asking the database where the repair stands. Nothing is remembered between two runs.
 */
import { assign, raise, setup } from 'xstate';
import { answerOf, asked, deafToLateFailures, ends, surpriseOf } from './effects.ts';
import type {
  ApplyFact,
  ApprovalFact,
  CountFact,
  FindFact,
  RepairEnd,
  RepairEvent,
  RepairRefusal,
  RepairStep,
  RollbackFact,
  SnapshotFact,
  Standing,
  SurveyFact,
  VerifyFact,
} from './repair-run.facts.ts';

export interface RepairInput {
  readonly step: RepairStep;
}

export interface RepairContext extends RepairInput, RepairEnd {}

const repair = setup({
  types: {
    context: {} as RepairContext,
    events: {} as RepairEvent,
    input: {} as RepairInput,
    output: {} as RepairEnd,
  },
  actors: {
    findRun: asked<FindFact, undefined>('findRun'),
    countRows: asked<CountFact, RepairInput>('countRows'),
    awaitApproval: asked<ApprovalFact, RepairInput & { rows: number }>('awaitApproval'),
    survey: asked<SurveyFact, undefined>('survey'),
    takeSnapshot: asked<SnapshotFact, undefined>('takeSnapshot'),
    apply: asked<ApplyFact, undefined>('apply'),
    verify: asked<VerifyFact, undefined>('verify'),
    rollBack: asked<RollbackFact, undefined>('rollBack'),
  },
  actions: {
    told: raise(answerOf<RepairEvent>()),
    faulted: raise(surpriseOf),
    keepRows: assign((_, { rows }: { rows: number }) => ({ rows })),
    keepEnd: assign((_, { end, rows = 0 }: { end: RepairEnd['end']; rows?: number }) => ({ end, rows })),
    keepRefusal: assign((_, { refusal }: { refusal: RepairRefusal }) => ({
      end: 'refused' as const,
      rows: 0,
      refusal,
    })),
    keepFailure: assign((_, { effect, message }: { effect: string; message: string }) => ({
      end: 'failed' as const,
      rows: 0,
      message: `${effect}: ${message}`,
    })),
  },
  guards: {
    isAsked: ({ context }, { step }: { step: RepairStep }) => context.step === step,
    isAskedOn: ({ context }, of: { step: RepairStep; standing: Standing; on: Standing[] }) =>
      context.step === of.step && of.on.includes(of.standing),
  },
});

/** What the step goes to where the repair stands so. */
const from = <const To>(step: RepairStep, on: Standing[], to: To) => ({
  guard: {
    type: 'isAskedOn',
    params: ({ event }: { event: FindFact }) => ({ step, on, standing: event.standing }),
  } as const,
  ...to,
});
const ending = (end: RepairEnd['end']) =>
  ({ type: 'keepEnd', params: ({ event }: { event: { rows: number } }) => ({ end, rows: event.rows }) }) as const;
const refusing = (refusal: RepairRefusal) =>
  ({ target: 'Refused', actions: { type: 'keepRefusal', params: { refusal } } }) as const;

export const repairRunMachine = repair.createMachine({
  id: 'repairRun',
  context: ({ input }) => ({ ...input, end: 'failed', rows: 0, refusal: null, message: '' }),
  initial: 'Finding',
  on: {
    ...deafToLateFailures,
    'effect.failed': {
      target: '.Failed',
      actions: { type: 'keepFailure', params: ({ event: { effect, message } }) => ({ effect, message }) },
    },
  },
  states: {
    Finding: {
      invoke: { id: 'findRun', src: 'findRun', ...ends },
      on: {
        'run.found': [
          { guard: { type: 'isAsked', params: { step: 'dry-run' } }, target: 'Surveying' },
          from('snapshot', ['fresh'], { target: 'Snapshotting' } as const),
          {
            guard: { type: 'isAsked', params: { step: 'snapshot' } },
            target: 'Snapshotted',
            actions: { type: 'keepEnd', params: { end: 'kept' } },
          },
          from('apply', ['taken', 'applied'], { target: 'Counting' } as const),
          from('apply', ['undone'], refusing('undone')),
          from('verify', ['applied', 'undone'], { target: 'Verifying' } as const),
          from('rollback', ['applied', 'undone'], { target: 'Counting' } as const),
          from('verify', ['taken'], refusing('not-applied')),
          from('rollback', ['taken'], refusing('not-applied')),
          refusing('no-snapshot'),
        ],
      },
    },

    Surveying: {
      invoke: { id: 'survey', src: 'survey', ...ends },
      on: { 'rows.surveyed': { target: 'Surveyed', actions: ending('surveyed') } },
    },
    Snapshotting: {
      invoke: { id: 'takeSnapshot', src: 'takeSnapshot', ...ends },
      on: { 'snapshot.taken': { target: 'Snapshotted', actions: ending('taken') } },
    },
    Counting: {
      invoke: { id: 'countRows', src: 'countRows', input: ({ context: { step } }) => ({ step }), ...ends },
      on: {
        'rows.counted': {
          target: 'AwaitingApproval',
          actions: { type: 'keepRows', params: ({ event: { rows } }) => ({ rows }) },
        },
      },
    },
    /** Bounded by the person who is asked. */
    AwaitingApproval: {
      invoke: {
        id: 'awaitApproval',
        src: 'awaitApproval',
        input: ({ context: { step, rows } }) => ({ step, rows }),
        ...ends,
      },
      on: {
        'approval.given': [
          { guard: { type: 'isAsked', params: { step: 'apply' } }, target: 'Applying' },
          { target: 'RollingBack' },
        ],
        'approval.withheld': refusing('not-approved'),
      },
    },
    Applying: {
      invoke: { id: 'apply', src: 'apply', ...ends },
      on: { 'rows.changed': { target: 'Applied', actions: ending('applied') } },
    },
    Verifying: {
      invoke: { id: 'verify', src: 'verify', ...ends },
      on: {
        'rows.verified': { target: 'Verified', actions: ending('verified') },
        'rows.unverified': { target: 'Unverified', actions: ending('unverified') },
      },
    },
    RollingBack: {
      invoke: { id: 'rollBack', src: 'rollBack', ...ends },
      on: { 'rows.restored': { target: 'RolledBack', actions: ending('restored') } },
    },

    Surveyed: { type: 'final' },
    Snapshotted: { type: 'final' },
    Applied: { type: 'final' },
    Verified: { type: 'final' },
    /** A row of it is poisoned still, or again. */
    Unverified: { type: 'final' },
    RolledBack: { type: 'final' },
    Refused: { type: 'final' },
    Failed: { type: 'final' },
  },
  output: ({ context: { end, rows, refusal, message } }) => ({ end, rows, refusal, message }),
});
