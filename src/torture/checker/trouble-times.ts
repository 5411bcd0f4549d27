/** When there was trouble, of which kind, and for whom: what excuses silence, repeats and late effects. */
import { type HistoryRecord, recordsOf } from '../history.ts';

export interface Trouble {
  readonly verb: string;
  readonly target: string;
  readonly from: number;
  readonly to: number;
}

/** What is kept back on its way, on a busy machine, is stored this soon after it was let through. */
const LATE_MS = 2_000;
/** The same of what a daemon was about to write when it was frozen. */
const THAW_MS = 250;
const HOLDS = ['half-open', 'slow', 'freeze', 'partition'];

export class TroubleTimes {
  /** Daemons by incarnation. */
  readonly #daemons: ReadonlyMap<string, string>;
  readonly #troubles: readonly Trouble[];
  /** Times without a daemon that was ready to serve. */
  readonly #unserved: readonly { from: number; to: number }[];

  constructor(history: readonly HistoryRecord[]) {
    this.#daemons = new Map(recordsOf(history, 'daemon').map(({ incarnation, daemon }) => [incarnation, daemon]));
    const end = Math.max(0, ...history.map(({ at }) => at));
    const over = new Map(recordsOf(history, 'fault-over').map(({ no, at }) => [no, at]));
    this.#troubles = recordsOf(history, 'fault').map(({ no, at, verb, target }) => ({
      verb,
      target,
      from: at,
      to: over.get(no) ?? end,
    }));
    this.#unserved = unservedTimes(history, end);
  }

  /** Faults that were under way between two times, or had ended at most `after` before. */
  between(from: number, to: number, after = 0): Trouble[] {
    return this.#troubles.filter((trouble) => trouble.from <= to && trouble.to + after >= from);
  }

  /**
   * Whether something that a daemon sent before `sent` may have been stored at `stored`: its line was held, or the broker stood
   * still. What a frozen daemon itself would send later is no such thing, but for what one turn of its loop sends: it may have
   * been frozen between its gate and its socket, and writes that in the moment of its thaw. `cause`: when there was what it was
   * made of (the post of an entry, the entry of a copy).
   */
  wasKeptBack(of: { writer: string; sent: number; stored: number; cause: number }): boolean {
    const { writer, sent, stored, cause } = of;
    return this.between(sent, sent).some(({ verb, target, from, to }) => {
      if (!HOLDS.includes(verb) || stored > to + LATE_MS) return false;
      if (target !== this.#daemons.get(writer)) return target.startsWith('broker');
      return verb !== 'freeze' || (cause <= from && stored <= to + THAW_MS);
    });
  }

  /** Whether nobody was ready to serve at some moment between two times. */
  wasUnserved(from: number, to: number): boolean {
    return this.#unserved.some((time) => time.from <= to && time.to >= from);
  }
}

function unservedTimes(history: readonly HistoryRecord[], end: number): { from: number; to: number }[] {
  const times: { from: number; to: number }[] = [];
  let since: number | undefined = 0;
  for (const { at, ready, incarnation } of recordsOf(history, 'lease')) {
    const serves = incarnation !== '' && ready;
    if (!serves && since === undefined) since = at;
    if (serves && since !== undefined) {
      times.push({ from: since, to: at });
      since = undefined;
    }
  }
  if (since !== undefined) times.push({ from: since, to: end });
  // A daemon that is gone leaves its row behind until it expires.
  const ended = recordsOf(history, 'daemon-ended');
  for (const row of recordsOf(history, 'lease').filter(({ ready }) => ready)) {
    const gone = ended.find(({ incarnation }) => incarnation === row.incarnation);
    const next = recordsOf(history, 'lease').find(({ at, ready, incarnation }) => {
      return at > row.at && ready && incarnation !== row.incarnation;
    });
    if (gone !== undefined) times.push({ from: gone.at, to: Math.max(gone.at, next?.at ?? end) });
  }
  return times;
}
