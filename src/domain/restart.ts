/** When a process that `up` keeps is started again, and when it stays stopped (U2, U3). */

export interface Exit {
  /** Null when a signal ended it, or where the system does not tell. */
  readonly code: number | null;
  readonly signal: string | null;
}

/** Signals with which somebody asks a process to stop. */
const ASKING: ReadonlySet<string> = new Set(['SIGTERM', 'SIGINT']);

/** An end that was wanted: clean, by a signal that asks, or of one that somebody had marked as stopped, however it ended. */
export const isAskedFor = ({ code, signal, asked }: Exit & { asked: boolean }): boolean =>
  asked || code === 0 || (signal !== null && ASKING.has(signal));

/** The `<cause>` of the restart line. */
export function causeOf({ code, signal }: Exit): string {
  if (signal !== null) return signal;
  return code === null ? 'cause unknown' : `exit code ${code}`;
}

/** How long a restart that failed waits: until the lease row that was in its way can end, at most `most`. */
export const restartWait = ({ expiresInMs, most }: { expiresInMs: number | undefined; most: number }): number =>
  Math.max(0, Math.min(expiresInMs ?? most, most));
