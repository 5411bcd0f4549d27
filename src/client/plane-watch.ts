/**
 * Looks at the lease row and at channel rows again and again, for everybody who follows: an agent may read these rows one by
 * one and not watch the buckets. One round reads each row once, however many follow it; nobody follows, nothing is read.
 */
import type { PlaneFact } from '../machines/durable-membership.facts.ts';
import type { LeaseSight, PlaneRows } from '../services/nats/plane-rows.ts';
import type { Stoppable } from '../services/ports.ts';

export const LIVE_CHANNEL = 'the channel is live: it has no durable backstop';

export interface WatchIntervals {
  /** Between two rounds while somebody's backstop is not established, milliseconds. */
  readonly urgentMs: number;
  readonly calmMs: number;
}

interface Follower {
  readonly channel: string;
  readonly urgent: boolean;
  tell(fact: PlaneFact): void;
  /** Incarnation that was seen ready; undefined while none is. */
  ready?: string | undefined;
  class?: 'durable' | 'live';
}

export class PlaneWatch {
  readonly #rows: PlaneRows;
  readonly #intervals: WatchIntervals;
  readonly #followers = new Set<Follower>();
  #timer: NodeJS.Timeout | undefined;
  #looking = false;
  #calm = 0;

  constructor(rows: PlaneRows, intervals: WatchIntervals) {
    this.#rows = rows;
    this.#intervals = intervals;
  }

  follow(of: { channel: string; urgent: boolean; tell: (fact: PlaneFact) => void }): Stoppable {
    const follower: Follower = { ...of };
    this.#followers.add(follower);
    this.#arm();
    return {
      stop: async () => {
        this.#followers.delete(follower);
        this.#arm();
      },
    };
  }

  #arm(): void {
    if (this.#followers.size === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    } else if (this.#timer === undefined && !this.#looking) {
      this.#timer = setTimeout(() => void this.#look(), this.#intervals.urgentMs);
      this.#timer.unref();
    }
  }

  /** The urgent ones in every round, the others only when their time has come. */
  async #look(): Promise<void> {
    this.#timer = undefined;
    this.#looking = true;
    this.#calm += this.#intervals.urgentMs;
    const everybody = this.#calm >= this.#intervals.calmMs;
    if (everybody) this.#calm = 0;
    const due = [...this.#followers].filter(({ urgent }) => urgent || everybody);
    if (due.length > 0) {
      const channels = [...new Set(due.map(({ channel }) => channel))];
      const [lease, ...classes] = await Promise.all([
        this.#rows.lease(),
        ...channels.map((channel) => this.#rows.classOf(channel)),
      ]);
      const classOf = new Map(channels.map((channel, i) => [channel, classes[i]]));
      for (const follower of due) {
        if (!this.#followers.has(follower)) continue;
        tellLease(follower, lease);
        tellClass(follower, classOf.get(follower.channel));
      }
    }
    this.#looking = false;
    this.#arm();
  }

  stop(): void {
    this.#followers.clear();
    this.#arm();
  }
}

function tellLease(follower: Follower, sight: LeaseSight): void {
  if (sight.kind === 'unknown') return;
  const was = follower.ready;
  follower.ready = sight.kind === 'ready' ? sight.incarnation : undefined;
  if (follower.ready !== undefined && follower.ready !== was) follower.tell({ type: 'plane.ready' });
}

function tellClass(follower: Follower, seen: 'durable' | 'live' | 'unknown' | undefined): void {
  if (seen === undefined || seen === 'unknown' || seen === follower.class) return;
  const was = follower.class;
  follower.class = seen;
  if (seen === 'live') follower.tell({ type: 'class.live', reason: LIVE_CHANNEL, at: Date.now() });
  else if (was === 'live') follower.tell({ type: 'class.durable' });
}
