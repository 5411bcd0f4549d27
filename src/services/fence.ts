/**
 * What stands between a decision and its effect (D5): an effect is sent only while the gate of its serving period is open,
 * the local fence holds, and the connection is up. Asked immediately before every single send.
 */
import { fenceHolds, type Instant } from '../domain/lease.ts';
import type { Clock } from './ports.ts';

/** The local fence: since when the last renewal that succeeded was sent (L4). */
export class Fence {
  readonly #clock: Clock;
  readonly #fenceMs: number;
  #renewalSentAt: Instant | undefined;

  constructor({ clock, fenceMs }: { clock: Clock; fenceMs: number }) {
    this.#clock = clock;
    this.#fenceMs = fenceMs;
  }

  renewed(sentAt: Instant): void {
    this.#renewalSentAt = sentAt;
  }

  holds(): boolean {
    return fenceHolds(this.#renewalSentAt, this.#clock.now(), this.#fenceMs);
  }
}

/** Why an effect may not be sent now; undefined: it may. */
export type Gate = () => string | undefined;

/** The gate of one serving period. Once closed it stays closed: work that outlived its period has no effect. */
export class PeriodGate {
  readonly #fence: Fence;
  readonly #isConnected: () => boolean;
  #closedBecause: string | undefined;

  constructor({ fence, isConnected }: { fence: Fence; isConnected: () => boolean }) {
    this.#fence = fence;
    this.#isConnected = isConnected;
  }

  close(why: string): void {
    this.#closedBecause ??= why;
  }

  readonly why: Gate = () => {
    if (this.#closedBecause !== undefined) return this.#closedBecause;
    if (!this.#isConnected()) return 'the connection is down';
    return this.#fence.holds() ? undefined : 'the lease fence does not hold';
  };
}
