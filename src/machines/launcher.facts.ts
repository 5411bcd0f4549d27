/** What the launcher hears, remembers and answers with. */
import type { RecordedProcess } from '../domain/process-record.ts';
import type { ChildName, ChildReport } from './child.facts.ts';
import type { EffectFailed } from './effects.ts';
import type { StopOutcome, TurnFact } from './stop.machine.ts';

/** `help`: what was left as it was, and what to do next. */
type Refusal = { type: 'up.refused'; code: string; message: string; help: string };
export type LockFact = { type: 'lock.taken' } | { type: 'lock.held'; pid: number };
export type StepFact = { type: 'step.done' } | Refusal;
export type BrokerFact = { type: 'broker.running'; pid: number } | { type: 'broker.absent' } | Refusal;
/** `running`: somebody else's start was quicker. */
export type StartFact = { type: 'broker.started' | 'broker.running'; pid: number } | Refusal;
/** `asked`: somebody stopped it on purpose. */
export type BrokerExit = { type: 'broker.exited'; cause: string; asked: boolean };

export type LauncherEvent =
  | LockFact
  | StepFact
  | BrokerFact
  | StartFact
  | BrokerExit
  | ChildReport
  | StopOutcome
  | TurnFact
  | { type: 'lock.released' }
  | EffectFailed
  | { type: 'stop.requested'; signal: string };

/** How each child is, as it last said. `lost`: it has ended, and is not back. */
export type Standing = 'serving' | 'unbound' | 'stopped' | 'lost';

export type LauncherEnd =
  /** Detached, and everything serves. */
  | 'launched'
  /** Detached, and something runs without serving. */
  | 'unbound'
  /** Somebody asked `up`, or the broker, to stop. */
  | 'stopped'
  | 'broker-exited'
  | 'refused'
  | 'failed';

export interface LauncherInput {
  readonly isForeground: boolean;
  readonly isOpen: boolean;
  readonly children: readonly ChildName[];
  readonly retryMs: number;
}

export interface LauncherContext extends LauncherInput {
  readonly brokerPid: number;
  readonly standing: Readonly<Partial<Record<ChildName, Standing>>>;
  /** What this run has started. */
  readonly ours: readonly RecordedProcess[];
  /** What is still to be stopped, in this order. */
  readonly targets: readonly RecordedProcess[];
  readonly end: LauncherEnd;
  readonly message: string;
  readonly help: string;
}

export interface LauncherOutput {
  readonly end: LauncherEnd;
  readonly message: string;
  readonly help: string;
}
