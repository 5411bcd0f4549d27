/**
 * Makes a failing script short: steps are left out, by halves and then by smaller parts, as long as what was found is found
 * again. Real processes do not repeat themselves exactly, so a part is left out only after the shorter script has failed.
 */
import type { Charge } from './checker/finding.ts';
import type { Verdict } from './checker/verdict.ts';
import type { Script, Step } from './schedule.ts';

export interface ShrinkOptions {
  readonly script: Script;
  /** What was found: a shorter script counts when it has one of these. */
  readonly charges: readonly Charge[];
  /** Plays a script. */
  readonly play: (script: Script) => Promise<Verdict>;
  /** No further script is played after this. */
  readonly deadline: () => boolean;
  readonly say: (line: string) => void;
}

/** A pause between two steps that is longer than this is of no use to a short script, unless a fault lasts meanwhile. */
const LONGEST_GAP_MS = 1_500;

export async function shrink({ script, charges, play, deadline, say }: ShrinkOptions): Promise<Script> {
  let shortest = script;
  for (let parts = 2; shortest.steps.length > 1 && !deadline(); ) {
    const size = Math.ceil(shortest.steps.length / parts);
    let isShorter = false;
    for (let from = 0; from < shortest.steps.length && !deadline(); from += size) {
      const steps = tightened(shortest.steps.filter((_, i) => i < from || i >= from + size));
      if (steps.length === 0) continue;
      const verdict = await play({ ...shortest, steps });
      const again = verdict.findings.filter(({ charge }) => charges.includes(charge));
      say(`shrink: ${steps.length} of ${script.steps.length} steps: ${again.length === 0 ? 'clean' : 'fails'}`);
      if (again.length === 0) continue;
      shortest = { ...shortest, steps, found: again[0]?.what ?? '' };
      isShorter = true;
      break;
    }
    if (isShorter) parts = Math.max(2, parts - 1);
    else if (size === 1) break;
    else parts = Math.min(2 * parts, shortest.steps.length);
  }
  return shortest;
}

/** Long gaps between steps are made shorter; what was done while a fault lasted is still done while it lasts. */
export function tightened(steps: readonly Step[]): Step[] {
  let earlier = 0;
  let last = 0;
  let busyUntil = 0;
  return steps.map((step) => {
    const free = Math.max(last, busyUntil);
    const gap = step.at - free;
    if (gap > LONGEST_GAP_MS) earlier += gap - LONGEST_GAP_MS;
    last = step.at;
    if ('forMs' in step) busyUntil = Math.max(busyUntil, step.at + step.forMs);
    return { ...step, at: step.at - earlier };
  });
}
