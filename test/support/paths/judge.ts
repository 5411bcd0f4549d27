import type { AnyStateMachine } from 'xstate';
import { faultsOf } from './checks.ts';
import { explore } from './explore.ts';
import { goldenTable } from './golden.ts';
import type { Mutant } from './mutants.ts';
import type { AnySamples } from './samples.ts';

/** What became of a mutant, and by whose hand. */
export interface Verdict {
  readonly mutant: string;
  /** Killed by a promise or a check that knows what is right; by the golden table only; or by nothing. */
  readonly fate: 'killed' | 'golden' | 'survived';
  /** The first fault that was found. */
  readonly fault?: string;
}

class Convicted extends Error {}

/** Walks over a mutant until the first step that breaks a promise. */
function firstFault(machine: AnyStateMachine, samples: AnySamples): { fault?: string; table?: string } {
  try {
    const exploration = explore(machine, samples, (step) => {
      if (step.after.status === 'error') throw new Convicted(`dies on ${step.event.type}`);
      for (const { clause, says, when, holds } of samples.promises) {
        if (when(step) && holds(step) !== true) throw new Convicted(`${clause} ${says}`);
      }
    });
    for (const fault of faultsOf(exploration)) return { fault };
    return { table: goldenTable(machine.id, exploration) };
  } catch (error) {
    if (error instanceof Convicted) return { fault: error.message };
    // A promise or a table that cannot even be asked has noticed something, too.
    return { fault: `breaks the walk: ${error instanceof Error ? error.message : String(error)}` };
  }
}

export function judge(mutant: Mutant, samples: AnySamples, golden: string): Verdict {
  const { fault, table } = firstFault(mutant.make(), samples);
  if (fault !== undefined) return { mutant: mutant.name, fate: 'killed', fault };
  return { mutant: mutant.name, fate: table === golden ? 'survived' : 'golden' };
}
