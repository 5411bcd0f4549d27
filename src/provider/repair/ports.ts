/** What a repair run needs of the database: the file itself, or a person who runs what is written for them. */
import type { Row, Statement } from '../storage/port.ts';

export interface RepairDatabase {
  /** Reads, in one go; nothing is written. */
  read(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>;
  /** All of them or none. */
  change(statements: readonly Statement[]): Promise<readonly (readonly Row[])[]>;
}

/** Who approves: by a text typed at a terminal, or given. */
export interface Approver {
  /** The text that was given, or undefined for none. */
  ask(wanted: string): Promise<string | undefined>;
}
