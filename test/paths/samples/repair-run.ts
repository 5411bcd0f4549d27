import { repairRunMachine } from '../../../src/machines/repair-run.machine.ts';
import { samplesOf } from '../../support/paths/samples.ts';
import { promises } from './repair-run.promises.ts';

export const samples = samplesOf(repairRunMachine, {
  inputs: {
    'dry-run': { step: 'dry-run' },
    snapshot: { step: 'snapshot' },
    apply: { step: 'apply' },
    verify: { step: 'verify' },
    rollback: { step: 'rollback' },
  },
  events: [],
  answers: {
    findRun: [
      { type: 'run.found', standing: 'fresh' },
      { type: 'run.found', standing: 'taken' },
      { type: 'run.found', standing: 'applied' },
      { type: 'run.found', standing: 'undone' },
    ],
    countRows: [{ type: 'rows.counted', rows: 3 }],
    awaitApproval: [{ type: 'approval.given' }, { type: 'approval.withheld' }],
    survey: [{ type: 'rows.surveyed', rows: 3 }],
    takeSnapshot: [{ type: 'snapshot.taken', rows: 3 }],
    apply: [{ type: 'rows.changed', rows: 2 }],
    verify: [
      { type: 'rows.verified', rows: 3 },
      { type: 'rows.unverified', rows: 1 },
    ],
    rollBack: [{ type: 'rows.restored', rows: 2 }],
  },
  clamp: ({ step, end, refusal, rows }) => ({ step, end, refusal, rows }),
  happy: ['Finding', 'Counting', 'AwaitingApproval', 'Applying', 'Applied'],
  promises,
});
