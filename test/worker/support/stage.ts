/** Where the suite runs: the real worker on workerd, or the in-process server. Real sockets from outside in both. */
import type { SendResult } from '../../../src/domain/provider/codes.ts';
import type { SendableFrame } from '../../../src/domain/provider/server-frames.ts';
import type { StepName } from '../../../src/provider/registry/ports.ts';
import type { Row, Statement } from '../../../src/provider/storage/port.ts';
import type { FaultName } from './faults.ts';
import type { Trouble } from './troubled-storage.ts';

export interface StageOptions {
  readonly fault?: FaultName;
  readonly bounds?: Readonly<Record<string, string>>;
}

export interface At {
  readonly workspace: string;
  readonly node: string;
}

export interface Stage {
  readonly kind: 'workerd' | 'in-process';
  /** http://host:port; changes after a crash of the in-process server. */
  readonly url: string;
  /** Statements against the database itself, in one transaction. */
  sql(...statements: Statement[]): Promise<readonly (readonly Row[])[]>;
  /** A send as the edge makes it; the raw body for bad ones. */
  send(
    at: At & { readonly provider: string; readonly frames: readonly SendableFrame[] },
  ): Promise<readonly SendResult[]>;
  /** The node's own tables and alarm. */
  objectDump(
    at: At,
  ): Promise<{ readonly alarm: number | null; readonly tables: Readonly<Record<string, readonly Row[]>> }>;
  /** The object forgets its memory and keeps its sockets. No such thing in-process. */
  hibernate(at: At): Promise<void>;
  /** Every socket of the node is gone without a close event, and so is its memory. */
  reset(at: At): Promise<void>;
  park(at: At, step: StepName): Promise<void>;
  parked(at: At): Promise<StepName | undefined>;
  release(at: At): Promise<void>;
  /** What is to be written to this connection finds that nothing was heard of it for longer than any bound, from now on. */
  silence(at: At, connection: string): Promise<void>;
  trouble(at: At, trouble: Trouble | null): Promise<void>;
  close(): Promise<void>;
}
