/**
 * How much of what happens is kept for whoever looks: so many records a second in all, and of each kind a burst, and after that
 * a few a second. What a person does is kept whole, and so is what happens seldom, however busy the rest is; of what happens a
 * thousand times a second nobody reads more than a few. What watching costs a busy process is bounded by this, whether somebody
 * reads or not.
 */
export interface ShareBounds {
  /** Records a second. */
  readonly perSecond: number;
  /** Records of one kind that are kept at once: a machine and the event that it was told, or an effect. */
  readonly burst: number;
  /** Records of one kind a second, in the long run. */
  readonly perKind: number;
}

export const usualShare: ShareBounds = { perSecond: 500, burst: 20, perKind: 2 };

/** Events that XState names after an actor are one kind, whoever the actor is. */
const OF_ACTORS = ['xstate.done.actor', 'xstate.error.actor'];
/** Kinds that are known by name: there are far fewer, unless somebody makes names up. */
const MOST_KINDS = 2_000;

interface Kind {
  left: number;
  at: number;
}

export class Share {
  readonly #bounds: ShareBounds;
  readonly #kinds = new Map<string, Map<string, Kind>>();
  #count = 0;
  #began = 0;
  #kept = 0;

  constructor(bounds: ShareBounds) {
    this.#bounds = bounds;
  }

  /** Whether a record of now, in milliseconds, is kept. `of`: the machine or the effect; `type`: the event. */
  take(at: number, of: string, type: string): boolean {
    const ago = at - this.#began;
    if (ago >= 1_000 || ago < 0) {
      this.#began = at;
      this.#kept = 0;
    }
    if (this.#kept >= this.#bounds.perSecond) return false;
    const kind = this.#kind(at, of, OF_ACTORS.find((prefix) => type.startsWith(prefix)) ?? type);
    const { burst, perKind } = this.#bounds;
    const left = Math.min(burst, kind.left + (Math.max(0, at - kind.at) / 1_000) * perKind);
    kind.at = at;
    kind.left = left < 1 ? left : left - 1;
    if (left < 1) return false;
    this.#kept += 1;
    return true;
  }

  #kind(at: number, of: string, type: string): Kind {
    const known = this.#kinds.get(of)?.get(type);
    if (known !== undefined) return known;
    if (this.#count >= MOST_KINDS) {
      this.#kinds.clear();
      this.#count = 0;
    }
    const kinds = this.#kinds.get(of) ?? new Map<string, Kind>();
    const made: Kind = { left: this.#bounds.burst, at };
    this.#kinds.set(of, kinds.set(type, made));
    this.#count += 1;
    return made;
  }
}
