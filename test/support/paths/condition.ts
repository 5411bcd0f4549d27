import { createHash } from 'node:crypto';
import type { Spot } from './explore.ts';
import { brief } from './shots.ts';

/** What a row of a table is true of, in the fewest words. */

type Clamp = Spot['clamp'];

/** The fewest clamp fields that tell these spots from the others. */
function telling(these: readonly Clamp[], others: readonly Clamp[]): readonly string[] {
  const fields = [...new Set([...these, ...others].flatMap((clamp) => Object.keys(clamp)))];
  const view = (chosen: readonly string[]) => (clamp: Clamp) =>
    JSON.stringify(chosen.map((field) => clamp[field] ?? null));
  const apart = (chosen: readonly string[]) => {
    const seen = new Set(these.map(view(chosen)));
    return !others.map(view(chosen)).some((key) => seen.has(key));
  };
  let sets: string[][] = [[]];
  for (let size = 0; size <= fields.length; size++) {
    const fit = sets.find(apart);
    if (fit !== undefined) return fit;
    sets = sets.flatMap((set) => fields.slice(fields.indexOf(set.at(-1) ?? '') + 1).map((field) => [...set, field]));
  }
  return fields;
}

/**
 * Some of many, for a reader, with a mark of all of them, so that a table notices when one that is not shown changes.
 */
export function few(texts: Iterable<string>): string {
  const all = [...new Set(texts)].sort();
  if (all.length <= 3) return all.join(' or ');
  const mark = createHash('sha256').update(all.join('\n')).digest('hex').slice(0, 6);
  return `${all.slice(0, 2).join(' or ')} or … (${all.length} in all, #${mark})`;
}

/** What is true of these clamps and of none of the others. */
export function condition(these: readonly Clamp[], others: readonly Clamp[]): string {
  const chosen = telling(these, others);
  return few(these.map((clamp) => chosen.map((field) => `${field} = ${brief(clamp[field] ?? '—')}`).join(', ')));
}
