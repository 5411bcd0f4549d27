/**
 * The window of a socket (rule 6): what was written and is not acknowledged. It stands in for the socket's own buffer,
 * which no platform shows: a peer that stopped reading takes no more than this.
 */
import type { ProviderLimits } from '../../domain/provider/limits.ts';
import type { DeliverFrame } from '../../domain/provider/server-frames.ts';

interface Written {
  readonly seq: number;
  readonly bytes: number;
}

/** What was written to whoever bears a name: a name that was released may be another agent's by now. */
export interface Highest {
  /** Id of the agent; null before the first frame. */
  readonly agent: string | null;
  readonly seq: number;
}

const nothing: Highest = { agent: null, seq: 0 };

export class Window {
  readonly #written = new Map<string, Written[]>();
  /** The last bearer of each name that was written to on this connection: a name is what an acknowledgement names. */
  readonly #highest = new Map<string, Highest>();
  #frames = 0;
  #bytes = 0;
  #isKnown = true;
  #wasFull = false;

  /** The window of a socket whose node forgot it: to be read again from the database before the next frame. */
  static forgotten(): Window {
    const window = new Window();
    window.#isKnown = false;
    return window;
  }

  get isKnown(): boolean {
    return this.#isKnown;
  }

  get frames(): number {
    return this.#frames;
  }

  remembered(): void {
    this.#isKnown = true;
  }

  has(limits: Pick<ProviderLimits, 'windowFrames' | 'windowBytes'>, bytes: number): boolean {
    if (this.#frames === 0) return true;
    const fits = this.#frames < limits.windowFrames && this.#bytes + bytes <= limits.windowBytes;
    if (!fits) this.#wasFull = true;
    return fits;
  }

  highest(name: string): Highest {
    return this.#highest.get(name) ?? nothing;
  }

  /**
   * Whether pages should wait for more acknowledgements: a window that was full is gone on with when it has room for a whole
   * page, not for every single frame that is acknowledged.
   */
  holdsBack(limits: Pick<ProviderLimits, 'windowFrames' | 'windowBytes' | 'pageRows'>): boolean {
    const room = limits.windowFrames - this.#frames;
    const isRoomy = room >= Math.min(limits.pageRows, limits.windowFrames) && this.#bytes <= limits.windowBytes / 2;
    if (this.#frames === 0 || isRoomy) this.#wasFull = false;
    return this.#wasFull;
  }

  wrote({ agent_id: agent, agent: name, seq }: DeliverFrame, bytes: number): void {
    const before = this.highest(name);
    this.#highest.set(name, { agent, seq: before.agent === agent ? Math.max(seq, before.seq) : seq });
    this.outstanding(agent, seq, bytes);
  }

  /** A frame that was written, as the database or this connection remembers it. */
  outstanding(agent: string, seq: number, bytes: number): void {
    const written = this.#written.get(agent);
    if (written === undefined) this.#written.set(agent, [{ seq, bytes }]);
    else written.push({ seq, bytes });
    this.#frames += 1;
    this.#bytes += bytes;
  }

  acknowledged(agent: string, upTo: number): void {
    const written = this.#written.get(agent);
    if (written === undefined) return;
    const kept = written.filter((each) => each.seq > upTo);
    for (const each of written) if (each.seq <= upTo) this.#bytes -= each.bytes;
    this.#frames -= written.length - kept.length;
    if (kept.length === 0) this.#written.delete(agent);
    else this.#written.set(agent, kept);
  }

  forget(agent: string): void {
    this.acknowledged(agent, Number.POSITIVE_INFINITY);
  }

  clear(): void {
    this.#highest.clear();
    this.#wasFull = false;
    this.#written.clear();
    this.#frames = 0;
    this.#bytes = 0;
  }
}
