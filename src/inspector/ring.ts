/**
 * What was seen, sanitized and bounded: the last records of everything, and the latest state of every actor that lives. A
 * viewer that comes late gets both. What falls out of the ring is counted, and so are the steps that are more in a second
 * than are kept: what watching costs a busy process is bounded, whether somebody reads or not.
 */
import type { AnyMachineSnapshot, StateValue } from 'xstate';
import { brief, type ShownEvent, type ShownObject, shownEvent, shownName, shownObject } from '../domain/shown/show.ts';
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

/** Steps a second that are kept. */
const PER_SECOND = 1_000;

export class Ring {
  readonly #slots: Seen[] = [];
  readonly #capacity: number;
  readonly #perSecond: number;
  readonly #tap: Tap;
  readonly #live = new Map<string, ActorFace>();
  /** What was made of a context, for as long as somebody has that context. */
  readonly #contexts = new WeakMap<object, ShownObject>();
  #second = { began: 0, kept: 0 };
  #skipped = 0;
  /** Number of the next record; the first one is 1. */
  #next = 1;

  constructor(tap: Tap, of: { capacity?: number; perSecond?: number } = {}) {
    this.#capacity = of.capacity ?? 4_096;
    this.#perSecond = of.perSecond ?? PER_SECOND;
    this.#tap = tap;
    tap.listen({
      began: (actor) => this.#began(actor),
      stepped: (step) => this.#stepped(step),
      ended: ({ session, root }, status, at) => {
        this.#live.delete(session);
        this.#add({ kind: 'ended', seq: this.#next, at, session, root, status });
      },
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

  /** Steps that were not kept, because there were too many in their second. */
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
    for (const session of this.#live.keys()) {
      const one = this.liveActor(session);
      if (one !== undefined) yield one;
    }
  }

  get sessions(): string[] {
    return [...this.#live.keys()];
  }

  /** One actor and where it stands now; undefined when it has gone. */
  liveActor(session: string): LiveActor | undefined {
    const actor = this.#live.get(session);
    if (actor === undefined) return undefined;
    const snapshot = actor.machine === undefined ? undefined : this.#tap.snapshotOf(session);
    return snapshot === undefined ? { actor } : { actor, now: this.#standingOf(snapshot) };
  }

  get size(): number {
    return this.#live.size;
  }

  #add(record: Seen): void {
    this.#slots[(this.#next - 1) % this.#capacity] = record;
    this.#next += 1;
  }

  #began(actor: WatchedActor): void {
    const { session, parent, root, machine, began } = actor;
    const face: ActorFace = {
      session,
      // A root that was given no name is called what it is.
      id: shownName(actor.id === session && machine !== undefined ? machine : actor.id),
      root,
      effect: shownName(actor.effect),
      began,
      ...(parent === undefined ? {} : { parent }),
      ...(machine === undefined ? {} : { machine }),
    };
    this.#live.set(session, face);
    this.#add({ kind: 'began', seq: this.#next, at: began, session, root, actor: face });
  }

  #stepped({ actor, at, event, source, facts, before, after, asked, said, ignored }: Step): void {
    if (!this.#hasRoom(at)) {
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

  #hasRoom(at: number): boolean {
    const ago = at - this.#second.began;
    if (ago >= 1_000 || ago < 0) this.#second = { began: at, kept: 0 };
    this.#second.kept += 1;
    return this.#second.kept <= this.#perSecond;
  }

  /** The copy of a context is made once. */
  #standingOf({ value, tags, context }: AnyMachineSnapshot): Standing {
    const raw = context as object;
    const shown = this.#contexts.get(raw) ?? shownObject(raw, brief);
    this.#contexts.set(raw, shown);
    return { value: value as StateValue, states: leavesOf(value), tags: [...tags], context: shown };
  }
}
