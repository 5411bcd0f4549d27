/**
 * The one tap on XState's inspection API: what every actor of this process was told, what it made of it, what it asked for
 * and said. It is shown, never touched: the tap sends nothing to an actor, and a fault of its own stays its own.
 *
 * What it hands on is raw and for this folder alone; whoever keeps or sends any of it goes through `domain/shown` first.
 */
import type { AnyActorRef, AnyEventObject, AnyMachineSnapshot, InspectionEvent } from 'xstate';
import { catalogue } from '../machines/catalogue.ts';

/** An actor that lives. `machine` is its name in the catalogue; an effect has none. */
export interface WatchedActor {
  /** Unique in this process. */
  readonly session: string;
  /** Under its parent: `daemon`, `lane.local.alice.….3`. */
  readonly id: string;
  readonly parent: string | undefined;
  readonly root: string;
  readonly machine: string | undefined;
  /** What is asked for, where it is no machine. */
  readonly effect: string;
  readonly began: number;
}

export interface Said {
  /** System id or id of whoever was told. */
  readonly to: string;
  readonly event: AnyEventObject;
}

/** One step of a machine: one event out of its mailbox, and everything that followed from it at once. */
export interface Step {
  readonly actor: WatchedActor;
  readonly at: number;
  readonly event: AnyEventObject;
  /** Session of whoever told it. */
  readonly source: string | undefined;
  /** What was raised on the way: the facts that effects answered with. */
  readonly facts: readonly AnyEventObject[];
  readonly before: AnyMachineSnapshot | undefined;
  readonly after: AnyMachineSnapshot;
  /** Ids of the children that were started. */
  readonly asked: readonly string[];
  readonly said: readonly Said[];
  /** Nothing came of it. */
  readonly ignored: boolean;
}

export interface TapListener {
  began?(actor: WatchedActor): void;
  stepped?(step: Step): void;
  ended?(actor: WatchedActor, status: string, at: number): void;
}

/** One step of a machine that no actor runs: whoever keeps its snapshot asks the transition function for the next one. */
export interface HandStep {
  /** Unique in this process; known from its first step until one ends it. */
  readonly session: string;
  readonly id: string;
  /** The machine's own id. */
  readonly machine: string;
  /** `xstate.init` for the first. */
  readonly event: AnyEventObject;
  readonly after: AnyMachineSnapshot;
}

interface Entry extends WatchedActor {
  readonly ref: Pick<AnyActorRef, 'getSnapshot'>;
  last: AnyMachineSnapshot | undefined;
  facts: AnyEventObject[] | undefined;
  asked: string[] | undefined;
  said: Said[] | undefined;
  /** What is in its mailbox, and the session of whoever told it. */
  readonly told: { readonly event: AnyEventObject; readonly source: string }[];
  /** Transitions taken since the last step. */
  taken: number;
}

/** Most steps have no facts, ask for nothing and say nothing: they share one list. */
const NONE: readonly never[] = [];
function added<Item>(list: Item[] | undefined, item: Item): Item[] {
  if (list === undefined) return [item];
  list.push(item);
  return list;
}

const names = new Map(catalogue.map(({ name, machine }) => [machine.id, name]));
/** Of a mailbox that is never emptied no more is remembered; it is emptied in the order in which it was filled. */
const MOST_TOLD = 1_000;
function sourceOf({ told }: Entry, event: AnyEventObject): string | undefined {
  const at = told.findIndex((each) => each.event === event);
  return at === -1 ? undefined : told.splice(0, at + 1).at(-1)?.source;
}
/** A root that was given no name is called what it is. */
const nameOf = ({ id, sessionId }: AnyActorRef, entry: Entry | undefined): string =>
  id === sessionId ? (entry?.machine ?? id) : id;
/** By shape and not by class: whoever embeds us may have an XState of its own. */
function machineOf(logic: unknown): string | undefined {
  if (typeof logic !== 'object' || logic === null || !('root' in logic) || !('id' in logic)) return undefined;
  const id = String(logic.id);
  return names.get(id) ?? id;
}

/** So many more actors, and those that ended without a word are looked for. */
const SWEEP_STEP = 256;

export class Tap {
  readonly #now: () => number;
  readonly #failed: (error: unknown) => void;
  readonly #listeners = new Set<TapListener>();
  /** Entries by actor, also of those that are never started. */
  readonly #entries = new WeakMap<AnyActorRef, Entry>();
  readonly #live = new Map<string, Entry>();
  #sweepAt = SWEEP_STEP;

  constructor(of: { now?: () => number; failed?: (error: unknown) => void } = {}) {
    this.#now = of.now ?? Date.now;
    this.#failed = of.failed ?? (() => {});
  }

  /** For `createActor(machine, { inspect })` of every root of this process. */
  readonly inspect = (inspected: InspectionEvent): void => {
    try {
      this.#hear(inspected);
    } catch (error) {
      this.#failed(error);
    }
  };

  /** For whoever steps a machine by hand. */
  readonly hand = (step: HandStep): void => {
    try {
      this.#steppedByHand(step);
    } catch (error) {
      this.#failed(error);
    }
  };

  listen(listener: TapListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Every actor that lives, parents before their children. */
  *live(): Iterable<WatchedActor> {
    yield* this.#live.values();
  }

  get size(): number {
    return this.#live.size;
  }

  /** An actor that lives, or undefined. */
  actor(session: string): WatchedActor | undefined {
    return this.#live.get(session);
  }

  /** Snapshot of a machine that lives, or undefined. */
  snapshotOf(session: string): AnyMachineSnapshot | undefined {
    return this.#live.get(session)?.last;
  }

  #hear(inspected: InspectionEvent): void {
    // Typed by XState as any that is like an actor; it always is one.
    const ref = inspected.actorRef as AnyActorRef;
    switch (inspected.type) {
      case '@xstate.actor':
        this.#created(ref, inspected.rootId);
        return;
      case '@xstate.event':
        this.#told(ref, inspected.sourceRef as AnyActorRef | undefined, inspected.event);
        return;
      case '@xstate.microstep':
        this.#raised(ref, inspected.event, inspected._transitions.length);
        return;
      case '@xstate.snapshot':
        this.#stepped(ref, inspected.event, inspected.snapshot as { status: string });
        return;
    }
  }

  #created(ref: AnyActorRef, root: string): void {
    const parent = ref._parent;
    const entry: Entry = {
      ref,
      session: ref.sessionId,
      id: ref.id,
      parent: parent?.sessionId,
      root,
      machine: machineOf('logic' in ref ? ref.logic : undefined),
      effect: typeof ref.src === 'string' ? ref.src : '(inline)',
      began: this.#now(),
      last: undefined,
      facts: undefined,
      asked: undefined,
      said: undefined,
      told: [],
      taken: 0,
    };
    this.#entries.set(ref, entry);
    const above = parent === undefined ? undefined : this.#entries.get(parent);
    if (above !== undefined) above.asked = added(above.asked, entry.id);
  }

  #steppedByHand({ session, id, machine, event, after }: HandStep): void {
    const entry = this.#live.get(session) ?? this.#handEntry(session, id, machine);
    entry.taken = 1;
    this.#step(entry, event, after);
    if (after.status !== 'active') this.#end(entry, after.status);
  }

  #handEntry(session: string, id: string, machine: string): Entry {
    const entry: Entry = {
      ...{ session, id, parent: undefined, root: session, effect: '(by hand)', began: this.#now() },
      machine: names.get(machine) ?? machine,
      ref: { getSnapshot: () => entry.last },
      ...{ last: undefined, facts: undefined, asked: undefined, said: undefined, told: [], taken: 0 },
    };
    this.#began(entry);
    return entry;
  }

  #told(ref: AnyActorRef, from: AnyActorRef | undefined, event: AnyEventObject): void {
    const entry = this.#entries.get(ref);
    if (event.type === 'xstate.init') {
      if (entry !== undefined) this.#began(entry);
      return;
    }
    if (from === undefined) return;
    const source = this.#entries.get(from);
    if (source === undefined) return;
    // A failed actor sends no snapshot of its own.
    if (event.type.startsWith('xstate.error.actor.')) this.#end(source, 'error');
    if (entry?.machine !== undefined && entry.told.length < MOST_TOLD)
      entry.told.push({ event, source: source.session });
    if (source.machine === undefined || from === ref || event.type.startsWith('xstate.')) return;
    source.said = added(source.said, { to: (ref as { systemId?: string }).systemId ?? nameOf(ref, entry), event });
  }

  #raised(ref: AnyActorRef, event: AnyEventObject, taken: number): void {
    const entry = this.#entries.get(ref);
    if (entry?.machine === undefined) return;
    entry.taken += taken;
    if (entry.facts?.at(-1) !== event) entry.facts = added(entry.facts, event);
  }

  #stepped(ref: AnyActorRef, event: AnyEventObject, snapshot: { readonly status: string }): void {
    const entry = this.#entries.get(ref);
    if (entry === undefined) return;
    if (entry.machine !== undefined && event.type !== 'xstate.stop') this.#step(entry, event, snapshot);
    if (snapshot.status !== 'active') this.#end(entry, snapshot.status);
  }

  #step(entry: Entry, event: AnyEventObject, snapshot: { readonly status: string }): void {
    const { facts = NONE, asked = NONE, said = NONE, taken, last: before } = entry;
    const after = snapshot as AnyMachineSnapshot;
    entry.taken = 0;
    entry.facts = undefined;
    entry.asked = undefined;
    entry.said = undefined;
    entry.last = after;
    const raised = facts.every((fact) => fact === event)
      ? NONE
      : facts.filter((fact) => fact !== event && fact.type !== event.type);
    const step: Step = {
      actor: entry,
      at: this.#now(),
      event,
      source: sourceOf(entry, event),
      facts: raised,
      before,
      after,
      asked,
      said,
      ignored: before !== undefined && taken === 0,
    };
    for (const listener of this.#listeners) listener.stepped?.(step);
  }

  #began(entry: Entry): void {
    this.#live.set(entry.session, entry);
    for (const listener of this.#listeners) listener.began?.(entry);
    if (this.#live.size > this.#sweepAt) this.#sweep();
  }

  #end(entry: Entry, status: string): void {
    if (!this.#live.delete(entry.session)) return;
    const at = this.#now();
    for (const listener of this.#listeners) listener.ended?.(entry, status, at);
  }

  /** Looks for actors that ended without a word, so that what is kept grows with what lives and with nothing else. */
  #sweep(): void {
    for (const entry of this.#live.values()) {
      const { status } = entry.ref.getSnapshot() as { status: string };
      if (status !== 'active') this.#end(entry, status);
    }
    this.#sweepAt = this.#live.size + SWEEP_STEP + (this.#live.size >> 1);
  }
}
