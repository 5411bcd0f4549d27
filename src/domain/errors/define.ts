/**
 * The shape of the error catalogue. An error is data: a code, what kind of failure it is, a template whose
 * `{placeholders}` are the facts it must be given, and what to do next. Exit codes and `docs/operations.md` come from it.
 */

/** `retry`: the same call may succeed later. `refuse`: the input or the state forbids it. `fatal`: this process ends. */
export type ErrorKind = 'retry' | 'refuse' | 'fatal';

export interface ErrorEntry {
  readonly kind: ErrorKind;
  /** One line: what happened, naming the input in `{placeholders}`. */
  readonly template: string;
  /** What was left as it was, and what to do next. */
  readonly help: string;
  /** Exit code of a command that ends with it: 1 unless told (64 usage, 2 a repair refused). */
  readonly exit?: 1 | 2 | 64;
}

/** The names between braces in a template, as a union of string literals. */
export type Placeholders<T extends string> = T extends `${string}{${infer Name}}${infer Rest}`
  ? Name | Placeholders<Rest>
  : never;

/** Keeps the literal types of a part of the catalogue, so that a missing fact is a type error at the call. */
export const defineErrors = <const T extends Record<string, ErrorEntry>>(entries: T): T => entries;

/** Fills a template. An unknown placeholder is left as it stands, so that a slip is visible and not silent. */
export function fill(template: string, facts: Readonly<Record<string, unknown>>): string {
  return template.replace(/\{(\w+)\}/g, (whole, name: string) => (name in facts ? String(facts[name]) : whole));
}
