import type { ContextFrom } from 'xstate';
import type { repairRunMachine } from '../../../src/machines/repair-run.machine.ts';
import type { PathPromise } from '../../support/paths/samples.ts';
import type { Step } from '../../support/paths/seen.ts';

type Context = ContextFrom<typeof repairRunMachine>;

const CHANGES = ['takeSnapshot', 'apply', 'rollBack'] as const;
const DONE = {
  'rows.surveyed': ['Surveyed', 'surveyed'],
  'snapshot.taken': ['Snapshotted', 'taken'],
  'rows.changed': ['Applied', 'applied'],
  'rows.verified': ['Verified', 'verified'],
  'rows.unverified': ['Unverified', 'unverified'],
  'rows.restored': ['RolledBack', 'restored'],
} as const;

const found = (step: Step<Context>, asked: Context['step'], ...standings: string[]) =>
  step.heard('run.found') && step.before.context.step === asked && standings.includes(String(step.fact.standing));
const started = (step: Step<Context>, effect: string) => step.started(effect) !== undefined;
const refusedAs = ({ after }: Step<Context>, refusal: Context['refusal']) =>
  (after.is('Refused') && after.context.end === 'refused' && after.context.refusal === refusal) ||
  `${JSON.stringify(after.context)}`;

export const promises: readonly PathPromise<Context>[] = [
  {
    clause: 'X1',
    says: 'rows are changed only right after an approval, and as the step says',
    when: (step) => started(step, 'apply') || started(step, 'rollBack'),
    holds: (step) =>
      (step.heard('approval.given') &&
        step.before.is('AwaitingApproval') &&
        started(step, step.before.context.step === 'apply' ? 'apply' : 'rollBack')) ||
      `by ${step.fact.type}`,
  },
  {
    clause: 'X1',
    says: 'the approval is asked for the step and the rows that were counted',
    when: (step) => started(step, 'awaitApproval'),
    holds: (step) => {
      const asked = step.started('awaitApproval');
      return (
        (step.heard('rows.counted') && asked?.step === step.before.context.step && asked?.rows === step.fact.rows) ||
        JSON.stringify(asked)
      );
    },
  },
  {
    clause: 'X1',
    says: 'what the approval is about is counted by the step',
    when: (step) => started(step, 'countRows'),
    holds: (step) => step.started('countRows')?.step === step.before.context.step || 'another step',
  },
  {
    clause: 'X1',
    says: 'an approval that is withheld refuses',
    when: (step) => step.heard('approval.withheld'),
    holds: (step) => refusedAs(step, 'not-approved'),
  },
  {
    clause: 'X2',
    says: 'a dry-run and a verification ask for nothing that changes a row',
    when: ({ before }) => before.context.step === 'dry-run' || before.context.step === 'verify',
    holds: (step) => !CHANGES.some((effect) => started(step, effect)) || 'it changes something',
  },
  {
    clause: 'X2',
    says: 'a dry-run surveys, wherever the repair stands',
    when: (step) => found(step, 'dry-run', 'fresh', 'taken', 'applied', 'undone'),
    holds: (step) => started(step, 'survey') || 'it does not',
  },
  {
    clause: 'X3',
    says: 'apply, verify and rollback without a snapshot are refused',
    when: (step) => found(step, 'apply', 'fresh') || found(step, 'verify', 'fresh') || found(step, 'rollback', 'fresh'),
    holds: (step) => refusedAs(step, 'no-snapshot'),
  },
  {
    clause: 'X3',
    says: 'what was not applied is neither verified nor rolled back',
    when: (step) => found(step, 'verify', 'taken') || found(step, 'rollback', 'taken'),
    holds: (step) => refusedAs(step, 'not-applied'),
  },
  {
    clause: 'X3',
    says: 'what was applied is verified and rolled back, again and again',
    when: (step) => found(step, 'verify', 'applied', 'undone') || found(step, 'rollback', 'applied', 'undone'),
    holds: (step) => started(step, step.before.context.step === 'verify' ? 'verify' : 'countRows') || 'it is not',
  },
  {
    clause: 'X3',
    says: 'a snapshot is applied, again too, and not after a rollback',
    when: (step) => found(step, 'apply', 'taken', 'applied', 'undone'),
    holds: (step) => (step.fact.standing === 'undone' ? refusedAs(step, 'undone') : started(step, 'countRows') || 'no'),
  },
  {
    clause: 'X4',
    says: 'a snapshot is taken where there is none, and kept where there is one',
    when: (step) => found(step, 'snapshot', 'fresh', 'taken', 'applied', 'undone'),
    holds: (step) =>
      step.fact.standing === 'fresh'
        ? started(step, 'takeSnapshot') || 'it is not taken'
        : (step.after.is('Snapshotted') && step.after.context.end === 'kept') || 'it is not kept',
  },
  {
    clause: 'X5',
    says: 'a failure ends the run and says whose it was',
    when: (step) => step.heard('effect.failed'),
    holds: ({ after, fact }) =>
      (after.is('Failed') &&
        after.context.end === 'failed' &&
        after.context.message === `${fact.effect}: ${fact.message}`) ||
      'it goes on',
  },
  {
    clause: 'X5',
    says: 'what an effect did is how the run ends, with its rows',
    when: (step) => step.heard(...(Object.keys(DONE) as (keyof typeof DONE)[])),
    holds: ({ after, fact }) => {
      const [state, end] = DONE[fact.type as keyof typeof DONE];
      return (
        (after.is(state) && after.context.end === end && after.context.rows === Number(fact.rows ?? 0)) ||
        JSON.stringify(after.context)
      );
    },
  },
  {
    clause: 'X5',
    says: 'no effect is asked for a second time',
    when: (step) => step.from !== undefined,
    holds: (step) => step.from === undefined || !started(step, step.from) || 'it is',
  },
];
