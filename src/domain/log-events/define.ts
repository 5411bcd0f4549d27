import type { Placeholders } from '../errors/define.ts';

/**
 * The shape of the log catalogue. Every record is an event, named `subject.fact`, with ids and numbers, never with a body
 * or a token. An event that an operator reads has a line: its text is part of the product and is tested byte for byte.
 */
export type Level = 'debug' | 'info' | 'warn' | 'error';

export interface LogEntry {
  readonly level: Level;
  /** The operator line with `{placeholders}`; events without one are for the structured log only. */
  readonly line?: string;
  /** What it means, for `docs/operations.md`. */
  readonly meaning: string;
}

export const defineEvents = <const T extends Record<string, LogEntry>>(entries: T): T => entries;

/** The facts that an event must be given: one for each placeholder of its line, and whatever else is worth keeping. */
export type FactsOf<E extends LogEntry> = Readonly<Record<string, unknown>> &
  (E extends { readonly line: infer L extends string } ? { readonly [K in Placeholders<L>]: unknown } : unknown);
