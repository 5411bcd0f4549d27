/**
 * The inbox: what surfaces to the agent, one post at a time. It pulls as many copies as are still wanted and no more; on
 * every exit (the limit, a break, an error, an abort) it gives back what was not confirmed, so that whoever reads next sees
 * it at once.
 */
import { Plane3Error } from '../domain/errors/catalogue.ts';
import type { Pull, PullEnd } from '../services/nats/pull.ts';
import type { OwnCopies } from './copies.ts';
import type { Link } from './link.ts';
import type { CopyInHand, Receiver, Surfaced } from './receiver.ts';

export interface ReadOptions {
  /** Posts to surface, at most. */
  readonly limit?: number;
  /** Ends when nothing surfaced for so long, milliseconds. 0, unless told: ends when nothing is there now. */
  readonly idleMs?: number;
  /** Never ends by itself. */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
}

/** Copies pulled at a time where no limit says less. */
const PAGE = 64;
/** Longest that one pull waits at the broker. */
const LONGEST_WAIT_MS = 30_000;
/** After a pull that was lost, before the next one. */
const AFTER_LOSS_MS = 250;

export interface InboxSetting {
  readonly link: Link;
  /** Undefined where nothing is durable: only live posts surface. */
  readonly copies: OwnCopies | undefined;
  readonly receiver: Receiver;
  readonly member: string;
  /** Whether a copy may still be surfaced: false for one of a generation that the agent has left. */
  isWanted(copy: CopyInHand): boolean;
}

export class Inbox {
  readonly #setting: InboxSetting;
  #ring: () => void = () => {};
  #reading: Promise<void> | undefined;
  /** While the loop is suspended at a post that it handed out: ends it in its place, as it does not run until it is asked. */
  #endAtPost: (() => Promise<void>) | undefined;
  #closed: { reason: string; asked: boolean } | undefined;

  constructor(setting: InboxSetting) {
    this.#setting = setting;
  }

  /** Why it is closed; undefined while it is not. */
  get closedBecause(): string | undefined {
    return this.#closed?.reason;
  }

  /** There is something to look at: a post was announced, the connection is back. */
  ring(): void {
    this.#ring();
  }

  /**
   * Ends whoever reads: quietly where that was asked for, else with the reason as an error. A loop whose caller has a post in
   * hand is not waited for: this caller may be the one who closes.
   */
  async close(closed: { reason: string; asked: boolean }): Promise<void> {
    this.#closed ??= closed;
    this.#ring();
    await (this.#endAtPost?.() ?? this.#reading);
  }

  /**
   * Surfaces posts, live, backfilled and durable ones, each once. The caller calls `confirm` on each after it was surfaced.
   * @throws Plane3Error `client.reading` where somebody reads already, `client.closed`, `client.no-durable` when the
   *   durable is gone.
   */
  async *read({
    limit = Number.POSITIVE_INFINITY,
    idleMs = 0,
    follow = false,
    signal,
  }: ReadOptions = {}): AsyncGenerator<Surfaced, void, void> {
    const { link, copies, receiver, member, isWanted } = this.#setting;
    if (this.#closed !== undefined) throw new Plane3Error('client.closed', { member, reason: this.#closed.reason });
    if (this.#reading !== undefined) throw new Plane3Error('client.reading', { member });
    const { promise, resolve: finished } = Promise.withResolvers<void>();
    this.#reading = promise;
    const ring = () => this.#ring();
    signal?.addEventListener('abort', ring);
    let pull: Pull | undefined;
    let losses = 0;
    // A pull dies with its connection, and the broker does not say so.
    const stopHearing = link.hear({ restored: () => void pull?.cancel() });
    let lastEnd: PullEnd | undefined;
    let taken = 0;
    let quietSince = performance.now();
    const giveBack = async () => {
      await pull?.cancel();
      receiver.giveBack();
      await link.flush();
    };
    try {
      while (taken < limit && signal?.aborted !== true && this.#closed === undefined) {
        const post = receiver.take(isWanted);
        if (post !== undefined) {
          taken++;
          this.#endAtPost = giveBack;
          yield post;
          this.#endAtPost = undefined;
          quietSince = performance.now();
          continue;
        }
        if (lastEnd === 'gone' || lastEnd === 'lost') await copies?.mustBeThere();
        const left = follow ? LONGEST_WAIT_MS : Math.min(LONGEST_WAIT_MS, idleMs - (performance.now() - quietSince));
        // Only a pull that found nothing proves that nothing is there now.
        if (left <= 0 && (lastEnd === 'empty' || copies === undefined)) return;
        const bell = this.#bell();
        let rest: number | undefined;
        if (copies === undefined) {
          rest = Math.max(1, left);
        } else if (pull === undefined && link.isUp() && lastEnd !== 'lost') {
          let found = 0;
          pull = copies.pull({
            batch: Math.min(PAGE, limit - taken),
            // What is there comes first and at once; only then it is worth waiting.
            waitMs: lastEnd === 'empty' ? Math.max(1, Math.ceil(left)) : 0,
            copy: (message, copy) => {
              found++;
              receiver.offerCopy(message, copy);
              ring();
            },
            end: (how) => {
              pull = undefined;
              lastEnd = how === 'empty' && found > 0 ? 'full' : how;
              ring();
            },
          });
        } else if (pull === undefined) {
          if (!follow && (++losses > 2 || !link.isUp())) {
            throw new Plane3Error('client.pull-lost', { durable: copies.durable });
          }
          lastEnd = undefined;
          rest = AFTER_LOSS_MS;
        }
        await bell(rest);
      }
      const broken = this.#brokenBy();
      if (broken !== undefined) throw new Plane3Error('client.closed', { member, reason: broken });
    } finally {
      signal?.removeEventListener('abort', ring);
      stopHearing();
      this.#endAtPost = undefined;
      await giveBack();
      this.#ring = () => {};
      this.#reading = undefined;
      finished();
    }
  }

  /** Why it was closed, where nobody asked for that. */
  #brokenBy(): string | undefined {
    return this.#closed?.asked === false ? this.#closed.reason : undefined;
  }

  /** Hangs up the bell now, so that what rings before anybody waits is not missed. */
  #bell(): (restMs?: number) => Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ring = resolve;
    return async (restMs) => {
      if (restMs === undefined) return promise;
      const timer = setTimeout(resolve, restMs);
      await promise;
      clearTimeout(timer);
    };
  }
}
