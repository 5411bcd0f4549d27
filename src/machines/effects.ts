import { type EventObject, fromCallback, fromPromise } from 'xstate';

/**
 * How a machine asks for effects. A machine file names its effects and their types; `services/bind-*.ts` put the real
 * ones in their place. A placeholder that is still there when it is asked for fails loudly.
 *
 * An effect answers with a *fact*: an event of the machine that asked. The invoke hands it on with `told`, so that the
 * chart reads as facts and what follows from them, and not as outcomes and switches. A rejection is a surprise, never an
 * expected outcome; `faulted` turns it into the fact `effect.failed`, so that every effect has a declared end.
 */

/** An effect that is asked for once and answers with one fact. */
export const asked = <Fact extends EventObject, Input>(name: string) =>
  fromPromise<Fact, Input>(() => Promise.reject(new Error(`effect "${name}" is not bound`)));

/** An effect that goes on for as long as its state does, and tells the machine what it hears. */
export const heard = <Fact extends EventObject, Input>(name: string) =>
  fromCallback<Fact, Input>(() => {
    throw new Error(`effect "${name}" is not bound`);
  });

/** The fact that an effect failed in a way nobody expected. */
export interface EffectFailed {
  readonly type: 'effect.failed';
  readonly effect: string;
  readonly message: string;
  /** Where it came from, for the log of a fault. */
  readonly stack?: string;
}

/** The fact in a done event, to be raised: `told: raise(answerOf<LeaseEvent>)`. */
export const answerOf =
  <Fact extends EventObject>() =>
  ({ event }: { event: EventObject }): Fact =>
    (event as unknown as { output: Fact }).output;

/** The surprise in an error event, to be raised: `faulted: raise(surpriseOf)`. */
export const surpriseOf = ({ event }: { event: EventObject }): EffectFailed => {
  const { actorId, error } = event as unknown as { actorId: string; error: unknown };
  if (!(error instanceof Error)) return { type: 'effect.failed', effect: actorId, message: String(error) };
  const { message, stack } = error;
  return { type: 'effect.failed', effect: actorId, message, ...(stack === undefined ? {} : { stack }) };
};

/** Both ends of an invoke; spread into it. */
export const ends = { onDone: { actions: 'told' }, onError: { actions: 'faulted' } } as const;

/** The fact itself as the parameters of an action or a guard: `params: fact`. */
export const fact = <E>({ event }: { event: E }): E => event;

/** Why an effect ended that was to go on: for the fact that a machine raises when what it listens to is lost. */
export const reasonOf = ({ event }: { event: EventObject }): string => surpriseOf({ event }).message;

/**
 * Spread into the `on` of every root. A failure whose state was left meanwhile is nobody's any more; XState would end the
 * machine over it. The failure of a child that still runs is answered by its own `onError`, which the path tests check.
 */
export const deafToLateFailures: Readonly<Record<never, never>> = { 'xstate.error.actor.*': {} };

/**
 * The same for children that are spawned, whose ids are `<kind>.<name>`: a failure becomes the fact `effect.failed` with
 * that id. Spread into the `on` of the state in which such children live.
 */
export const failuresOf = (kind: string): Readonly<Record<never, never>> => ({
  [`xstate.error.actor.${kind}.*`]: { actions: 'faulted' },
});
