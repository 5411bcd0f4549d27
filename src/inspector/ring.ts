/**
 * What was seen, sanitized and bounded: the last records, and where every actor stands that lives. A viewer that comes late
 * gets both. What falls out of the ring is counted, and so is what is more in a second than a share (share.ts) keeps. Of what
 * is not kept nothing is made but that count; where an actor stands is made into text when somebody is shown it.
 */
import type { AnyMachineSnapshot, StateValue } from 'xstate';
import { brief, type ShownEvent, type ShownObject, shownEvent, shownName, shownObject } from '../domain/shown/show.ts';
import { Share, type ShareBounds, usualShare } from './share.ts';
import type { Step, Tap, WatchedActor } from './tap.ts';

/** An actor as it is shown. */
export interface ActorFace {
  readonly session: string;
  readonly id: string;
  readonly parent?: string;
  readonly root: string;
  /** Name in the catalogue; an effect has none. */
  readonly machine?: string;
  readonly effect: string;
  readonly began: number;
}

/** Where a machine stands. */
export interface Standing {
  readonly value: StateValue;
  /** Paths of the leaves that are active. */
  readonly states: readonly string[];
  readonly tags: readonly string[];
  readonly context: ShownObject;
}

interface Numbered {
  readonly seq: number;
  readonly at: number;
  readonly session: string;
  readonly root: string;
}
export interface Began extends Numbered {
  readonly kind: 'began';
  readonly actor: ActorFace;
}
export interface Stepped extends Numbered {
  readonly kind: 'stepped';
  readonly event: ShownEvent;
  readonly source?: string;
  readonly facts: readonly ShownEvent[];
  readonly from: readonly string[];
  readonly now: Standing;
  readonly asked: readonly string[];
  readonly said: readonly { readonly to: string; readonly event: ShownEvent }[];
  readonly ignored: boolean;
}
export interface Ended extends Numbered {
  readonly kind: 'ended';
  readonly status: string;
}
export type Seen = Began | Stepped | Ended;

export interface LiveActor {
  readonly actor: ActorFace;
  readonly now?: Standing;
}

/** Items of a step's lists that are kept. */
const MOST = 32;

/** Paths of the active leaves of a state value: `{ A: { x: 'X', y: 'Y' } }` → `A.x.X`, `A.y.Y`. */
export function leavesOf(value: StateValue | undefined, above = ''): string[] {
  if (value === undefined) return [];
  const below = (name: string) => (above === '' ? name : `${above}.${name}`);
  if (typeof value === 'string') return [below(value)];
  const entries = Object.entries(value);
  // A machine without states of its own has an empty value.
  return entries.length === 0 && above !== ''
    ? [above]
    : entries.flatMap(([name, inner]) => leavesOf(inner, below(name)));
}

export class Ring {
  readonly #slots: Seen[] = [];
  readonly #capacity: number;
  readonly #share: Share;
  readonly #tap: Tap;
  /** What was made of a context, for as long as somebody has that context. */
  readonly #contexts = new WeakMap<object, ShownObject>();
  /** Actors whose beginning is in the ring: their end will be too. */
  readonly #begun = new Set<string>();
  #skipped = 0;
  /** Number of the next record; the first one is 1. */
  #next = 1;

  constructor(tap: Tap, of: { capacity?: number } & Partial<ShareBounds> = {}) {
    this.#capacity = of.capacity ?? 4_096;
    this.#share = new Share({ ...usualShare, ...of });
    this.#tap = tap;
    tap.listen({
      began: (actor) => this.#began(actor),
      stepped: (step) => this.#stepped(step),
      ended: (actor, status, at) => this.#ended(actor, status, at),
    });
  }

  /** Number of the newest record; 0 while there is none. */
  get last(): number {
    return this.#next - 1;
  }

  /** Records that have fallen out. */
  get dropped(): number {
    return Math.max(0, this.last - this.#capacity);
  }

  /** Records that were not kept, because there were too many in their second. */
  get skipped(): number {
    return this.#skipped;
  }

  /** At most `limit` records above a number, oldest first. What has fallen out meanwhile is missing: `seq` shows it. */
  after(seq: number, limit: number): Seen[] {
    const from = Math.max(seq, this.dropped) + 1;
    const records: Seen[] = [];
    for (let at = from; at <= this.last && records.length < limit; at++) {
      const record = this.#slots[(at - 1) % this.#capacity];
      if (record !== undefined) records.push(record);
    }
    return records;
  }

  /** Every actor that lives, parents before their children. */
  *live(): Iterable<LiveActor> {
    for (const actor of this.#tap.live()) yield this.#standingActor(actor);
  }

  get sessions(): string[] {
    return [...this.#tap.live()].map(({ session }) => session);
  }

  /** One actor and where it stands now; undefined when it has gone. */
  liveActor(session: string): LiveActor | undefined {
    const actor = this.#tap.actor(session);
    return actor === undefined ? undefined : this.#standingActor(actor);
  }

  get size(): number {
    return this.#tap.size;
  }

  #standingActor(actor: WatchedActor): LiveActor {
    const snapshot = actor.machine === undefined ? undefined : this.#tap.snapshotOf(actor.session);
    const face = faceOf(actor);
    return snapshot === undefined ? { actor: face } : { actor: face, now: this.#standingOf(snapshot) };
  }

  #add(record: Seen): void {
    this.#slots[(this.#next - 1) % this.#capacity] = record;
    this.#next += 1;
  }

  #began(actor: WatchedActor): void {
    const { session, root, machine, effect, began } = actor;
    if (!this.#share.take(began, machine ?? effect, '(began)')) {
      this.#skipped += 1;
      return;
    }
    this.#begun.add(session);
    this.#add({ kind: 'began', seq: this.#next, at: began, session, root, actor: faceOf(actor) });
  }

  #ended({ session, root, machine, effect }: WatchedActor, status: string, at: number): void {
    const isKnown = this.#begun.delete(session);
    if (!isKnown && !this.#share.take(at, machine ?? effect, '(ended)')) {
      this.#skipped += 1;
      return;
    }
    this.#add({ kind: 'ended', seq: this.#next, at, session, root, status });
  }

  #stepped({ actor, at, event, source, facts, before, after, asked, said, ignored }: Step): void {
    if (!this.#share.take(at, actor.machine ?? '', event.type)) {
      this.#skipped += 1;
      return;
    }
    const now = this.#standingOf(after);
    this.#add({
      kind: 'stepped',
      seq: this.#next,
      at,
      session: actor.session,
      root: actor.root,
      event: shownEvent(event, brief),
      ...(source === undefined ? {} : { source }),
      facts: facts.slice(0, MOST).map((fact) => shownEvent(fact, brief)),
      from: leavesOf(before?.value as StateValue | undefined),
      now,
      asked: asked.slice(0, MOST).map(shownName),
      said: said.slice(0, MOST).map(({ to, event: told }) => ({ to: shownName(to), event: shownEvent(told, brief) })),
      ignored,
    });
  }

  /** The copy of a context is made once. */
  #standingOf({ value, tags, context }: AnyMachineSnapshot): Standing {
    const raw = context as object;
    const shown = this.#contexts.get(raw) ?? shownObject(raw, brief);
    this.#contexts.set(raw, shown);
    return { value: value as StateValue, states: leavesOf(value), tags: [...tags], context: shown };
  }
}

function faceOf({ session, id, parent, root, machine, effect, began }: WatchedActor): ActorFace {
  return {
    session,
    // A root that was given no name is called what it is.
    id: shownName(id === session && machine !== undefined ? machine : id),
    root,
    effect: shownName(effect),
    began,
    ...(parent === undefined ? {} : { parent }),
    ...(machine === undefined ? {} : { machine }),
  };
}
