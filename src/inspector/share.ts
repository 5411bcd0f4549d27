/**
 * How much of what happens is kept for whoever looks: so many records a second in all, and so many of each kind. What happens
 * seldom is kept whole, however busy the rest is; of what happens a thousand times a second nobody reads more than a few. What
 * watching costs a busy process is bounded by this, whether somebody reads or not.
 */
export interface ShareBounds {
  /** Records a second. */
  readonly perSecond: number;
  /** Records a second of one kind: a machine and the event that it was told, or an effect. */
  readonly perKind: number;
}

export const usualShare: ShareBounds = { perSecond: 500, perKind: 10 };

/** Events that XState names after an actor are one kind, whoever the actor is. */
const OF_ACTORS = ['xstate.done.actor', 'xstate.error.actor'];

export class Share {
  readonly #bounds: ShareBounds;
  readonly #kinds = new Map<string, Map<string, number>>();
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
      this.#kinds.clear();
    }
    if (this.#kept >= this.#bounds.perSecond) return false;
    const kind = OF_ACTORS.find((prefix) => type.startsWith(prefix)) ?? type;
    const known = this.#kinds.get(of);
    const kinds = known ?? new Map<string, number>();
    if (known === undefined) this.#kinds.set(of, kinds);
    const kept = kinds.get(kind) ?? 0;
    if (kept >= this.#bounds.perKind) return false;
    kinds.set(kind, kept + 1);
    this.#kept += 1;
    return true;
  }
}
