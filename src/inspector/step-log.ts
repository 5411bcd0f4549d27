/** Every step of every machine, at debug, through the journal. */
import { type ShownEvent, shownEvent, shownName } from '../domain/shown/show.ts';
import type { Journal } from '../services/ports.ts';
import { leavesOf } from './ring.ts';
import type { Step, Tap } from './tap.ts';

/** Steps that changed nothing are not told: nothing was waiting for their event. */
export function logSteps(tap: Tap, journal: Journal): () => void {
  return tap.listen({
    stepped: (step) => {
      if (!step.ignored) journal.tell('machine.stepped', factsOf(step));
    },
  });
}

const factsOf = ({ actor, event, facts, before, after, asked, said }: Step) => ({
  machine: actor.machine,
  actor: shownName(actor.id),
  on: shownEvent(event),
  ...(facts.length === 0 ? {} : { facts: facts.map((fact): ShownEvent => shownEvent(fact)) }),
  from: leavesOf(before?.value),
  to: leavesOf(after.value),
  ...(asked.length === 0 ? {} : { asked: asked.map(shownName) }),
  ...(said.length === 0 ? {} : { said: said.map(({ to, event: told }) => `${shownName(to)}: ${told.type}`) }),
});
