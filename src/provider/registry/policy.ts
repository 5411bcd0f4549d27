/**
 * The five decisions on which the invariant of the provider plane stands, in one place: what arrives, whom a frame speaks
 * for, what is a sign of life, what is ready, and what a socket may be given. Tests plant their faults here, each to be
 * convicted by a test; there is no switch for any of it.
 */
import { type Arrival, judgeArrival } from '../../domain/provider/arrival.ts';
import type { SendReason } from '../../domain/provider/codes.ts';
import type { Delivery } from '../../domain/provider/delivery.ts';
import type { ProviderLimits } from '../../domain/provider/limits.ts';
import { isStale } from '../../domain/provider/liveness.ts';
import type { ProviderId } from '../../domain/provider/names.ts';
import type { Attached } from './attached.ts';
import type { ReadySets } from './ready-sets.ts';

export interface Policy {
  /** Rule 1. */
  arrival(attached: Attached, data: unknown, limits: ProviderLimits): Arrival;
  /** Whom the frames of a connection speak for: who it is bound as, and nobody otherwise. */
  speaksFor(attached: Attached): ProviderId | undefined;
  /** Time of the last sign of life, milliseconds. An open socket is none. */
  lastSign(attached: Attached, now: number): number;
  /** Rule 5. */
  readiness(ready: ReadySets, attached: Attached, agent: string): Delivery;
  /** Why nothing may be written to this socket now, whatever the frame, or undefined. */
  gate(attached: Attached, now: number, limits: ProviderLimits): SendReason | undefined;
}

export const policy: Policy = {
  arrival: (attached, data, { frameBytes }) => judgeArrival({ data, bound: attached.isBound, frameBytes }),
  speaksFor: (attached) => attached.provider,
  lastSign: (attached) => attached.lastSeen,
  readiness: (ready, attached, agent) => ready.of(attached.connection, agent),
  gate(attached, now, limits) {
    if (!attached.isBound) return 'unbound';
    if (isStale(attached.lastSeen, now, limits)) return 'stale';
    if (!attached.socket.isOpen) return 'not_open';
    return attached.mode === 'unknown' ? 'not_ready' : undefined;
  },
};
