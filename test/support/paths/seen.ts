import type { AnyEventObject, AnyMachineSnapshot, StateValue } from 'xstate';
import { type Anatomy, isInert, pathOf } from './anatomy.ts';
import type { Move } from './bench.ts';
import type { Effect } from './effects.ts';
import type { Life } from './life.ts';

/** A machine before or after a step, as promises look at it. */
export interface Seen<Context> {
  /** False before the very first step only. */
  readonly begun: boolean;
  readonly status: AnyMachineSnapshot['status'];
  readonly value: StateValue | undefined;
  readonly context: Context;
  /** Whether the state with this path is active: `Held.Ready`. A path that the machine does not have throws. */
  is(path: string): boolean;
  tagged(tag: string): boolean;
  /** Whether this invoke or spawned child is there and has not ended. */
  running(id: string): boolean;
  /** What this history state remembers: the names of the states it would go back to; undefined before the first exit. */
  remembered(path: string): string | undefined;
}

/** One visited edge. */
export interface Step<Context> {
  readonly input: string;
  readonly before: Seen<Context>;
  /** The event as XState gets it: `xstate.done.actor.claimLease`. */
  readonly event: AnyEventObject;
  /** What the event says: the answer of a done event, `effect.failed` of an error, the event itself otherwise. */
  readonly fact: AnyEventObject;
  /** The child that answered or failed, when the event is such an end and that child was running. */
  readonly from: string | undefined;
  /** The child whose end this would be, had it not ended or been stopped before: late ends reach no state. */
  readonly late: string | undefined;
  /** The name of the delay that elapsed, when the event is that of a timer which was armed. */
  readonly elapsed: string | undefined;
  readonly after: Seen<Context>;
  /** What was asked for, in order. */
  readonly effects: readonly Effect[];
  /** Whether nothing in the chart wanted the event. */
  readonly ignored: boolean;
  /** Whether the fact is of this type (or one of these) and can have come about: a child that ended was running. */
  heard(...types: string[]): boolean;
  /** The first report of this type, if there was one. */
  reported(type: string): AnyEventObject | undefined;
  /** The input with which this child was started, if it was; an empty object stands for none. */
  started(id: string): Readonly<Record<string, unknown>> | undefined;
  stopped(id: string): boolean;
  /** Whether the timer with this delay was armed. */
  armed(delay: string): boolean;
}

export function seen<Context>(anatomy: Anatomy, snapshot: AnyMachineSnapshot | undefined, life: Life): Seen<Context> {
  let active: ReadonlySet<string> | undefined;
  return {
    begun: snapshot !== undefined,
    status: snapshot?.status ?? 'active',
    value: snapshot?.value,
    context: (snapshot?.context ?? {}) as Context,
    is: (path) => {
      active ??= new Set(snapshot === undefined ? [] : snapshot._nodes.map(pathOf));
      if (active.has(path)) return true;
      if (!anatomy.isState(path)) throw new Error(`the machine has no state "${path}"`);
      return false;
    },
    tagged: (tag) => snapshot?.hasTag(tag) ?? false,
    running: (id) => life.children.has(id),
    remembered: (path) => {
      const history = anatomy.nodes.find((node) => node.type === 'history' && pathOf(node) === path);
      if (history === undefined) throw new Error(`the machine has no history state "${path}"`);
      return snapshot?.historyValue[history.id]?.map(({ key }) => key).join(' + ');
    },
  };
}

export function stepOf<Context>(anatomy: Anatomy, input: string, move: Move): Step<Context> {
  const { effects } = move;
  const before = seen<Context>(anatomy, move.before, move.lifeBefore);
  const { fact, from: child, delay } = factOf(move.event);
  const isLate = child !== undefined && !before.running(child);
  const from = isLate ? undefined : child;
  const elapsed = move.lifeBefore.timers.has(move.event.type) ? delay : undefined;
  return {
    input,
    before,
    event: move.event,
    fact,
    from,
    late: isLate ? child : undefined,
    elapsed,
    after: seen<Context>(anatomy, move.after, move.life),
    effects,
    ignored: move.before !== undefined && move.taken.every(isInert),
    heard: (...types) => types.includes(fact.type) && !isLate,
    reported: (type) => {
      for (const effect of effects) if (effect.kind === 'report' && effect.event.type === type) return effect.event;
      return undefined;
    },
    started: (id) => {
      for (const effect of effects) {
        if (effect.kind === 'start' && effect.id === id) return (effect.input ?? {}) as Record<string, unknown>;
      }
      return undefined;
    },
    armed: (delay) =>
      effects.some((effect) => effect.kind === 'arm' && effect.timer.startsWith(`xstate.after.${delay}.`)),
    stopped: (id) => effects.some((effect) => effect.kind === 'stop' && effect.id === id),
  };
}

const isFact = (output: unknown): output is AnyEventObject =>
  typeof output === 'object' && output !== null && typeof (output as { type?: unknown }).type === 'string';

function factOf(event: AnyEventObject): Pick<Step<unknown>, 'fact' | 'from'> & { delay: string | undefined } {
  const [, end, id] = /^xstate\.(done|error)\.actor\.(.+)$/.exec(event.type) ?? [];
  const [, delay] = /^xstate\.after\.([^.]+)\./.exec(event.type) ?? [];
  if (end === 'done') return { from: id, delay, fact: isFact(event.output) ? event.output : event };
  if (end === 'error') {
    const message = event.error instanceof Error ? event.error.message : String(event.error);
    return { from: id, delay, fact: { type: 'effect.failed', effect: id, message } };
  }
  return { from: undefined, delay, fact: event };
}
