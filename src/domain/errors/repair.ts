import { defineErrors } from './define.ts';

/** Refusals of the human-run repair. Exit 2: the repair was refused, and nothing was changed. */
export const repairErrors = defineErrors({
  'repair.where': {
    kind: 'refuse',
    exit: 64,
    template: 'one of --db and --emit says which database is repaired',
    help: 'Nothing was read and nothing was changed.',
  },
  'repair.snapshot-id': {
    kind: 'refuse',
    exit: 64,
    template: 'step {step} needs --snapshot: the id that step snapshot told',
    help: 'Nothing was read and nothing was changed.',
  },
  'repair.step': {
    kind: 'refuse',
    exit: 64,
    template: '--step is needed: dry-run, snapshot, apply, verify or rollback',
    help: 'Nothing was read and nothing was changed. Begin with dry-run, which writes nothing.',
  },
  'repair.folder': {
    kind: 'refuse',
    exit: 2,
    template: '{file} in {folder} is not the record of a repair',
    help: 'Nothing was changed. Use an empty folder for a new run.',
  },
  'repair.results': {
    kind: 'refuse',
    exit: 2,
    template: 'the results cannot be read for the run in {folder}: {reason}',
    help: 'The database is as the command left it. Run the same command again; every step may be repeated.',
  },
});
