// @ts-check
/**
 * What the page knows: every actor it was told of, and the last records, by number. A moment is the number of a record; what
 * held at a moment is read from the records around it, so that stepping back in time asks nobody.
 */

const MOST_RECORDS = 5_000;

/**
 * @typedef {{ states: string[], value?: unknown, context?: unknown, tags?: string[] }} Standing
 * @typedef {{ session: string, id: string, parent: string | undefined, machine: string | undefined, effect: string,
 *   began: number, ended: number, now: Standing | undefined }} Actor `began` and `ended` are moments; Infinity while it lives
 * @typedef {{ seq: number, at: number, session: string, event: { type: string }, source?: string, facts: { type: string }[],
 *   from: string[], now: Standing, asked: string[], said: { to: string, event: { type: string } }[], ignored: boolean }} Step
 */

export class History {
  /** @type {Map<string, Actor>} */
  actors = new Map();
  /** @type {Step[]} in the order of their numbers */
  steps = [];
  /** Number of the newest record. */
  last = 0;
  /** Records that never came: this page was too slow for them, or they had fallen out before. */
  dropped = 0;
  /** @type {{ process: string, space: string, pid: number } | undefined} */
  hello = undefined;
  /** Sessions of which it was not yet said that they still live. @type {Set<string>} */
  #doubted = new Set();
  #stillToCome = 0;

  /** @param {any} frame one message of the socket, as frames.ts writes it */
  hear(frame) {
    switch (frame.type) {
      case '@plane3.hello':
        this.hello = frame;
        return;
      case '@plane3.dropped':
        this.dropped += frame.count;
        return;
      case '@plane3.standing':
        this.#doubted = new Set(
          [...this.actors.values()].filter(({ ended }) => ended === Infinity).map((a) => a.session),
        );
        this.#stillToCome = frame.count;
        this.last = Math.max(this.last, frame.seq);
        if (frame.count === 0) this.#endDoubted(frame.seq);
        return;
      case '@xstate.actor':
        this.#began(frame);
        return;
      case '@xstate.snapshot':
        this.last = Math.max(this.last, frame.plane3.seq);
        if (frame.plane3.kind === 'ended') this.#ended(frame.sessionId, frame.plane3.seq);
        else this.#stepped(frame);
        return;
    }
  }

  /** Moments that the page can go to: the first and the last. */
  get oldest() {
    return this.steps[0]?.seq ?? this.last;
  }

  /**
   * Where an actor stood at a moment; undefined while it was not there.
   * @param {Actor} actor
   * @param {number} moment
   * @returns {Standing | undefined}
   */
  at(actor, moment) {
    if (moment >= this.last) return actor.now;
    if (actor.began > moment) return undefined;
    const before = this.steps.findLast(({ session, seq }) => session === actor.session && seq <= moment);
    if (before !== undefined) return before.now;
    const after = this.steps.find(({ session, seq }) => session === actor.session && seq > moment);
    return after === undefined ? actor.now : { states: after.from };
  }

  /**
   * @param {Actor} actor
   * @param {number} moment
   */
  lives(actor, moment) {
    return actor.began <= moment && actor.ended > moment;
  }

  /** @param {any} frame */
  #began({ plane3 }) {
    const { kind, seq, session, id, parent, machine, effect, states } = plane3;
    this.last = Math.max(this.last, kind === 'began' ? seq : 0);
    const known = this.actors.get(session);
    // One that lives was there before anything that this page has seen, unless its own beginning still comes.
    const began = kind === 'began' ? seq : (known?.began ?? 0);
    const now = states === undefined ? known?.now : { states };
    this.actors.set(session, { session, id, parent, machine, effect, began, ended: Infinity, now });
    if (kind !== 'lives') return;
    this.#doubted.delete(session);
    this.#stillToCome -= 1;
    if (this.#stillToCome === 0) this.#endDoubted(seq);
  }

  /** @param {any} frame */
  #stepped({ event, snapshot, plane3 }) {
    const { states } = plane3;
    /** @type {Step} */
    const step = { ...plane3, event, now: { ...snapshot, states } };
    const last = this.steps.at(-1);
    if (last === undefined || last.seq < step.seq) this.steps.push(step);
    if (this.steps.length > MOST_RECORDS) this.steps.splice(0, this.steps.length - MOST_RECORDS);
    const actor = this.actors.get(step.session);
    if (actor !== undefined) actor.now = step.now;
  }

  /**
   * @param {string} session
   * @param {number} seq
   */
  #ended(session, seq) {
    const actor = this.actors.get(session);
    if (actor !== undefined) actor.ended = seq;
    this.#forget();
  }

  /** @param {number} seq */
  #endDoubted(seq) {
    for (const session of this.#doubted) this.#ended(session, seq);
    this.#doubted.clear();
  }

  /** Actors that had ended before the oldest record. */
  #forget() {
    if (this.actors.size < MOST_RECORDS) return;
    for (const [session, { ended }] of this.actors) if (ended < this.oldest) this.actors.delete(session);
  }
}
