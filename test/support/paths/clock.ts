import { type AnyActorRef, SimulatedClock } from 'xstate';

/** XState's simulated clock, with a way to let one given timer elapse. */
export class PathClock extends SimulatedClock {
  readonly #due = new Map<number, { readonly at: number; readonly fire: () => void; readonly event: string }>();
  #system: AnyActorRef['system'] | undefined;

  /** The system whose timers these are: it knows which event each of them is for. */
  serve(system: AnyActorRef['system']): void {
    this.#system = system;
  }

  override setTimeout(fire: () => void, ms: number): number {
    const scheduled = Object.values(this.#system?.getSnapshot()._scheduledEvents ?? {}).at(-1);
    const id = super.setTimeout(() => {
      this.#due.delete(id);
      fire();
    }, ms);
    this.#due.set(id, { at: this.now() + ms, fire, event: scheduled?.event.type ?? '' });
    return id;
  }

  override clearTimeout(id: number): void {
    this.#due.delete(id);
    super.clearTimeout(id);
  }

  /** Event types of the timers that are armed. */
  armed(): string[] {
    return [...this.#due.values()].map(({ event }) => event).sort();
  }

  /**
   * Lets the timer of this event elapse. Where an earlier one is armed too, that one is overtaken: lengths are settings,
   * so the chart must be right in either order.
   */
  elapse(event: string): void {
    const [id, timer] = [...this.#due].find(([, due]) => due.event === event) ?? [];
    if (id === undefined || timer === undefined) throw new Error(`no timer is armed for ${event}`);
    const earliest = Math.min(...[...this.#due.values()].map(({ at }) => at));
    if (timer.at === earliest && [...this.#due.values()].filter(({ at }) => at === earliest).length === 1) {
      this.set(timer.at);
      return;
    }
    this.clearTimeout(id);
    timer.fire();
  }
}
