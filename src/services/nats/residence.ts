/**
 * The resident connection of the moment. It is replaced by dialling a new one first: the old one goes on until the new one
 * is there, so that a dial that fails costs nothing (C2, C7).
 */
import type { Stoppable } from '../ports.ts';
import type { Dial } from './connect.ts';
import { parseDriverError } from './driver-errors.ts';
import { Resident, type ResidentNews, type ResidentSetting } from './resident.ts';

export type NextOutcome =
  | { kind: 'opened'; connection: number; at: number }
  | { kind: 'unreachable'; connection: number; at: number; why: string };

/** How long a connection that was replaced may take to send what it still has. */
const LAST_WORDS_MS = 1_000;

export class Residence {
  readonly #setting: ResidentSetting;
  #current: Resident | undefined;
  #next: Resident | undefined;
  #count = 0;
  #closed = false;
  #listener: ((news: ResidentNews) => void) | undefined;
  #unhear: () => void = () => {};
  readonly #guests = new Map<(resident: Resident) => Stoppable, Stoppable>();

  constructor(setting: ResidentSetting) {
    this.#setting = setting;
  }

  get current(): Resident {
    if (this.#current === undefined) throw new Error('there is no resident connection yet');
    return this.#current;
  }

  isUp(): boolean {
    return this.#current?.isUp() === true;
  }

  /** Opens the first one. Rejects with the client's error. */
  async open(dial: Dial): Promise<void> {
    this.#current = await Resident.open(dial, this.#setting, ++this.#count);
  }

  /** Dials another one, which waits until it is moved to. Its number is taken whether the dial succeeds or not. */
  async dialNext(dial: () => Dial): Promise<NextOutcome> {
    this.#leaveNext();
    const connection = ++this.#count;
    const at = () => this.#setting.clock.now().monotonicMs;
    try {
      const next = await Resident.open(dial(), this.#setting, connection);
      if (this.#closed || connection !== this.#count) {
        void next.close();
        return { kind: 'unreachable', connection, at: at(), why: 'it came too late' };
      }
      this.#next = next;
      return { kind: 'opened', connection, at: at() };
    } catch (error) {
      const failure = parseDriverError(error);
      const why = failure.kind === 'unexpected' ? failure.message : failure.kind;
      return { kind: 'unreachable', connection, at: at(), why };
    }
  }

  /** The one that was dialled is the resident one from here on; the old one has its last words. */
  moveToNext(): void {
    const [old, next] = [this.#current, this.#next];
    if (next === undefined) return;
    this.#current = next;
    this.#next = undefined;
    this.#unhear();
    if (this.#listener !== undefined) this.#unhear = next.hear(this.#listener);
    for (const [guest, stay] of this.#guests) {
      void stay.stop();
      this.#guests.set(guest, settled(guest, next));
    }
    if (old !== undefined) void lastWords(old).finally(() => old.close());
  }

  #leaveNext(): void {
    void this.#next?.close();
    this.#next = undefined;
  }

  /** News of whichever is the resident one. */
  hear(listener: (news: ResidentNews) => void): Stoppable {
    this.#listener = listener;
    this.#unhear = this.current.hear(listener);
    return {
      stop: async () => {
        this.#listener = undefined;
        this.#unhear();
      },
    };
  }

  /** Sets something up on the resident connection, and again on every one that comes after it. */
  accompany(guest: (resident: Resident) => Stoppable): Stoppable {
    this.#guests.set(guest, guest(this.current));
    return {
      stop: async () => {
        void this.#guests.get(guest)?.stop();
        this.#guests.delete(guest);
      },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#leaveNext();
    await this.#current?.close();
  }
}

/** A connection that was lost again before anything was set up on it says so itself. */
function settled(guest: (resident: Resident) => Stoppable, resident: Resident): Stoppable {
  try {
    return guest(resident);
  } catch {
    return { stop: async () => {} };
  }
}

/** What was given to the connection before it was replaced is sent, where it is still up. */
async function lastWords(old: Resident): Promise<void> {
  if (!old.isUp()) return;
  await Promise.race([
    old.connection.flush().catch(() => {}),
    new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS).unref()),
  ]);
}
