/** Compares what the broker has with what a layout wants, and names each difference. */

export interface Difference {
  /** `stream CHAT_main`, `consumer fanout on CHAT_main`. */
  readonly of: string;
  readonly field: string;
  readonly have: unknown;
  readonly wanted: unknown;
}

/** `stream CHAT_main: max_msgs_per_subject is 500, wanted 10000` */
export const describeDifference = ({ of, field, have, wanted }: Difference): string =>
  `${of}: ${field} is ${show(field, have)}, wanted ${show(field, wanted)}`;

/**
 * Each field of `wanted` that the broker's config has otherwise. The broker leaves out what is false, zero or empty, and
 * adds fields and metadata of its own, which are not looked at.
 */
export function differencesOf(of: string, have: object, wanted: object): Difference[] {
  const found: Difference[] = [];
  for (const [field, want] of Object.entries(wanted)) {
    const is = (have as Record<string, unknown>)[field];
    if (field === 'metadata') {
      const kept = (is ?? {}) as Record<string, unknown>;
      for (const [key, value] of Object.entries(want as object)) {
        if (kept[key] !== value) found.push({ of, field: `metadata ${key}`, have: kept[key], wanted: value });
      }
    } else if (!same(is, want)) {
      found.push({ of, field, have: is ?? emptyLike(want), wanted: want });
    }
  }
  return found;
}

const same = (is: unknown, want: unknown): boolean => JSON.stringify(is ?? emptyLike(want)) === JSON.stringify(want);

/** What the absence of a field means, for a field of this kind. */
function emptyLike(want: unknown): unknown {
  if (typeof want === 'boolean') return false;
  if (typeof want === 'number') return 0;
  return Array.isArray(want) ? [] : '';
}

const DURATIONS = new Set(['max_age', 'duplicate_window', 'subject_delete_marker_ttl', 'ack_wait']);
function show(field: string, value: unknown): string {
  if (value === undefined || value === '') return 'not set';
  if (DURATIONS.has(field) && typeof value === 'number') return value === 0 ? 'none' : `${value / 1e9} s`;
  return typeof value === 'string' ? value : JSON.stringify(value);
}
