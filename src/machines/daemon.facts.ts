/** What a daemon hears and says: the facts of its start, what its children report, its own reports, its input. */
import type { Ask } from '../domain/membership.ts';
import type { EffectFailed } from './effects.ts';
import type { FanoutReport } from './fanout.machine.ts';
import type { LeaseInput, LeaseReport } from './lease.machine.ts';
import type { RailsReport } from './rails.machine.ts';
import type { ReaderInput, ReaderReport } from './reader.machine.ts';

/** Why a daemon ended. `code` is of the error catalogue where it was refused, else the final's own name. */
export type DaemonEnd =
  | 'stopped'
  | 'refused'
  | 'lease-refused'
  | 'lease-denied'
  | 'lease-taken'
  | 'broker-gone'
  | 'credential-lapsed'
  | 'faulted';

export type StepFact = { type: 'step.done' } | { type: 'start.refused'; code: string; message: string };
/** The name of the broker has no address now. `at`: monotonic milliseconds. `message`: what a refusal says. */
export type NameFact = { type: 'name.unresolved'; host: string; reason: string; message: string; at: number };
export type Silence = { type: 'broker.silent' };

export type DaemonEvent =
  | StepFact
  | NameFact
  | Silence
  | LeaseReport
  | FanoutReport
  | RailsReport
  | ReaderReport
  | EffectFailed
  | { type: 'stop.requested'; signal: string }
  | { type: 'broker.gone' }
  | { type: 'broker.past-backstop' }
  | { type: 'broker.disconnected' }
  | { type: 'connection.replaced' }
  | { type: 'credential.lapsed' }
  /** From the client of `reauthorize`, a leave, or the row watch. */
  | { type: 'review.asked'; member: string }
  | { type: 'rows.changed'; members: string[] }
  | { type: 'membership.asked'; key: string; ask: Ask }
  /** What routing goes by cannot be followed any more. */
  | { type: 'stores.lost'; why: string }
  | { type: 'all.closed' };

/** What the system is told of its daemon. */
export type DaemonReport =
  | { type: 'daemon.connected' }
  | { type: 'daemon.serving' }
  | { type: 'daemon.started' }
  | { type: 'daemon.quiesced'; why: string }
  | { type: 'daemon.ended'; end: DaemonEnd; message: string };

export interface DaemonInput {
  readonly lease: LeaseInput;
  readonly reader: ReaderInput;
  /** How long a start waits in all for a name that does not resolve. */
  readonly nameWaitMs: number;
}
