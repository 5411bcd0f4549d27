import type { AnyEventObject, AnyStateMachine, ContextFrom, EventFrom, InputFrom } from 'xstate';
import type { Step } from './seen.ts';

/**
 * The samples of a machine: all that the path tests need to know about it beside the machine itself. One file a machine,
 * `test/paths/samples/<name>.ts`, which exports `samples`.
 */
export interface Samples<Input, Event, Context> {
  /** Where the exploration begins: one run for each, by name. */
  readonly inputs: Readonly<Record<string, Input>>;
  /** Every event from outside, with every interesting payload: commands, what callbacks tell, what children report. */
  readonly events: readonly (Event | Labelled<Event>)[];
  /** What each invoke or spawned child may answer with, by its id: fired as the real done event of that child. */
  readonly answers: Readonly<Record<string, readonly unknown[]>>;
  /** Children that are spawned and not invoked: each is made to fail in every state too. */
  readonly spawned?: readonly string[];
  /** Actors which the machine looks up by their system id. */
  readonly peers?: readonly string[];
  /**
   * The part of the context that guards read, clamped so that it stays finite. Two snapshots with the same state value and
   * the same clamp are one to the exploration; the replay on live actors fails where that hides a difference.
   */
  readonly clamp: (context: Context) => Readonly<Record<string, unknown>>;
  /** Shortens ids of spawned children that count up, so that they stay finite: `lane.a.7` → `lane.a`. */
  readonly clampChild?: (id: string) => string;
  readonly promises: readonly PathPromise<Context>[];
  /** Where it is good to be, beside final states and those tagged `serving`: paths of states. */
  readonly goals?: readonly string[];
  /** States that wait with no effect and no timer of their own: who bounds them. */
  readonly bounded?: Readonly<Record<string, string>>;
  /** The happy path, state by state: drawn straight down. Each is reached from the one before in one step. */
  readonly happy: readonly string[];
  /** Transitions that no sample can take, by name, with the reason. */
  readonly untaken?: Readonly<Record<string, string>>;
  /** Mutants that change nothing anybody could see, by name, with the reason. */
  readonly equivalent?: Readonly<Record<string, string>>;
  /** Steps after which the exploration gives up, and the test fails. */
  readonly limit?: number;
}

/** A promise of the machine, asked on every visited edge, not on chosen examples. */
export interface PathPromise<Context> {
  /** The clause of the specification: L3. */
  readonly clause: string;
  /** The promise as one sentence. */
  readonly says: string;
  /** Whether the promise speaks about this step. One that never does is not exercised, and fails. */
  readonly when: (step: Step<Context>) => boolean;
  /** True, or what is wrong. */
  readonly holds: (step: Step<Context>) => true | string;
}

export interface Labelled<Event> {
  readonly label: string;
  readonly event: Event;
}

/** Gives an event with a long payload a short name for tables. */
export const named = <const Event>(label: string, event: Event): Labelled<Event> => ({ label, event });

/** Samples of a machine whose types no longer matter: what the kit works with. */
export type AnySamples = Samples<unknown, AnyEventObject, never>;

/** Checks samples against the types of their machine. */
export const samplesOf = <Machine extends AnyStateMachine>(
  _machine: Machine,
  samples: Samples<InputFrom<Machine>, EventFrom<Machine>, ContextFrom<Machine>>,
): AnySamples => samples as unknown as AnySamples;
