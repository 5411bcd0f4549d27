/** What a lifecycle's read ACL covered when, as far as the histories can tell. */
import { covers } from '../../domain/names.ts';
import { type HistoryRecord, recordsOf } from '../history.ts';

interface Turn {
  readonly read: readonly string[];
  readonly writing: number;
  /** When it was surely in force; infinite where that was never seen. */
  readonly written: number;
  /** When every withdrawal that it asks for was answered. */
  readonly answered: number;
}

const NEVER = Number.POSITIVE_INFINITY;

export class AclTimes {
  readonly #turns = new Map<string, Turn[]>();

  constructor(history: readonly HistoryRecord[]) {
    for (const { uid, at, read } of recordsOf(history, 'added')) {
      this.#turns.set(uid, [{ read, writing: at, written: at, answered: NEVER }]);
    }
    const granted = recordsOf(history, 'granted');
    const reauthorized = recordsOf(history, 'reauthorized');
    for (const { uid, at, read, turn } of recordsOf(history, 'granting')) {
      const same = (other: { uid: string; turn: number }) => other.uid === uid && other.turn === turn;
      this.#turns.get(uid)?.push({
        read,
        writing: at,
        written: granted.find(same)?.at ?? NEVER,
        answered: reauthorized.find(same)?.at ?? NEVER,
      });
    }
  }

  /** Grants that may be in force at this time. */
  #possible(uid: string, at: number): Turn[] {
    const begun = (this.#turns.get(uid) ?? []).filter(({ writing }) => writing <= at);
    const last = begun.findLastIndex(({ written }) => written <= at);
    return begun.slice(Math.max(0, last));
  }

  /** Surely covered at every moment from one time to another. */
  coveredThroughout(uid: string, channel: string, from: number, to: number): boolean {
    const turns = this.#turns.get(uid) ?? [];
    const met = [...this.#possible(uid, from), ...turns.filter(({ writing }) => writing > from && writing <= to)];
    return met.length > 0 && met.every((turn) => coversChannel(turn, channel));
  }

  /** Perhaps not covered at some moment between two times. */
  mayBeUncovered(uid: string, channel: string, from: number, to: number): boolean {
    return !this.coveredThroughout(uid, channel, from, to);
  }

  /** The time at which a channel was surely out of reach: uncovered, and every withdrawal answered for. Undefined: it was not. */
  closedSince(uid: string, channel: string, at: number): number | undefined {
    const possible = this.#possible(uid, at);
    const [first] = possible;
    if (first === undefined || possible.some((turn) => coversChannel(turn, channel))) return undefined;
    return first.answered <= at ? first.answered : undefined;
  }

  /** The time at which the row that is in force stopped covering a channel. Undefined: it may cover it. */
  uncoveredSince(uid: string, channel: string, at: number): number | undefined {
    const possible = this.#possible(uid, at);
    const [first] = possible;
    if (first === undefined || possible.some((turn) => coversChannel(turn, channel))) return undefined;
    const turns = this.#turns.get(uid) ?? [];
    const covering = turns.slice(0, turns.indexOf(first)).findLastIndex((turn) => coversChannel(turn, channel));
    return turns[covering + 1]?.written;
  }
}

const coversChannel = ({ read }: Turn, channel: string): boolean => read.some((pattern) => covers(pattern, channel));
