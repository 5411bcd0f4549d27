/** What a child of `up` hears, remembers and tells. */
import type { EffectFailed } from './effects.ts';
import type { StopOutcome, TurnFact } from './stop.machine.ts';

export type LookFact = { type: 'process.running'; pid: number } | { type: 'process.absent' };
export type SpawnFact =
  | { type: 'process.spawned'; pid: number }
  /** Somebody wants it stopped: nothing was spawned, or what was spawned is dead again. */
  | { type: 'process.marked' }
  | { type: 'spawn.refused'; reason: string };
/** `code` and `signal` are null where the system does not tell: it was not our child. */
export type ExitFact = { type: 'process.exited'; code: number | null; signal: string | null };
export type ProofFact = { type: 'serving.proved' } | { type: 'process.marked' };
export type ExplainFact = {
  type: 'exit.explained';
  /** Somebody asked for it: there is a mark, or its own last words say so. */
  asked: boolean;
  /** `exit code 1`, `SIGKILL`. */
  cause: string;
  /** Why it did not serve, in its own words where it left some. */
  reason: string;
  /** When the next attempt makes sense. */
  waitMs: number;
};

export type ChildEvent =
  | LookFact
  | SpawnFact
  | ExitFact
  | ProofFact
  | ExplainFact
  | StopOutcome
  | TurnFact
  | EffectFailed;

/** What a child tells `up`. */
export type ChildReport =
  /** This run started it, and has to stop it again if the launch fails. */
  | { type: 'child.spawned'; name: ChildName; pid: number }
  | { type: 'child.serving'; name: ChildName; pid: number }
  /** It runs, but what it is there for does not. */
  | { type: 'child.unbound'; name: ChildName; pid: number }
  /** It has ended, and nothing that was said of it holds any more. What becomes of it follows. */
  | { type: 'child.lost'; name: ChildName; pid: number }
  /** It was to be stopped, and that did not come about: it runs, and nothing starts it again. */
  | { type: 'child.left'; name: ChildName; pid: number; reason: string }
  | { type: 'child.failed'; name: ChildName; reason: string }
  | { type: 'child.stopped'; name: ChildName; cause: string };

export type ChildName = 'delivery' | 'manager';
export interface Named {
  readonly name: ChildName;
}
export interface ChildInput extends Named {
  /** How long an attempt that could not even spawn is followed by none. */
  readonly retryMs: number;
}

export interface ChildContext extends Named {
  readonly pid: number;
  readonly code: number | null;
  readonly signal: string | null;
  readonly waitMs: number;
}
